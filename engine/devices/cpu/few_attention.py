"""Attention of a few tokens against a cache in float16, cut into tasks; see `few_rows`, which has the other kernels.

A task is a token and one key head with all query heads that share it, so that every key and value is read once.
"""

from __future__ import annotations

import numpy as np

from engine.devices.cpu.halves import narrow_row
from engine.devices.cpu.memory import float_at, half_at, half_lanes_at, int_at, lanes_at, put_float
from engine.devices.cpu.program_table import address, columns_of, few
from engine.devices.cpu.simd import LANES, load, spread, store, total
from engine.devices.cpu.vector_math import ZERO, exp, f32

KEYS = 64  # scores held at a time
Q, K, V, REACH, Y = range(5)


@few
def append(row, numbers, task):
    """cache_append; a task is a token."""
    width = columns_of(row, 0)
    x = address(row, 0) + 4 * width * task
    narrow_row(x, address(row, 2) + 2 * width * (int_at(address(row, 1) + 12 * task + 8) - 1), width)


@few
def _dot(x, key, head_dim):
    """x (float32) . key (float16)."""
    sums, whole = spread(ZERO), head_dim - head_dim % LANES
    for d in range(0, whole, LANES):
        sums = sums + half_lanes_at(key + 2 * d) * lanes_at(x + 4 * d)
    result = total(sums)
    for d in range(whole, head_dim):
        result += half_at(key + 2 * d) * float_at(x + 4 * d)
    return result


@few
def _mix(chances, at, count, value, stride, head_dim, target, target_at, faded):
    """target = faded * target + chances[at : at + count] @ values (float16, rows `stride` bytes apart)."""
    whole = head_dim - head_dim % LANES
    for d in range(0, whole, LANES):
        sums = load(target, target_at + d) * faded
        for j in range(count):
            sums = sums + half_lanes_at(value + j * stride + 2 * d) * chances[at + j]
        store(target, target_at + d, sums)
    for d in range(whole, head_dim):
        result = target[target_at + d] * faded
        for j in range(count):
            result += half_at(value + j * stride + 2 * d) * chances[at + j]
        target[target_at + d] = result


@few
def attend(row, numbers, task):
    """attention_cached; a task is a token and a key head."""
    head_dim, scale = int(numbers[0]), f32(numbers[1])
    width, stride = columns_of(row, Q), 2 * columns_of(row, K)
    groups = columns_of(row, K) // head_dim
    share = width // head_dim // groups
    token, group = task // groups, task % groups
    first, last = int_at(address(row, REACH) + 12 * token + 4), int_at(address(row, REACH) + 12 * token + 8)
    q = address(row, Q) + 4 * (width * token + group * share * head_dim)
    y = address(row, Y) + 4 * (width * token + group * share * head_dim)
    key, value = address(row, K) + 2 * group * head_dim, address(row, V) + 2 * group * head_dim
    scores, mixed = np.empty(share * KEYS, f32), np.zeros(share * head_dim, f32)
    largest, mass = np.full(share, f32(-3.0e38)), np.zeros(share, f32)
    for start in range(first, last, KEYS):
        count = min(KEYS, last - start)
        for j in range(count):
            for h in range(share):
                scores[h * KEYS + j] = scale * _dot(q + 4 * h * head_dim, key + (start + j) * stride, head_dim)
        for h in range(share):
            new = largest[h]
            for j in range(h * KEYS, h * KEYS + count):
                new = max(new, scores[j])
            faded = exp(largest[h] - new) if mass[h] > ZERO else ZERO
            sums = ZERO
            for j in range(h * KEYS, h * KEYS + count):
                scores[j] = exp(scores[j] - new)
                sums += scores[j]
            largest[h], mass[h] = new, mass[h] * faded + sums
            _mix(scores, h * KEYS, count, value + start * stride, stride, head_dim, mixed, h * head_dim, faded)
    for h in range(share):
        inverse = f32(1.0 / mass[h]) if mass[h] > ZERO else ZERO
        for d in range(head_dim):
            put_float(y + 4 * (h * head_dim + d), mixed[h * head_dim + d] * inverse)
