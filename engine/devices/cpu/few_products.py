"""Products of a few rows with a matrix in float32, float16 or 8 bits, cut into tasks: what decoding spends its time on.

The matrix is read once, row by row in memory order (several rows side by side are half as fast: their streams
end before the prefetcher has noticed them), and the tokens take turns at a row in pairs. Each sum is added up in one
order whatever the number of tokens, so a token has the same bits alone and among others.
"""

from __future__ import annotations

from engine.devices.cpu.memory import byte_at, byte_lanes_at, float_at, half_at, half_lanes_at, lanes_at, put_float
from engine.devices.cpu.program_table import STEP, address, columns_of, few, rows_of, stride_of
from engine.devices.cpu.simd import LANES, spread, total
from engine.devices.cpu.vector_math import ZERO, f32
from engine.graph.kernels import SCALE_BLOCK

A, B, C, ADDEND, BIAS, SCALES = range(6)
WIDTH = 4 * LANES  # bytes of a float32 vector
assert SCALE_BLOCK == 2 * LANES


def _plain_dots(lanes_of, one_of, size):
    """A row of weights times x (k,), and times x and y, for weights of `size` bytes without scales."""

    @few
    def dot(weights, scales, x, k):
        s0 = s1 = spread(ZERO)
        whole = k - k % (2 * LANES)
        for i in range(0, whole, 2 * LANES):
            s0 = s0 + lanes_of(weights + size * i) * lanes_at(x + 4 * i)
            s1 = s1 + lanes_of(weights + size * (i + LANES)) * lanes_at(x + 4 * i + WIDTH)
        if k - whole >= LANES:
            s0 = s0 + lanes_of(weights + size * whole) * lanes_at(x + 4 * whole)
            whole += LANES
        result = total(s0 + s1)
        for i in range(whole, k):
            result += one_of(weights + size * i) * float_at(x + 4 * i)
        return result

    @few
    def two_dots(weights, scales, x, y, k):
        x0 = x1 = y0 = y1 = spread(ZERO)
        whole = k - k % (2 * LANES)
        for i in range(0, whole, 2 * LANES):
            w0, w1 = lanes_of(weights + size * i), lanes_of(weights + size * (i + LANES))
            x0 = x0 + w0 * lanes_at(x + 4 * i)
            x1 = x1 + w1 * lanes_at(x + 4 * i + WIDTH)
            y0 = y0 + w0 * lanes_at(y + 4 * i)
            y1 = y1 + w1 * lanes_at(y + 4 * i + WIDTH)
        if k - whole >= LANES:
            w0 = lanes_of(weights + size * whole)
            x0 = x0 + w0 * lanes_at(x + 4 * whole)
            y0 = y0 + w0 * lanes_at(y + 4 * whole)
            whole += LANES
        x_result, y_result = total(x0 + x1), total(y0 + y1)
        for i in range(whole, k):
            w = one_of(weights + size * i)
            x_result += w * float_at(x + 4 * i)
            y_result += w * float_at(y + 4 * i)
        return x_result, y_result

    return dot, two_dots


@few
def _scaled_rest(weights, scales, x, whole, k):
    """What is left of a row after its last whole block of 32."""
    result = ZERO
    for i in range(whole, k):
        result += byte_at(weights + i) * float_at(x + 4 * i)
    return result * float_at(scales + whole // SCALE_BLOCK * 4) if whole < k else result


@few
def _scaled_dot(weights, scales, x, k):
    """The same in 8 bits: blocks of 32, each times its scale once."""
    whole = k - k % SCALE_BLOCK
    sums = spread(ZERO)
    for i in range(0, whole, SCALE_BLOCK):
        w0, w1 = byte_lanes_at(weights + i), byte_lanes_at(weights + i + LANES)
        block = w0 * lanes_at(x + 4 * i) + w1 * lanes_at(x + 4 * i + WIDTH)
        sums = sums + block * float_at(scales + i // SCALE_BLOCK * 4)
    return total(sums) + _scaled_rest(weights, scales, x, whole, k)


@few
def _scaled_two_dots(weights, scales, x, y, k):
    whole = k - k % SCALE_BLOCK
    x_sums = y_sums = spread(ZERO)
    for i in range(0, whole, SCALE_BLOCK):
        w0, w1 = byte_lanes_at(weights + i), byte_lanes_at(weights + i + LANES)
        x_block = w0 * lanes_at(x + 4 * i) + w1 * lanes_at(x + 4 * i + WIDTH)
        y_block = w0 * lanes_at(y + 4 * i) + w1 * lanes_at(y + 4 * i + WIDTH)
        scale = float_at(scales + i // SCALE_BLOCK * 4)
        x_sums = x_sums + x_block * scale
        y_sums = y_sums + y_block * scale
    return (
        total(x_sums) + _scaled_rest(weights, scales, x, whole, k),
        total(y_sums) + _scaled_rest(weights, scales, y, whole, k),
    )


@few
def _put(row, numbers, t, j, value):
    """c[t, j] = alpha * value + bias + addend (+ c)."""
    value *= f32(numbers[0])
    if address(row, BIAS):
        value += float_at(address(row, BIAS) + 4 * j)
    if address(row, ADDEND):
        value += float_at(address(row, ADDEND) + 4 * (t * stride_of(row, ADDEND) + j))
    place = address(row, C) + 4 * (t * stride_of(row, C) + j)
    if numbers[1]:
        value += float_at(place)
    put_float(place, value)


def _product(dots, stride_size):
    """matmul_nt for one format of b, whose rows count elements of `stride_size` bytes; a task is `STEP` rows of b."""
    dot, two_dots = dots

    @few
    def product(row, numbers, task):
        first = task * row[STEP]
        k, tokens, a_bytes = columns_of(row, A), rows_of(row, A), 4 * stride_of(row, A)
        row_bytes, scale_bytes = stride_size * stride_of(row, B), 4 * stride_of(row, SCALES)
        for j in range(first, min(first + row[STEP], rows_of(row, B))):
            weights, scales = address(row, B) + j * row_bytes, address(row, SCALES) + j * scale_bytes
            x = address(row, A)
            for t in range(0, tokens - 1, 2):
                one, other = two_dots(weights, scales, x, x + a_bytes, k)
                _put(row, numbers, t, j, one)
                _put(row, numbers, t + 1, j, other)
                x += 2 * a_bytes
            if tokens % 2:
                _put(row, numbers, tokens - 1, j, dot(weights, scales, x, k))

    return product


FLOATS, HALVES = _plain_dots(lanes_at, float_at, 4), _plain_dots(half_lanes_at, half_at, 2)
BYTES = (_scaled_dot, _scaled_two_dots)
product_float32 = _product(FLOATS, 4)
product_float16 = _product(HALVES, 2)
product_int8 = _product(BYTES, 4)  # its rows are counted in words
