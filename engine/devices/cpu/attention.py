"""Causal grouped-query attention on the CPU, forward and backward; the scores (t, t) are never held.

A task is a block of rows and one key head with all query heads that share it. Keys and values of 64 tokens at a time
are packed so that the inner loops run over whole lanes: keys with a token in each lane, values with a channel in each.
Which thread runs a task changes nothing: each writes its own rows.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from engine.compiling import compiled
from engine.devices.cpu.compile import kernel
from engine.devices.cpu.memory import float_at, half_at
from engine.devices.cpu.simd import LANES, load, spread, store, total
from engine.devices.cpu.vector_math import ZERO, exp, f32

ROWS = 16  # queries of a task
KEYS = 4 * LANES  # keys that are packed at a time
LOWEST = f32(-3.0e38)

_inline = compiled(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@_inline
def _pack_across(source, size, stride, first, count, start, head_dim, target):
    """target (head_dim, KEYS) = source[first : first + count, start : start + head_dim] transposed, zero past count.

    `source`: the address of a matrix with `stride` numbers a row, of `size` bytes each: float32, or float16.
    """
    for j in range(count):
        at = source + size * ((first + j) * stride + start)
        for d in range(head_dim):
            target[d * KEYS + j] = float_at(at + 4 * d) if size == 4 else half_at(at + 2 * d)
    for j in range(count, KEYS):
        for d in range(head_dim):
            target[d * KEYS + j] = ZERO


@_inline
def _pack_along(source, size, stride, first, count, start, head_dim, padded, target):
    """target (KEYS, padded) = the same, not transposed; channels past head_dim keep their zeros."""
    for j in range(count):
        at = source + size * ((first + j) * stride + start)
        for d in range(head_dim):
            target[j * padded + d] = float_at(at + 4 * d) if size == 4 else half_at(at + 2 * d)


@_inline
def _dots(row, at, across, head_dim, factor, target):
    """target (KEYS,) = factor * row[at : at + head_dim] @ across (head_dim, KEYS)."""
    a, b, c, e = spread(ZERO), spread(ZERO), spread(ZERO), spread(ZERO)
    for d in range(head_dim):
        x = row[at + d] * factor
        a = a + load(across, d * KEYS) * x
        b = b + load(across, d * KEYS + LANES) * x
        c = c + load(across, d * KEYS + 2 * LANES) * x
        e = e + load(across, d * KEYS + 3 * LANES) * x
    store(target, 0, a)
    store(target, LANES, b)
    store(target, 2 * LANES, c)
    store(target, 3 * LANES, e)


@_inline
def _add_weighted(weights, low, high, along, padded, target, at, factor):
    """target[at : at + padded] = factor * itself + weights[low:high] @ along[low:high] (KEYS, padded)."""
    c = 0
    while c + 4 * LANES <= padded:
        a0, a1 = load(target, at + c) * factor, load(target, at + c + LANES) * factor
        a2, a3 = load(target, at + c + 2 * LANES) * factor, load(target, at + c + 3 * LANES) * factor
        for j in range(low, high):
            w, place = weights[j], j * padded + c
            a0 = a0 + load(along, place) * w
            a1 = a1 + load(along, place + LANES) * w
            a2 = a2 + load(along, place + 2 * LANES) * w
            a3 = a3 + load(along, place + 3 * LANES) * w
        store(target, at + c, a0)
        store(target, at + c + LANES, a1)
        store(target, at + c + 2 * LANES, a2)
        store(target, at + c + 3 * LANES, a3)
        c += 4 * LANES
    while c < padded:
        a0 = load(target, at + c) * factor
        for j in range(low, high):
            a0 = a0 + load(along, j * padded + c) * weights[j]
        store(target, at + c, a0)
        c += LANES


@_inline
def _chances(scores, low, high, largest, target):
    """target (KEYS,) = exp(scores - largest) from low to high, 0 outside; gives their sum."""
    for v in range(0, KEYS, LANES):
        store(target, v, exp(load(scores, v) - largest))
    for j in range(low):
        target[j] = ZERO
    for j in range(high, KEYS):
        target[j] = ZERO
    sums = load(target, 0)
    for v in range(LANES, KEYS, LANES):
        sums = sums + load(target, v)
    return total(sums)


@_inline
def _spread_out(number, count):
    """Short and long blocks of rows by turns, so that threads with a range each have the same to do."""
    return number // 2 if number % 2 == 0 else count - 1 - number // 2


@_inline
def _span(reach, first, count):
    """First and past-the-last key that any of `count` queries sees."""
    low, high = reach[first, 1], reach[first, 2]
    for i in range(first + 1, first + count):
        low, high = min(low, reach[i, 1]), max(high, reach[i, 2])
    return low, high


def attention(q, k, v, reach, y, sums, head_dim, scale):
    """y (t, heads * head_dim), and the logarithm of the sum of the exponentials of every row and head."""
    _attend(q, k.ctypes.data, v.ctypes.data, k.itemsize, k.shape[1], reach, y, sums, int(head_dim), scale)


def attention_cached(q, k, v, reach, y, head_dim, scale):
    """y (t, heads * head_dim) with keys and values in float16."""
    attention(q, k, v, reach, y, np.empty((0, 0), f32), head_dim, scale)


@kernel
def _attend(q, k, v, size, stride, reach, y, sums, head_dim, scale):
    """k and v: addresses of matrices with `stride` numbers a row, of `size` bytes each."""
    t, heads, groups = q.shape[0], q.shape[1] // head_dim, stride // head_dim
    share = heads // groups
    padded = (head_dim + LANES - 1) // LANES * LANES
    blocks = (t + ROWS - 1) // ROWS
    flat_q = q.reshape(-1)
    for task in prange(blocks * groups):
        block, group = _spread_out(task // groups, blocks), task % groups
        first = block * ROWS
        count = min(ROWS, t - first)
        across, along = np.empty(head_dim * KEYS, f32), np.zeros(KEYS * padded, f32)
        scores, chances = np.empty(KEYS, f32), np.empty(KEYS, f32)
        mixed = np.zeros(ROWS * share * padded, f32)
        largest, mass = np.full(ROWS * share, LOWEST), np.zeros(ROWS * share, f32)
        begin, end = _span(reach, first, count)
        for start in range(begin, end, KEYS):
            keys = min(KEYS, end - start)
            _pack_across(k, size, stride, start, keys, group * head_dim, head_dim, across)
            _pack_along(v, size, stride, start, keys, group * head_dim, head_dim, padded, along)
            for r in range(count):
                low, high = max(reach[first + r, 1] - start, 0), min(reach[first + r, 2] - start, keys)
                if low >= high:
                    continue
                for h in range(share):
                    own = r * share + h
                    _dots(flat_q, (first + r) * heads * head_dim + (group * share + h) * head_dim, across, head_dim,
                          f32(scale), scores)  # fmt: skip
                    new = largest[own]
                    for j in range(low, high):
                        new = max(new, scores[j])
                    faded = exp(largest[own] - new) if mass[own] > ZERO else ZERO
                    largest[own] = new
                    mass[own] = mass[own] * faded + _chances(scores, low, high, new, chances)
                    _add_weighted(chances, low, high, along, padded, mixed, own * padded, faded)
        for r in range(count):
            for h in range(share):
                own, head = r * share + h, group * share + h
                inverse = f32(1) / mass[own] if mass[own] > ZERO else ZERO
                for d in range(head_dim):
                    y[first + r, head * head_dim + d] = mixed[own * padded + d] * inverse
                if sums.size:
                    sums[first + r, head] = largest[own] + f32(math.log(mass[own])) if mass[own] > ZERO else ZERO


def cache_append(x, reach, cache):
    """cache[reach[i, 2] - 1] = x[i] as float16."""
    with np.errstate(over="ignore"):
        cache[reach[:, 2] - 1] = x


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


@_inline
def _score_gradients(scores, values, low, high, log_sum, delta, scale, chances, d_scores):
    """chances = exp(scores - log_sum); d_scores = scale * chances * (values - delta); both 0 outside low to high."""
    _chances(scores, low, high, log_sum, chances)
    for v in range(0, KEYS, LANES):
        store(d_scores, v, load(chances, v) * (load(values, v) - delta) * scale)


@kernel
def attention_backward_queries(d_y, q, k, v, reach, sums, d_q, head_dim, scale):
    """d_q (t, heads * head_dim)."""
    t, heads, groups = q.shape[0], q.shape[1] // head_dim, k.shape[1] // head_dim
    share = heads // groups
    padded = (head_dim + LANES - 1) // LANES * LANES
    blocks = (t + ROWS - 1) // ROWS
    flat_q, flat_d_y = q.reshape(-1), d_y.reshape(-1)
    for task in prange(blocks * groups):
        block, group = _spread_out(task // groups, blocks), task % groups
        first = block * ROWS
        count = min(ROWS, t - first)
        across_k, across_v = np.empty(head_dim * KEYS, f32), np.empty(head_dim * KEYS, f32)
        along_k = np.zeros(KEYS * padded, f32)
        scores, values = np.empty(KEYS, f32), np.empty(KEYS, f32)
        chances, d_scores = np.empty(KEYS, f32), np.empty(KEYS, f32)
        summed = np.zeros(ROWS * share * padded, f32)
        begin, end = _span(reach, first, count)
        for start in range(begin, end, KEYS):
            keys = min(KEYS, end - start)
            _pack_across(k.ctypes.data, 4, k.shape[1], start, keys, group * head_dim, head_dim, across_k)
            _pack_across(v.ctypes.data, 4, v.shape[1], start, keys, group * head_dim, head_dim, across_v)
            _pack_along(k.ctypes.data, 4, k.shape[1], start, keys, group * head_dim, head_dim, padded, along_k)
            for r in range(count):
                low, high = max(reach[first + r, 1] - start, 0), min(reach[first + r, 2] - start, keys)
                if low >= high:
                    continue
                for h in range(share):
                    head = group * share + h
                    at = (first + r) * heads * head_dim + head * head_dim
                    _dots(flat_q, at, across_k, head_dim, f32(scale), scores)
                    _dots(flat_d_y, at, across_v, head_dim, f32(1), values)
                    _score_gradients(scores, values, low, high, sums[first + r, head], sums[first + r, heads + head],
                                     f32(scale), chances, d_scores)  # fmt: skip
                    _add_weighted(d_scores, low, high, along_k, padded, summed, (r * share + h) * padded, f32(1))
        for r in range(count):
            for h in range(share):
                for d in range(head_dim):
                    d_q[first + r, (group * share + h) * head_dim + d] = summed[(r * share + h) * padded + d]


@kernel
def attention_backward_keys(d_y, q, k, v, reach, sums, d_k, d_v, head_dim, scale, length):
    """d_k and d_v (t, groups * head_dim), each summed over the query heads that share a key head."""
    t, heads, groups = q.shape[0], q.shape[1] // head_dim, k.shape[1] // head_dim
    share = heads // groups
    padded = (head_dim + LANES - 1) // LANES * LANES
    blocks = (length + KEYS - 1) // KEYS  # of a sequence
    flat_q, flat_d_y = q.reshape(-1), d_y.reshape(-1)
    for task in prange(t // length * blocks * groups):
        group, sequence = task % groups, task // groups // blocks
        start = sequence * length + _spread_out(task // groups % blocks, blocks) * KEYS
        end = (sequence + 1) * length
        keys = min(KEYS, end - start)
        across_k, across_v = np.empty(head_dim * KEYS, f32), np.empty(head_dim * KEYS, f32)
        summed_k, summed_v = np.zeros(KEYS * padded, f32), np.zeros(KEYS * padded, f32)
        scores, values = np.empty(KEYS, f32), np.empty(KEYS, f32)
        chances, d_scores = np.empty(KEYS, f32), np.empty(KEYS, f32)
        row_q, row_d_y = np.zeros(padded, f32), np.zeros(padded, f32)
        _pack_across(k.ctypes.data, 4, k.shape[1], start, keys, group * head_dim, head_dim, across_k)
        _pack_across(v.ctypes.data, 4, v.shape[1], start, keys, group * head_dim, head_dim, across_v)
        for i in range(start, end):  # no query sees a later key
            low, high = max(reach[i, 1] - start, 0), min(reach[i, 2] - start, keys)
            if low >= high:
                continue
            for h in range(share):
                head = group * share + h
                at = i * heads * head_dim + head * head_dim
                _dots(flat_q, at, across_k, head_dim, f32(scale), scores)
                _dots(flat_d_y, at, across_v, head_dim, f32(1), values)
                _score_gradients(
                    scores, values, low, high, sums[i, head], sums[i, heads + head], f32(scale), chances, d_scores
                )
                for d in range(head_dim):
                    row_q[d], row_d_y[d] = flat_q[at + d], flat_d_y[at + d]
                for c in range(0, padded, LANES):
                    q_c, d_y_c = load(row_q, c), load(row_d_y, c)
                    for j in range(low, high):
                        place = j * padded + c
                        store(summed_k, place, load(summed_k, place) + q_c * d_scores[j])
                        store(summed_v, place, load(summed_v, place) + d_y_c * chances[j])
        for j in range(keys):
            for d in range(head_dim):
                d_k[start + j, group * head_dim + d] = summed_k[j * padded + d]
                d_v[start + j, group * head_dim + d] = summed_v[j * padded + d]
