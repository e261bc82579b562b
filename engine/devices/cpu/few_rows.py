"""Kernels on a few rows, cut into tasks: what a replayed program is made of, besides the products (`few_products`).

Each does one task of a row of the table: a token, or a range of channels. What a task computes depends on the shapes
only, never on who does it.
"""

from __future__ import annotations

import math

from engine.devices.cpu.memory import byte_at, float_at, half_at, int_at, lanes_at, put_float, put_int, put_lanes
from engine.devices.cpu.program_table import STEP, address, columns_of, few, rows_of, stride_of
from engine.devices.cpu.simd import LANES, spread, total
from engine.devices.cpu.vector_math import LOG2_E, ZERO, decay, exp, f32, sigmoid, softplus
from engine.graph.kernels import SCALE_BLOCK

WIDTH = 4 * LANES  # bytes of a float32 vector


@few
def _copy(source, target, count):
    """`count` float32 from one address to another, from the front."""
    whole = count - count % LANES
    for j in range(0, 4 * whole, WIDTH):
        put_lanes(target + j, lanes_at(source + j))
    for j in range(4 * whole, 4 * count, 4):
        put_float(target + j, float_at(source + j))


@few
def _shift(x, x_bytes, history, history_bytes, before, taken, width):
    """history = the last `before` rows of history and the first `taken` of x; the oldest first, so it needs no copy."""
    for j in range(before):
        at = taken + j
        source = history + at * history_bytes if at < before else x + (at - before) * x_bytes
        _copy(source, history + j * history_bytes, width)


@few
def gather(row, numbers, task):
    """embedding_gather; a task is a token."""
    at = int_at(address(row, 0) + 4 * task) - int(numbers[0])
    if 0 <= at < rows_of(row, 1):
        m = columns_of(row, 1)
        _copy(address(row, 1) + 4 * m * at, address(row, 2) + 4 * m * task, m)


@few
def gather_float16(row, numbers, task):
    """embedding_gather_float16; a task is a token."""
    at = int_at(address(row, 0) + 4 * task) - int(numbers[0])
    if 0 <= at < rows_of(row, 1):
        m = columns_of(row, 1)
        source, target = address(row, 1) + 2 * m * at, address(row, 2) + 4 * m * task
        for j in range(m):
            put_float(target + 4 * j, half_at(source + 2 * j))


