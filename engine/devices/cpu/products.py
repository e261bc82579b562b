"""Matrix products by NumPy's BLAS, in the three layouts a linear layer needs, on all cores.

OpenBLAS keeps its own threads spinning after a product, and they then steal the cores from the next kernel (on a busy
machine a step took eight times as long). So it is held to one thread, and a product is cut into one piece of the
output per core here, by threads that sleep when idle. The cuts depend only on shapes, so results do not depend on
timing. A BLAS that cannot be held (Apple's) gets the product whole.

NumPy's product takes no factor and no sum into its output, so these are passes of their own, and accumulating goes
through a temporary. Where there are such passes, pieces are small enough that a cache still holds them: a temporary of
the size of a vocabulary's gradient would be memory that no estimate knows of, new from the system each time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import ThreadpoolController

SMALL = 2**21  # multiplications below which handing over costs more than it saves
PIECE = 16  # pieces are multiples of this many rows or columns
PASSED_AGAIN = 2**18  # elements of a piece that is gone through again after the product


class Products:
    """The three products for one device.  Holds BLAS to one thread from `__init__` to `close`."""

    def __init__(self, threads: int) -> None:
        controller = ThreadpoolController().select(internal_api="openblas")
        self._limits = controller.limit(limits=1) if controller.info() and threads > 1 else None
        self.threads = threads if self._limits else 1
        self._pool = ThreadPoolExecutor(self.threads - 1, "codecoil-product") if self.threads > 1 else None

    def close(self) -> None:
        """Stop the threads and restore those of BLAS."""
        if self._pool is not None:
            self._pool.shutdown()
            self._limits.restore_original_limits()
            self._pool = None

    def matmul_nt(self, a, b, c, addend, bias, alpha, accumulate):
        """c (i, j) from a (i, k) and b (j, k)."""
        self._multiply(a, b.T, c, addend, bias, alpha, accumulate)

    def matmul_nn(self, a, b, c, addend, bias, alpha, accumulate):
        """c (i, j) from a (i, k) and b (k, j)."""
        self._multiply(a, b, c, addend, bias, alpha, accumulate)

    def matmul_tn(self, a, b, c, addend, bias, alpha, accumulate):
        """c (i, j) from a (k, i) and b (k, j)."""
        self._multiply(a.T, b, c, addend, bias, alpha, accumulate)

    def _multiply(self, a, b, c, addend, bias, alpha, accumulate) -> None:
        rows, columns = c.shape
        threads = 1 if rows * columns * a.shape[1] < SMALL else self.threads
        passes = accumulate or alpha != 1.0 or addend.size or bias.size
        blocks = -(-rows * columns // (threads * PASSED_AGAIN)) if passes else 1
        if threads * blocks == 1:
            _piece(a, b, c, addend, bias, alpha, accumulate)
            return
        pieces = []
        for start, stop in cuts(max(rows, columns), threads * blocks):
            part = slice(start, stop)
            if rows >= columns:
                pieces.append((a[part], b, c[part], addend[part], bias, alpha, accumulate))
            else:
                pieces.append((a, b[:, part], c[:, part], addend[:, part], bias[part], alpha, accumulate))
        self.share(_piece, pieces)

    def share(self, function: Callable, pieces: list[tuple]) -> None:
        """Call `function` with each of `pieces`, on all threads; each has an output of its own."""
        others = [] if self._pool is None else range(1, min(self.threads, len(pieces)))
        waiting = [self._pool.submit(_call_each, function, pieces[first :: self.threads]) for first in others]
        _call_each(function, pieces[:: self.threads] if waiting else pieces)
        for future in waiting:
            future.result()


def _call_each(function: Callable, pieces: list[tuple]) -> None:
    for arguments in pieces:
        function(*arguments)


def cuts(size: int, pieces: int) -> list[tuple[int, int]]:
    """Ranges that cover `size`, equal but for rounding."""
    step = -(-size // (pieces * PIECE)) * PIECE
    return [(start, min(start + step, size)) for start in range(0, size, step)]


def _piece(a, b, c, addend, bias, alpha, accumulate) -> None:
    """c = alpha * a @ b + addend + bias (+ c); absent operands have no elements."""
    with np.errstate(all="ignore"):  # what is not finite shows in the loss, not as a warning
        product = np.matmul(a, b) if accumulate else np.matmul(a, b, out=c)
        if alpha != 1.0:
            product *= np.float32(alpha)
        if bias.size:
            product += bias
        if addend.size:
            product += addend
        if accumulate:
            c += product
