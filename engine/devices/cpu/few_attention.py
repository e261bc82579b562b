"""Attention of a few tokens against a cache in float16, cut into tasks; see `few_rows`, which has the other kernels.

A task is a few tokens and one key head with all query heads that share it, so that every key and value is unpacked once
for them. A token has the same bits alone and among others: rows of a tile do not touch each other.
"""

from __future__ import annotations

import numpy as np

from engine.devices.cpu.attention_tiles import (
    FOUR,
    KEYS,
    LOWEST,
    add_weighted,
    dots_along,
    limits,
    pack_along,
    softened,
)
from engine.devices.cpu.halves import narrow_row, read_floats
from engine.devices.cpu.memory import int_at, put_float
from engine.devices.cpu.program_table import address, columns_of, few, rows_of
from engine.devices.cpu.simd import LANES
from engine.devices.cpu.vector_math import LOG2_E, ZERO, f32

TOKENS = 4  # of a task
Q, K, V, REACH, Y = range(5)


@few
def append(row, numbers, task):
    """cache_append; a task is a token."""
    width = columns_of(row, 0)
    x = address(row, 0) + 4 * width * task
    narrow_row(x, address(row, 2) + 2 * width * (int_at(address(row, 1) + 12 * task + 8) - 1), width)


@few
def attend(row, numbers, task):
    """attention_cached; a task is up to TOKENS tokens and a key head."""
    head_dim, scale = int(numbers[0]), f32(numbers[1]) * LOG2_E
    width, stride = columns_of(row, Q), columns_of(row, K)
    groups = stride // head_dim
    share = width // head_dim // groups
    padded = (head_dim + LANES - 1) // LANES * LANES
    token, group = task // groups * TOKENS, task % groups
    own = min(TOKENS, rows_of(row, Q) - token) * share  # rows: the heads of each token
    quads = (own + FOUR - 1) // FOUR
    rows, mixed = np.zeros(FOUR * quads * padded, f32), np.zeros(FOUR * quads * padded, f32)
    largest, mass = np.full(FOUR * quads, LOWEST), np.zeros(FOUR * quads, f32)
    begins, ends = np.zeros(FOUR * quads, np.int64), np.zeros(FOUR * quads, np.int64)
    begin, end = np.int64(2**31), np.int64(0)
    for r in range(own):
        at = token + r // share
        q = address(row, Q) + 4 * (width * at + (group * share + r % share) * head_dim)
        read_floats(q, 4, head_dim, rows, r * padded)
        begins[r], ends[r] = int_at(address(row, REACH) + 12 * at + 4), int_at(address(row, REACH) + 12 * at + 8)
        begin, end = min(begin, begins[r]), max(end, ends[r])
    keys, values = np.empty(KEYS * padded, f32), np.empty(KEYS * padded, f32)
    scores, faded = np.empty(FOUR * KEYS, f32), np.empty(FOUR, f32)
    lows, highs = np.empty(FOUR, np.int64), np.empty(FOUR, np.int64)
    for start in range(begin, end, KEYS):
        count = min(KEYS, end - start)
        pack_along(address(row, K), 2, stride, start, count, group * head_dim, head_dim, padded, keys, 0)
        pack_along(address(row, V), 2, stride, start, count, group * head_dim, head_dim, padded, values, 0)
        for at in range(0, FOUR * quads, FOUR):
            low, high = limits(begins, ends, at, start, lows, highs)
            if low >= high:
                continue
            dots_along(rows, at * padded, keys, padded, scale, scores)
            for i in range(FOUR):
                largest[at + i], mass[at + i], faded[i] = softened(
                    scores, i * KEYS, lows[i], highs[i], largest[at + i], mass[at + i]
                )
            add_weighted(scores, low, high, values, 0, padded, mixed, at * padded, faded)
    for r in range(own):
        inverse = f32(1.0 / mass[r]) if mass[r] > ZERO else ZERO
        y = address(row, Y) + 4 * (width * (token + r // share) + (group * share + r % share) * head_dim)
        for d in range(head_dim):
            put_float(y + 4 * d, mixed[r * padded + d] * inverse)