@few
def gather_int8(row, numbers, task):
    """embedding_gather_int8; a task is a token."""
    at = int_at(address(row, 0) + 4 * task) - int(numbers[0])
    if 0 <= at < rows_of(row, 1):
        source, scales = address(row, 1) + 4 * columns_of(row, 1) * at, address(row, 2) + 4 * columns_of(row, 2) * at
        m = columns_of(row, 3)
        target = address(row, 3) + 4 * m * task
        for j in range(m):
            put_float(target + 4 * j, byte_at(source + j) * float_at(scales + j // SCALE_BLOCK * 4))


@few
def norm(row, numbers, task):
    """rmsnorm; a task is a row."""
    m = columns_of(row, 0)
    x, y = address(row, 0) + 4 * m * task, address(row, 2) + 4 * m * task
    scale = address(row, 1) + 4 * m * (task % (columns_of(row, 1) // m))
    whole = m - m % LANES
    sums = spread(ZERO)
    for j in range(0, whole, LANES):
        v = lanes_at(x + 4 * j)
        sums = sums + v * v
    squares = total(sums)
    for j in range(whole, m):
        squares += float_at(x + 4 * j) * float_at(x + 4 * j)
    inverse = f32(1.0 / math.sqrt(squares / f32(m) + f32(numbers[0])))
    put_float(address(row, 3) + 4 * task, inverse)
    for j in range(0, whole, LANES):
        put_lanes(y + 4 * j, lanes_at(x + 4 * j) * inverse * lanes_at(scale + 4 * j))
    for j in range(whole, m):
        put_float(y + 4 * j, float_at(x + 4 * j) * inverse * float_at(scale + 4 * j))


@few
def convolve(row, numbers, task):
    """causal_conv_silu_tokens; a task is `STEP` channels."""
    tokens, d, taps = rows_of(row, 0), columns_of(row, 0), columns_of(row, 1)
    x, x_bytes, weight, bias = address(row, 0), 4 * stride_of(row, 0), address(row, 1), address(row, 2)
    history, y = address(row, 3), address(row, 4)
    first, last = task * row[STEP], min(task * row[STEP] + row[STEP], d)
    before = taps - 1
    for t in range(tokens):
        out = y + 4 * t * d
        for c in range(first, last):
            v = float_at(bias + 4 * c) if bias else ZERO
            for j in range(taps):
                source = t + j - before
                place = x + source * x_bytes if source >= 0 else history + 4 * (source + before) * d
                v += float_at(weight + 4 * (c * taps + j)) * float_at(place + 4 * c)
            put_float(out + 4 * c, v)
        whole = first + (last - first) // LANES * LANES
        for c in range(first, whole, LANES):
            v_c = lanes_at(out + 4 * c)
            put_lanes(out + 4 * c, v_c * sigmoid(v_c))
        for c in range(whole, last):
            v = float_at(out + 4 * c)
            put_float(out + 4 * c, v * sigmoid(v))
    _shift(x + 4 * first, x_bytes, history + 4 * first, 4 * d, before, tokens, last - first)


@few
def scan(row, numbers, task):
    """selective_scan_tokens; a task is `STEP` channels."""
    tokens, d = rows_of(row, 0), columns_of(row, 0)
    n = rows_of(row, 3) - 2
    rank = int(numbers[0])
    first, last = task * row[STEP], min(task * row[STEP] + row[STEP], d)
    whole = first + (last - first) // LANES * LANES
    state = address(row, 4)
    for t in range(tokens):
        B_t = address(row, 2) + 4 * (t * stride_of(row, 2) + rank)
        at_u, at_delta, at_y = address(row, 0) + 4 * t * d, address(row, 1) + 4 * t * d, address(row, 5) + 4 * t * d
        coefficients = address(row, 3)
        for c in range(4 * first, 4 * whole, WIDTH):
            u = lanes_at(at_u + c)
            Delta = softplus(lanes_at(at_delta + c) + lanes_at(coefficients + 4 * (n + 1) * d + c))
            inflow, y, time = Delta * u, lanes_at(coefficients + 4 * n * d + c) * u, Delta * LOG2_E
            for k in range(n):
                at = 4 * k * d + c
                h = decay(time * lanes_at(coefficients + at)) * lanes_at(state + at) + inflow * float_at(B_t + 4 * k)
                put_lanes(state + at, h)
                y = y + h * float_at(B_t + 4 * (n + k))
            put_lanes(at_y + c, y)
        for c in range(4 * whole, 4 * last, 4):
            u1 = float_at(at_u + c)
            Delta1 = softplus(float_at(at_delta + c) + float_at(coefficients + 4 * (n + 1) * d + c))
            inflow1, y1, time1 = Delta1 * u1, float_at(coefficients + 4 * n * d + c) * u1, Delta1 * LOG2_E
            for k in range(n):
                at = 4 * k * d + c
                h1 = decay(time1 * float_at(coefficients + at)) * float_at(state + at)
                h1 += inflow1 * float_at(B_t + 4 * k)
                put_float(state + at, h1)
                y1 += h1 * float_at(B_t + 4 * (n + k))
            put_float(at_y + c, y1)


@few
def gate(row, numbers, task):
    """g = y * silu(z); a task is a token."""
    d = columns_of(row, 0)
    y, z, g = address(row, 0) + 4 * task * d, address(row, 1) + 4 * task * stride_of(row, 1), address(row, 2)
    g += 4 * task * d
    whole = d - d % LANES
    for c in range(0, 4 * whole, WIDTH):
        z_c = lanes_at(z + c)
        put_lanes(g + c, lanes_at(y + c) * z_c * sigmoid(z_c))
    for c in range(4 * whole, 4 * d, 4):
        z1 = float_at(z + c)
        put_float(g + c, float_at(y + c) * z1 * sigmoid(z1))


@few
def carry_history(row, numbers, task):
    d = columns_of(row, 0)
    _shift(address(row, 0), 4 * stride_of(row, 0), address(row, 1), 4 * d, rows_of(row, 1), rows_of(row, 0), d)


@few
def carry_state(row, numbers, task):
    size = rows_of(row, 1) * columns_of(row, 1)
    _copy(address(row, 0) + 4 * (rows_of(row, 0) - 1) * size, address(row, 1), size)


@few
def best_one(row, numbers, task):
    """argmax; a task is a row."""
    v = columns_of(row, 0)
    logits = address(row, 0) + 4 * task * v
    best, highest = 0, f32(-math.inf)
    for i in range(v):
        value = float_at(logits + 4 * i)
        if value > highest:
            best, highest = i, value
    put_int(address(row, 1) + 4 * task, best)


@few
def best_few(row, numbers, task):
    """top_k; a task is a row.  The best so far stand in order, and a newcomer moves up from the end."""
    v, k = columns_of(row, 0), (columns_of(row, 1) - 1) // 2
    logits, best = address(row, 0) + 4 * task * v, address(row, 1) + 4 * task * columns_of(row, 1)
    values, ids = best + 4, best + 4 * (1 + k)
    for i in range(k):
        put_float(values + 4 * i, f32(-math.inf))
        put_float(ids + 4 * i, f32(-1))
    for i in range(v):
        value = float_at(logits + 4 * i)
        if value > float_at(values + 4 * (k - 1)):
            at = k - 1
            while at > 0 and value > float_at(values + 4 * (at - 1)):
                put_float(values + 4 * at, float_at(values + 4 * (at - 1)))
                put_float(ids + 4 * at, float_at(ids + 4 * (at - 1)))
                at -= 1
            put_float(values + 4 * at, value)
            put_float(ids + 4 * at, f32(i))
    highest = float_at(values)
    for i in range(v, k):
        put_float(values + 4 * i, ZERO)
    sums, rest, whole = spread(ZERO), ZERO, v - v % LANES
    for i in range(0, 4 * whole, WIDTH):
        sums = sums + exp(lanes_at(logits + i) - highest)
    for i in range(4 * whole, 4 * v, 4):
        rest += exp(float_at(logits + i) - highest)
    put_float(best, f32(math.log(total(sums) + rest)) + highest)


@few
def pick(row, numbers, task):
    """gather_columns; a task is a row of x."""
    ids, count = address(row, 0), columns_of(row, 0)
    x, y = address(row, 1) + 4 * columns_of(row, 1) * task, address(row, 2) + 4 * count * task
    for j in range(0, 4 * count, 4):
        put_float(y + j, float_at(x + 4 * int_at(ids + j)))


@few
def multiply(row, numbers, task):
    """scale; a task is a row."""
    x = address(row, 0) + 4 * stride_of(row, 0) * task
    for j in range(x, x + 4 * columns_of(row, 0), 4):
        put_float(j, float_at(j) * f32(numbers[2]))


@few
def rotate(row, numbers, task):
    """rope; a task is a token."""
    width, head_dim = columns_of(row, 0), int(numbers[0])
    half = head_dim // 2
    x = address(row, 0) + 4 * width * task
    cosines = address(row, 2) + 4 * head_dim * int_at(address(row, 1) + 12 * task)
    for h in range(0, width, head_dim):
        for j in range(4 * h, 4 * (h + half), 4):
            at = cosines + j - 4 * h
            c, s = float_at(at), float_at(at + 4 * half) * f32(numbers[1])
            low, high = float_at(x + j), float_at(x + j + 4 * half)
            put_float(x + j, low * c - high * s)
            put_float(x + j + 4 * half, high * c + low * s)


@few
def gated(row, numbers, task):
    """swiglu; a task is a token."""
    f = columns_of(row, 1)
    z, g = address(row, 0) + 8 * f * task, address(row, 1) + 4 * f * task
    whole = f - f % LANES
    for c in range(0, 4 * whole, WIDTH):
        z_c = lanes_at(z + c)
        put_lanes(g + c, lanes_at(z + 4 * f + c) * z_c * sigmoid(z_c))
    for c in range(4 * whole, 4 * f, 4):
        z1 = float_at(z + c)
        put_float(g + c, float_at(z + 4 * f + c) * z1 * sigmoid(z1))
