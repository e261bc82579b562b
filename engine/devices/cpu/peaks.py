"""What the processor can do at most: bytes moved by NumPy's copy on all threads, operations of a large BLAS product."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from engine.devices.interface import Peaks

if TYPE_CHECKING:
    from engine.devices.cpu.device import CpuDevice

COPY_BYTES = 64 << 20  # each way: more than most caches hold
SIDE = 1536  # of the three matrices
RUNS = 5  # the shortest counts; one more comes first


def measure_peaks(device: CpuDevice, look: Callable[[], None]) -> Peaks:
    """Takes about a second; `look` is called before each run and may raise."""
    x, y = (np.full(COPY_BYTES, value, np.uint8) for value in (1, 2))
    parts = list(zip(np.array_split(y, device.threads), np.array_split(x, device.threads), strict=True))
    with ThreadPoolExecutor(device.threads) as pool:
        copied = _shortest(lambda: list(pool.map(lambda part: np.copyto(*part), parts)), look)
    a, b, c = (np.ones((SIDE, SIDE), np.float32) for _ in range(3))
    nothing, product = np.empty((0, 0), np.float32), device.kernel("matmul_nn")
    multiplied = _shortest(lambda: product(a, b, c, nothing, nothing.reshape(-1), 1.0, 0), look)
    return Peaks(2 * SIDE**3 / multiplied, 2 * COPY_BYTES / copied)


def _shortest(run: Callable[[], object], look: Callable[[], None]) -> float:
    times = []
    for _ in range(RUNS + 1):
        look()
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times[1:])
