"""Long arrays, worked on in pieces that fit a core's cache, on all cores; results come in the order of the pieces.

NumPy releases the GIL inside each call, so threads are enough; they end with the call that started them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np

SPAN = 1 << 16  # elements of a piece: 256 KiB of float32
CORES = min(os.cpu_count() or 1, 8)


def by_rows(work: Callable[..., tuple[np.ndarray, ...]], *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """`work` on the same rows of each of `arrays`, its results joined along the rows."""
    rows = len(arrays[0])
    step = max(1, SPAN * rows // max(arrays[0].size, 1))
    if rows <= step:
        return work(*arrays)
    with ThreadPoolExecutor(CORES) as threads:
        waiting = [  # in a context like the caller's: `np.errstate` holds in there as well
            threads.submit(copy_context().run, work, *(array[first : first + step] for array in arrays))
            for first in range(0, rows, step)
        ]
        pieces = [piece.result() for piece in waiting]
    return tuple(np.concatenate(column) for column in zip(*pieces, strict=True))
