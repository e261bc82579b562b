"""How fast a machine would train that never has: so that the first plan, too, can say how long a run will take.

A step on the processor takes about twice as long as its matrix products alone (`tests/benchmarks/engine.py`), and how
fast those are is measured in a few hundredths of a second. Of a GPU nothing is known before it has worked.
"""

from __future__ import annotations

import functools
import math
import time

SIZE = 384  # rows of the matrices that are multiplied: a few milliseconds each
TRIALS = 5
OVER_PRODUCTS = 2.1  # a training step over its products
MULTIPLIED = ("in_proj.weight", "x_proj.weight", "dt_proj.weight", "out_proj.weight")


def expected_speed(config, device) -> float:
    """Tokens a second in mode `full`; 0.0 where that cannot be told."""
    threads = getattr(device, "threads", 0)  # only the CPU device has them
    if not threads:
        return 0.0
    return products_per_second() * threads / (products_of_a_token(config) * OVER_PRODUCTS)


def products_of_a_token(config) -> int:
    """Multiplications and additions of the matrix products of a training step, forward and backward."""
    shapes = config.parameter_shapes()
    multiplied = [math.prod(shape) for name, shape in shapes.items() if name.endswith(MULTIPLIED)]
    head = config.vocab_size * config.hidden_size
    return 6 * (sum(multiplied) + head)


@functools.cache
def products_per_second() -> float:
    """Multiplications and additions in a second, in one thread: the best of a few trials."""
    import numpy as np

    left = np.ones((SIZE, SIZE), np.float32)
    right, out = left.copy(), np.empty_like(left)
    best = math.inf
    for _ in range(TRIALS):
        began = time.perf_counter()
        np.matmul(left, right, out=out)
        best = min(best, time.perf_counter() - began)
    return 2 * SIZE**3 / max(best, 1e-9)
