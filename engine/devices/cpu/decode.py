"""Weights in 8 bits on the CPU: from float32 and back.  The products that read them are in `few_rows`."""

from __future__ import annotations

import numpy as np
from numba import prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.vector_math import ONE, ZERO, f32
from engine.graph.kernels import SCALE_BLOCK


@kernel
def narrow_int8(x, words, scales):
    """x (j, k) as bytes, four to a word, and a scale for each 32 of them."""
    rows, k = x.shape
    as_bytes = words.view(np.int8)
    for j in prange(rows):
        for block in range(scales.shape[1]):
            first = block * SCALE_BLOCK
            last = min(k, first + SCALE_BLOCK)
            largest = ZERO
            for i in range(first, last):
                largest = max(largest, abs(x[j, i]))
            scale = largest / f32(127)
            scales[j, block] = scale
            inverse = ONE / scale if scale > ZERO else ZERO
            for i in range(first, first + SCALE_BLOCK):
                as_bytes[j, i] = np.int8(np.rint(x[j, i] * inverse)) if i < last else np.int8(0)


@kernel
def widen_int8(words, scales, y):
    """y (j, k) = byte * scale."""
    rows, k = y.shape
    as_bytes = words.view(np.int8)
    for j in prange(rows):
        for block in range(scales.shape[1]):
            scale = scales[j, block]
            for i in range(block * SCALE_BLOCK, min(k, block * SCALE_BLOCK + SCALE_BLOCK)):
                y[j, i] = f32(as_bytes[j, i]) * scale
