"""The inner loops of Mamba-2's scan on the CPU: products of small matrices that lie in the nearest caches.

A tile holds 64 tokens (rows) of one head or group; its rows are padded with zeros to a multiple of 32 numbers, and so
are the tokens of a short chunk. Tiles are flat arrays, so that no index needs a multiplication that is not written.
"""

from __future__ import annotations

import numpy as np

from engine.compiling import compiled
from engine.devices.cpu.memory import float_at, lanes_at, put_lanes
from engine.devices.cpu.simd import LANES, load, spread, store, total, where_less
from engine.devices.cpu.vector_math import ONE, ZERO, exp, f32
from engine.graph.kernels import STATE_INTERVAL

TOKENS = STATE_INTERVAL
STEP = 2 * LANES  # rows of a tile are padded to multiples of this
FOUR = 4  # rows of a product that are computed together
FULL, LOWER, UPPER, LOWER_RESULT = 0, 1, 2, 3
SMALLEST = f32(1e-30)  # below, a decay is nothing; numbers much smaller still would slow the processor down

tile = compiled(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@tile
def padded(width):
    """`width` rounded up to a whole number of steps."""
    return (width + STEP - 1) // STEP * STEP


@tile
def add_product(a, row_a, step_a, b, row_b, c, row_c, rows, columns, depth, kind):
    """c (rows, columns) += a (rows, depth) @ b (depth, columns).

    Rows of a begin `row_a` numbers apart, and its columns lie `step_a` apart.  rows: rounded up to a multiple of 4,
    columns: a multiple of 32.  kind: LOWER or UPPER if a has nothing on the other side of its diagonal, LOWER_RESULT
    if nothing but that of c is wanted.
    """
    row_a, step_a, row_b, row_c = 4 * row_a, 4 * step_a, 4 * row_b, 4 * row_c
    for i in range(0, rows, FOUR):
        first = i if kind == UPPER else 0
        last = min(depth, i + FOUR) if kind == LOWER else depth
        right = min(columns, (i + FOUR + STEP - 1) // STEP * STEP) if kind == LOWER_RESULT else columns
        for v in range(0, 4 * right, 4 * STEP):
            at = c.ctypes.data + i * row_c + v
            w = at + 4 * LANES
            c00, c01 = lanes_at(at), lanes_at(w)
            c10, c11 = lanes_at(at + row_c), lanes_at(w + row_c)
            c20, c21 = lanes_at(at + 2 * row_c), lanes_at(w + 2 * row_c)
            c30, c31 = lanes_at(at + 3 * row_c), lanes_at(w + 3 * row_c)
            left, below = a.ctypes.data + i * row_a + first * step_a, b.ctypes.data + first * row_b + v
            for _ in range(first, last):
                b0, b1 = lanes_at(below), lanes_at(below + 4 * LANES)
                x0, x1 = float_at(left), float_at(left + row_a)
                x2, x3 = float_at(left + 2 * row_a), float_at(left + 3 * row_a)
                c00, c01 = c00 + b0 * x0, c01 + b1 * x0
                c10, c11 = c10 + b0 * x1, c11 + b1 * x1
                c20, c21 = c20 + b0 * x2, c21 + b1 * x2
                c30, c31 = c30 + b0 * x3, c31 + b1 * x3
                left += step_a
                below += row_b
            put_lanes(at, c00)
            put_lanes(w, c01)
            put_lanes(at + row_c, c10)
            put_lanes(w + row_c, c11)
            put_lanes(at + 2 * row_c, c20)
            put_lanes(w + 2 * row_c, c21)
            put_lanes(at + 3 * row_c, c30)
            put_lanes(w + 3 * row_c, c31)


@tile
def take(source, at, stride, rows, width, wide, target, factors):
    """target (64, wide) = rows of `source` (width numbers each, `stride` apart) times their factors, then zeros."""
    whole = width - width % LANES
    for r in range(rows):
        start, place, factor = at + r * stride, r * wide, factors[r]
        for j in range(0, whole, LANES):
            store(target, place + j, load(source, start + j) * factor)
        for j in range(whole, width):
            target[place + j] = source[start + j] * factor
    for j in range(rows * wide, TOKENS * wide):
        target[j] = ZERO


@tile
def take_state(states, at, n, e, wide, target):
    """target (n, wide) = a head's state (n, e)."""
    whole = e - e % LANES
    for k in range(n):
        source, place = at + k * e, k * wide
        for c in range(0, whole, LANES):
            store(target, place + c, load(states, source + c))
        for c in range(whole, e):
            target[place + c] = states[source + c]


@tile
def put_state(source, n, e, wide, states, at):
    """The other way round."""
    whole = e - e % LANES
    for k in range(n):
        place, target = k * wide, at + k * e
        for c in range(0, whole, LANES):
            store(states, target + c, load(source, place + c))
        for c in range(whole, e):
            states[target + c] = source[place + c]


@tile
def with_skip(out, at, x, at_x, D, width, y, at_y):
    """y = out + D * x, over `width` numbers."""
    whole = width - width % LANES
    for c in range(0, whole, LANES):
        store(y, at_y + c, load(x, at_x + c) * D + load(out, at + c))
    for c in range(whole, width):
        y[at_y + c] = out[at + c] + D * x[at_x + c]


@tile
def through_skip(d_u, out, at, x, at_x, Delta, D, width, d_x):
    """d_x = Delta * d_u + D * out for a token of a head; gives d_u . x and out . x.

    x and d_x from `at_x` on, d_u and out from `at` on, `width` numbers each.
    """
    whole = width - width % LANES
    of_Delta, of_D = spread(ZERO), spread(ZERO)
    for c in range(0, whole, LANES):
        x_c, out_c, d_u_c = load(x, at_x + c), load(out, at + c), load(d_u, at + c)
        of_Delta = of_Delta + d_u_c * x_c
        of_D = of_D + out_c * x_c
        store(d_x, at_x + c, d_u_c * Delta + out_c * D)
    d_Delta, d_D = total(of_Delta), total(of_D)
    for c in range(whole, width):
        d_Delta += d_u[at + c] * x[at_x + c]
        d_D += out[at + c] * x[at_x + c]
        d_x[at_x + c] = Delta * d_u[at + c] + D * out[at + c]
    return d_Delta, d_D


@tile
def add_scaled(x, at, factor, width, y):
    """y += factor * x from `at` on, over `width` numbers, a multiple of 16."""
    for k in range(at, at + width, LANES):
        store(y, k, load(x, k) * factor + load(y, k))


@tile
def turned(source, rows, wide, columns, target, across):
    """target (columns, across) = source (rows, wide) transposed; eight rows at a time use each line of the target."""
    for i in range(0, rows, 8):
        for j in range(columns):
            for r in range(i, min(i + 8, rows)):
                target[j * across + r] = source[r * wide + j]


@tile
def scale_rows(x, rows, wide, factors):
    """x (rows, wide) times a factor for each row."""
    for r in range(rows):
        for j in range(r * wide, (r + 1) * wide, LANES):
            store(x, j, load(x, j) * factors[r])


@tile
def scale_all(x, count, factor):
    """x (count,) times a number; count is a multiple of 16."""
    for j in range(0, count, LANES):
        store(x, j, load(x, j) * factor)


@tile
def dot(x, at_x, y, at_y, width):
    """The sum of products over `width` numbers, a multiple of 16."""
    sums = spread(ZERO)
    for j in range(0, width, LANES):
        sums = sums + load(x, at_x + j) * load(y, at_y + j)
    return total(sums)


@tile
def decays(steps, first, count, h, heads, Delta, own, faded, tails):
    """Of each token of a chunk: Delta; its own decay; that from the chunk's start through it; that from behind it on.

    Gives the decay over the chunk.  steps: (t, 2 * heads); the others (64,).
    """
    for s in range(count):
        Delta[s], own[s] = steps[first + s, h], steps[first + s, heads + h]
    for s in range(count, TOKENS):
        own[s] = ZERO
    for s in range(0, count, LANES):
        store(own, s, exp(load(own, s)))
    product = ONE
    for s in range(count):
        product *= own[s]
        product = product if product > SMALLEST else ZERO
        faded[s] = product
    whole, product = product, ONE
    for s in range(count - 1, -1, -1):
        tails[s] = product
        product *= own[s]
        product = product if product > SMALLEST else ZERO
    return whole


@tile
def fade(own, count, L):
    """L (64, 64): L[i, j] = the decay of what token j brought until token i; nothing for later ones.

    Each row follows from the last one: no difference of large sums, which would cost digits.
    """
    for j in range(TOKENS * TOKENS):
        L[j] = ZERO
    for i in range(count):
        if i > 0:
            for j in range(0, i, LANES):
                faded = load(L, (i - 1) * TOKENS + j) * own[i]
                store(L, i * TOKENS + j, where_less(faded, SMALLEST, ZERO, faded))
        L[i * TOKENS + i] = ONE


@tile
def masked(x, L, count, target):
    """target = x * L, (count, 64) each, up to the diagonal; rows behind are nothing."""
    for i in range(count):
        for j in range(i * TOKENS, i * TOKENS + i + 1, LANES):
            store(target, j, load(x, j) * load(L, j))
        for j in range(i * TOKENS + i // LANES * LANES + LANES, (i + 1) * TOKENS):
            target[j] = ZERO
    for j in range(count * TOKENS, TOKENS * TOKENS):
        target[j] = ZERO


@tile
def share_of_decays(d_M, M, L, count, d_K, d_logs):
    """d_K += d_M * L, and d_logs[i] += sum_j F_ij - sum_j F_ji with F = d_M * M, without its diagonal.

    All (64, 64), up to the diagonal.  d_logs (64,): gradients of the logarithms of the decays from the chunk's start.
    """
    columns = np.zeros(TOKENS, f32)
    for i in range(count):
        row, sums = i * TOKENS, spread(ZERO)
        d_M_ii = d_M[row + i]
        d_M[row + i] = ZERO
        for j in range(0, i + 1, LANES):
            F = load(d_M, row + j) * load(M, row + j)
            sums = sums + F
            store(columns, j, load(columns, j) + F)
            store(d_K, row + j, load(d_K, row + j) + load(d_M, row + j) * load(L, row + j))
        d_K[row + i] += d_M_ii
        d_logs[i] += total(sums)
    for i in range(count):
        d_logs[i] -= columns[i]
