"""Causal grouped-query attention on the CPU, forward and backward; the scores (t, t) are never held.

First keys and values are packed in tiles (see `attention_tiles`). Then a task is a block of queries, or a tile of
keys, and one key head with all query heads that share it. Which thread runs a task changes nothing: each writes its
own rows. Exponentials are powers of two, which cost less: scores are multiplied by log2(e) with their scale.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from engine.devices.cpu.attention_tiles import (
    FOUR,
    KEYS,
    LOWEST,
    add_outer,
    add_weighted,
    chances,
    dots,
    inner,
    limits,
    pack_across,
    pack_along,
    softened,
)
from engine.devices.cpu.compile import kernel
from engine.devices.cpu.halves import narrow_row
from engine.devices.cpu.simd import LANES, load, store
from engine.devices.cpu.vector_math import LN2, LOG2_E, ZERO, f32

ROWS = 16  # queries of a task


@inner
def _spread_out(number, count):
    """Short and long blocks of rows by turns, so that threads with a range each have the same to do."""
    return number // 2 if number % 2 == 0 else count - 1 - number // 2


@inner
def _span(reach, first, count):
    """First and past-the-last key that any of `count` queries sees."""
    low, high = reach[first, 1], reach[first, 2]
    for i in range(first + 1, first + count):
        low, high = min(low, reach[i, 1]), max(high, reach[i, 2])
    return low, high


@inner
def _row_reach(reach, first, count, share, begins, ends):
    """First and past-the-last key of each row: the queries of a block with `share` heads each; of the rest nothing."""
    for own in range(begins.size):
        seen = own < count * share
        begins[own] = reach[first + own // share, 1] if seen else 0
        ends[own] = reach[first + own // share, 2] if seen else 0


@inner
def _take_rows(source, first, count, group, share, head_dim, width, target):
    """target (count * share, width) = the heads of a group of source (t, heads * head_dim), query by query."""
    for r in range(count):
        for h in range(share):
            at = (r * share + h) * width
            for d in range(head_dim):
                target[at + d] = source[first + r, (group * share + h) * head_dim + d]


def attention(q, k, v, reach, y, sums, head_dim, scale):
    """y (t, heads * head_dim), and the logarithm of the sum of the exponentials of every row and head."""
    _attend(q, k.ctypes.data, v.ctypes.data, k.itemsize, k.shape[1], reach, y, sums, int(head_dim), scale)


def attention_cached(q, k, v, reach, y, head_dim, scale):
    """y (t, heads * head_dim) with keys and values in float16."""
    attention(q, k, v, reach, y, np.empty((0, 0), f32), head_dim, scale)


@kernel
def _attend(q, k, v, size, stride, reach, y, sums, head_dim, scale):
    """k and v: addresses of matrices with `stride` numbers a row, of `size` bytes each."""
    t, groups = q.shape[0], stride // head_dim
    share = q.shape[1] // head_dim // groups
    padded = (head_dim + LANES - 1) // LANES * LANES
    blocks = (t + ROWS - 1) // ROWS
    origin, stop = _span(reach, 0, t)
    tiles = (stop - origin + KEYS - 1) // KEYS
    across, along = np.empty(tiles * groups * head_dim * KEYS, f32), np.empty(tiles * groups * KEYS * padded, f32)
    for task in prange(tiles * groups):
        first, start = origin + task // groups * KEYS, task % groups * head_dim
        keys = min(KEYS, stop - first)
        pack_across(k, size, stride, first, keys, start, head_dim, across, task * head_dim * KEYS)
        pack_along(v, size, stride, first, keys, start, head_dim, padded, along, task * KEYS * padded)
    for task in prange(blocks * groups):
        group, first = task % groups, _spread_out(task // groups, blocks) * ROWS
        count = min(ROWS, t - first)
        quads = (count * share + FOUR - 1) // FOUR
        rows, mixed = np.zeros(FOUR * quads * head_dim, f32), np.zeros(FOUR * quads * padded, f32)
        largest, mass = np.full(FOUR * quads, LOWEST), np.zeros(FOUR * quads, f32)
        scores, faded = np.empty(FOUR * KEYS, f32), np.empty(FOUR, f32)
        lows, highs = np.empty(FOUR, np.int64), np.empty(FOUR, np.int64)
        begins, ends = np.empty(FOUR * quads, np.int64), np.empty(FOUR * quads, np.int64)
        _row_reach(reach, first, count, share, begins, ends)
        _take_rows(q, first, count, group, share, head_dim, head_dim, rows)
        begin, end = _span(reach, first, count)
        for tile in range((begin - origin) // KEYS, (end - origin + KEYS - 1) // KEYS):
            place = tile * groups + group
            for quad in range(quads):
                low, high = limits(begins, ends, FOUR * quad, origin + tile * KEYS, lows, highs)
                if low >= high:
                    continue
                at = FOUR * quad
                packed = place * head_dim * KEYS
                dots(rows, at * head_dim, head_dim, across, packed, head_dim, f32(scale) * LOG2_E, scores)
                for i in range(FOUR):
                    largest[at + i], mass[at + i], faded[i] = softened(
                        scores, i * KEYS, lows[i], highs[i], largest[at + i], mass[at + i]
                    )
                add_weighted(scores, low, high, along, place * KEYS * padded, padded, mixed, at * padded, faded)
        for r in range(count):
            for h in range(share):
                own, head = r * share + h, group * share + h
                inverse = f32(1) / mass[own] if mass[own] > ZERO else ZERO
                for d in range(head_dim):
                    y[first + r, head * head_dim + d] = mixed[own * padded + d] * inverse
                if sums.size:
                    sums[first + r, head] = largest[own] * LN2 + f32(math.log(mass[own])) if mass[own] > ZERO else ZERO


def cache_append(x, reach, cache):
    """cache[reach[i, 2] - 1] = x[i] as float16."""
    _append(x, reach, cache.ctypes.data)


@kernel
def _append(x, reach, cache):
    """cache: the address of its first row."""
    width = x.shape[1]
    for i in prange(x.shape[0]):
        narrow_row(x.ctypes.data + 4 * width * i, cache + 2 * width * (reach[i, 2] - 1), width)


@kernel
def attention_deltas(d_y, y, sums, head_dim):
    """sums[:, heads + h] = d_y . y of every row and head."""
    t, heads = y.shape[0], y.shape[1] // head_dim
    for i in prange(t):
        for h in range(heads):
            dot = ZERO
            for d in range(h * head_dim, (h + 1) * head_dim):
                dot += d_y[i, d] * y[i, d]
            sums[i, heads + h] = dot


@inner
def _score_gradients(scores, values, lows, highs, sums, first, group, share, quad, scale):
    """scores become the chances, and values their gradients scale * chances * (values - delta); both (FOUR, KEYS)."""
    heads = sums.shape[1] // 2
    for i in range(FOUR):
        query, head = (FOUR * quad + i) // share, group * share + (FOUR * quad + i) % share
        seen = lows[i] < highs[i]  # a row past the last has no sums
        log_sum = sums[first + query, head] if seen else ZERO
        delta = sums[first + query, heads + head] if seen else ZERO
        chances(scores, i * KEYS, lows[i], highs[i], log_sum * LOG2_E)
        for at in range(i * KEYS, (i + 1) * KEYS, LANES):
            store(values, at, load(scores, at) * (load(values, at) - delta) * scale)


@kernel
def attention_backward_queries(d_y, q, k, v, reach, sums, d_q, head_dim, scale):
    """d_q (t, heads * head_dim)."""
    t, groups = q.shape[0], k.shape[1] // head_dim
    share = q.shape[1] // head_dim // groups
    padded = (head_dim + LANES - 1) // LANES * LANES
    blocks = (t + ROWS - 1) // ROWS
    origin, stop = _span(reach, 0, t)
    tiles = (stop - origin + KEYS - 1) // KEYS
    across_k, across_v = (
        np.empty(tiles * groups * head_dim * KEYS, f32),
        np.empty(tiles * groups * head_dim * KEYS, f32),
    )
    along_k = np.empty(tiles * groups * KEYS * padded, f32)
    for task in prange(tiles * groups):
        first, start, at = origin + task // groups * KEYS, task % groups * head_dim, task * head_dim * KEYS
        keys = min(KEYS, stop - first)
        pack_across(k.ctypes.data, 4, k.shape[1], first, keys, start, head_dim, across_k, at)
        pack_across(v.ctypes.data, 4, v.shape[1], first, keys, start, head_dim, across_v, at)
        pack_along(k.ctypes.data, 4, k.shape[1], first, keys, start, head_dim, padded, along_k, task * KEYS * padded)
    for task in prange(blocks * groups):
        group, first = task % groups, _spread_out(task // groups, blocks) * ROWS
        count = min(ROWS, t - first)
        quads = (count * share + FOUR - 1) // FOUR
        rows, d_rows = np.zeros(FOUR * quads * head_dim, f32), np.zeros(FOUR * quads * head_dim, f32)
        summed, ones = np.zeros(FOUR * quads * padded, f32), np.ones(FOUR, f32)
        scores, values = np.empty(FOUR * KEYS, f32), np.empty(FOUR * KEYS, f32)
        lows, highs = np.empty(FOUR, np.int64), np.empty(FOUR, np.int64)
        begins, ends = np.empty(FOUR * quads, np.int64), np.empty(FOUR * quads, np.int64)
        _row_reach(reach, first, count, share, begins, ends)
        _take_rows(q, first, count, group, share, head_dim, head_dim, rows)
        _take_rows(d_y, first, count, group, share, head_dim, head_dim, d_rows)
        begin, end = _span(reach, first, count)
        for tile in range((begin - origin) // KEYS, (end - origin + KEYS - 1) // KEYS):
            place = tile * groups + group
            for quad in range(quads):
                low, high = limits(begins, ends, FOUR * quad, origin + tile * KEYS, lows, highs)
                if low >= high:
                    continue
                at, packed = FOUR * quad * head_dim, place * head_dim * KEYS
                dots(rows, at, head_dim, across_k, packed, head_dim, f32(scale) * LOG2_E, scores)
                dots(d_rows, at, head_dim, across_v, packed, head_dim, f32(1), values)
                _score_gradients(scores, values, lows, highs, sums, first, group, share, quad, f32(scale))
                place_k, target = place * KEYS * padded, FOUR * quad * padded
                add_weighted(values, low, high, along_k, place_k, padded, summed, target, ones)
        for r in range(count):
            for h in range(share):
                for d in range(head_dim):
                    d_q[first + r, (group * share + h) * head_dim + d] = summed[(r * share + h) * padded + d]


@kernel
def attention_backward_keys(d_y, q, k, v, reach, sums, d_k, d_v, head_dim, scale, length):
    """d_k and d_v (t, groups * head_dim), each summed over the query heads that share a key head."""
    t, groups = q.shape[0], k.shape[1] // head_dim
    share = q.shape[1] // head_dim // groups
    padded = (head_dim + LANES - 1) // LANES * LANES
    blocks = (length + KEYS - 1) // KEYS  # of a sequence
    for task in prange(t // length * blocks * groups):
        group, sequence = task % groups, task // groups // blocks
        start = sequence * length + _spread_out(task // groups % blocks, blocks) * KEYS
        stop = (sequence + 1) * length
        keys = min(KEYS, stop - start)
        across_k, across_v = np.empty(head_dim * KEYS, f32), np.empty(head_dim * KEYS, f32)
        summed_k, summed_v = np.zeros(KEYS * padded, f32), np.zeros(KEYS * padded, f32)
        scores, values = np.empty(FOUR * KEYS, f32), np.empty(FOUR * KEYS, f32)
        lows, highs = np.empty(FOUR, np.int64), np.empty(FOUR, np.int64)
        quads = (ROWS * share + FOUR - 1) // FOUR
        begins, ends = np.empty(FOUR * quads, np.int64), np.empty(FOUR * quads, np.int64)
        rows, d_rows = np.zeros(FOUR * quads * padded, f32), np.zeros(FOUR * quads * padded, f32)
        pack_across(k.ctypes.data, 4, k.shape[1], start, keys, group * head_dim, head_dim, across_k, 0)
        pack_across(v.ctypes.data, 4, v.shape[1], start, keys, group * head_dim, head_dim, across_v, 0)
        for first in range(start, stop, ROWS):  # no query sees a later key
            count = min(ROWS, stop - first)
            _row_reach(reach, first, count, share, begins, ends)
            _take_rows(q, first, count, group, share, head_dim, padded, rows)
            _take_rows(d_y, first, count, group, share, head_dim, padded, d_rows)
            for quad in range((count * share + FOUR - 1) // FOUR):
                low, high = limits(begins, ends, FOUR * quad, start, lows, highs)
                if low >= high:
                    continue
                at = FOUR * quad * padded
                dots(rows, at, padded, across_k, 0, head_dim, f32(scale) * LOG2_E, scores)
                dots(d_rows, at, padded, across_v, 0, head_dim, f32(1), values)
                _score_gradients(scores, values, lows, highs, sums, first, group, share, quad, f32(scale))
                add_outer(values, low, high, rows[at:], padded, summed_k)
                add_outer(scores, low, high, d_rows[at:], padded, summed_v)
        for j in range(keys):
            for d in range(head_dim):
                d_k[start + j, group * head_dim + d] = summed_k[j * padded + d]
                d_v[start + j, group * head_dim + d] = summed_v[j * padded + d]
