"""The inner loops of attention on the CPU: four rows of queries against 64 keys at a time.

Keys and values are packed in tiles of 64 tokens of one key head: "across" has a token in each lane (head_dim, KEYS),
for dot products; "along" has a channel in each lane (KEYS, padded), for weighted sums. Four rows at a time use every
number of a tile four times, and are as many sums as the registers hold.

Rows of queries, and of what is computed for them, lie in buffers of `width` numbers a row, four rows a quad.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.devices.cpu.halves import read_floats
from engine.devices.cpu.simd import LANES, largest_of, load, spread, store, total, where_less
from engine.devices.cpu.vector_math import ZERO, decay, f32

KEYS = 4 * LANES  # keys of a tile
FOUR = 4  # rows that go through a tile together
LOWEST = f32(-3.0e38)

inner = njit(inline="always", nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@inner
def pack_across(source, size, stride, first, count, start, head_dim, target, at):
    """target[at:] (head_dim, KEYS) = source[first : first + count, start : start + head_dim] transposed, then zeros.

    `source`: the address of a matrix with `stride` numbers a row, of `size` bytes each: float32, or float16.
    """
    row = np.empty(head_dim, f32)
    for j in range(count):
        read_floats(source + size * ((first + j) * stride + start), size, head_dim, row, 0)
        for d in range(head_dim):
            target[at + d * KEYS + j] = row[d]
    for j in range(count, KEYS):
        for d in range(head_dim):
            target[at + d * KEYS + j] = ZERO


@inner
def pack_along(source, size, stride, first, count, start, head_dim, padded, target, at):
    """target[at:] (KEYS, padded) = the same, not transposed; what is past the tokens and the channels is zero."""
    for j in range(KEYS):
        place, filled = at + j * padded, head_dim if j < count else 0
        read_floats(source + size * ((first + j) * stride + start), size, filled, target, place)
        for d in range(filled, padded):
            target[place + d] = ZERO


@inner
def dots(rows, at, width, across, tile, head_dim, factor, target):
    """target (FOUR, KEYS) = factor * rows[at:] (FOUR, head_dim) @ across[tile:] (head_dim, KEYS)."""
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = spread(ZERO)
    c0 = c1 = c2 = c3 = e0 = e1 = e2 = e3 = spread(ZERO)
    for d in range(head_dim):
        place = tile + d * KEYS
        k0, k1 = load(across, place), load(across, place + LANES)
        k2, k3 = load(across, place + 2 * LANES), load(across, place + 3 * LANES)
        x = rows[at + d]
        a0, a1, a2, a3 = a0 + k0 * x, a1 + k1 * x, a2 + k2 * x, a3 + k3 * x
        x = rows[at + width + d]
        b0, b1, b2, b3 = b0 + k0 * x, b1 + k1 * x, b2 + k2 * x, b3 + k3 * x
        x = rows[at + 2 * width + d]
        c0, c1, c2, c3 = c0 + k0 * x, c1 + k1 * x, c2 + k2 * x, c3 + k3 * x
        x = rows[at + 3 * width + d]
        e0, e1, e2, e3 = e0 + k0 * x, e1 + k1 * x, e2 + k2 * x, e3 + k3 * x
    _store_four(target, 0, a0 * factor, a1 * factor, a2 * factor, a3 * factor)
    _store_four(target, KEYS, b0 * factor, b1 * factor, b2 * factor, b3 * factor)
    _store_four(target, 2 * KEYS, c0 * factor, c1 * factor, c2 * factor, c3 * factor)
    _store_four(target, 3 * KEYS, e0 * factor, e1 * factor, e2 * factor, e3 * factor)


@inner
def dots_along(rows, at, along, padded, factor, target):
    """The same from along (KEYS, padded) and rows[at:] (FOUR, padded): few rows do not pay for transposing a tile."""
    for j in range(KEYS):
        a = b = c = e = spread(ZERO)
        for d in range(0, padded, LANES):
            key = load(along, j * padded + d)
            a = a + key * load(rows, at + d)
            b = b + key * load(rows, at + padded + d)
            c = c + key * load(rows, at + 2 * padded + d)
            e = e + key * load(rows, at + 3 * padded + d)
        target[j], target[KEYS + j] = total(a) * factor, total(b) * factor
        target[2 * KEYS + j], target[3 * KEYS + j] = total(c) * factor, total(e) * factor


@inner
def _store_four(target, at, x0, x1, x2, x3):
    store(target, at, x0)
    store(target, at + LANES, x1)
    store(target, at + 2 * LANES, x2)
    store(target, at + 3 * LANES, x3)


@inner
def add_weighted(weights, low, high, along, tile, padded, target, at, factors):
    """target[at:] (FOUR, padded) = itself * factors (FOUR,) + weights (FOUR, KEYS) @ along[tile:] (KEYS, padded).

    Weights outside low to high are zero.
    """
    c, second, third, fourth = 0, at + padded, at + 2 * padded, at + 3 * padded
    f0, f1, f2, f3 = factors[0], factors[1], factors[2], factors[3]
    while c + 2 * LANES <= padded:
        d = c + LANES
        a0, a1 = load(target, at + c) * f0, load(target, at + d) * f0
        b0, b1 = load(target, second + c) * f1, load(target, second + d) * f1
        c0, c1 = load(target, third + c) * f2, load(target, third + d) * f2
        e0, e1 = load(target, fourth + c) * f3, load(target, fourth + d) * f3
        for j in range(low, high):
            v0, v1 = load(along, tile + j * padded + c), load(along, tile + j * padded + d)
            w = weights[j]
            a0, a1 = a0 + v0 * w, a1 + v1 * w
            w = weights[KEYS + j]
            b0, b1 = b0 + v0 * w, b1 + v1 * w
            w = weights[2 * KEYS + j]
            c0, c1 = c0 + v0 * w, c1 + v1 * w
            w = weights[3 * KEYS + j]
            e0, e1 = e0 + v0 * w, e1 + v1 * w
        store(target, at + c, a0)
        store(target, at + d, a1)
        store(target, second + c, b0)
        store(target, second + d, b1)
        store(target, third + c, c0)
        store(target, third + d, c1)
        store(target, fourth + c, e0)
        store(target, fourth + d, e1)
        c += 2 * LANES
    while c < padded:
        for row in range(FOUR):
            place = at + row * padded + c
            sums = load(target, place) * factors[row]
            for j in range(low, high):
                sums = sums + load(along, tile + j * padded + c) * weights[row * KEYS + j]
            store(target, place, sums)
        c += LANES


@inner
def add_outer(weights, low, high, rows, padded, target):
    """target (KEYS, padded) += weights (FOUR, KEYS)^T @ rows (FOUR, padded), for the keys from low to high."""
    c = 0
    while c < padded:
        x0, x1 = load(rows, c), load(rows, padded + c)
        x2, x3 = load(rows, 2 * padded + c), load(rows, 3 * padded + c)
        for j in range(low, high):
            sums = load(target, j * padded + c) + x0 * weights[j]
            sums = sums + x1 * weights[KEYS + j]
            sums = sums + x2 * weights[2 * KEYS + j]
            store(target, j * padded + c, sums + x3 * weights[3 * KEYS + j])
        c += LANES


@inner
def softened(scores, at, low, high, largest, mass):
    """Make chances of scores[at : at + KEYS], 0 outside low to high, beside those of earlier tiles.

    Scores are powers of two. `largest` and `mass`: of the earlier tiles. Gives both anew, and what the sums of earlier
    tiles are multiplied by.
    """
    _hide(scores, at, low, high, LOWEST)
    most = load(scores, at)
    for v in range(at + LANES, at + KEYS, LANES):
        most = where_less(most, load(scores, v), load(scores, v), most)
    new = max(largest, largest_of(most))
    faded = decay(largest - new) if mass > ZERO else ZERO
    return new, mass * faded + chances(scores, at, low, high, new), faded


@inner
def chances(scores, at, low, high, largest):
    """scores[at : at + KEYS] = 2^(scores - largest), 0 outside low to high; gives their sum."""
    sums = spread(ZERO)
    for v in range(at, at + KEYS, LANES):
        power = decay(load(scores, v) - largest)
        store(scores, v, power)
        sums = sums + power
    if low == 0 and high == KEYS:
        return total(sums)
    _hide(scores, at, low, high, ZERO)
    sums = spread(ZERO)
    for v in range(at, at + KEYS, LANES):
        sums = sums + load(scores, v)
    return total(sums)


@inner
def _hide(scores, at, low, high, value):
    """Put `value` in the places outside low to high."""
    for j in range(at, at + low):
        scores[j] = value
    for j in range(at + high, at + KEYS):
        scores[j] = value


@inner
def limits(begins, ends, row, start, lows, highs):
    """Which keys of the tile at `start` each of four rows sees; gives the span of all of them."""
    lowest, highest = KEYS, 0
    for i in range(FOUR):
        low, high = max(begins[row + i] - start, 0), min(ends[row + i] - start, KEYS)
        if low < high:
            lows[i], highs[i] = low, high
            lowest, highest = min(lowest, low), max(highest, high)
        else:
            lows[i], highs[i] = 0, 0
    return lowest, highest
