"""A mixture of experts on a few rows, cut into tasks: of the experts' weights only those that were chosen are read.

As in `few_products`, a sum is added up in one order whatever the number of tokens.
"""

from __future__ import annotations

import math

from engine.devices.cpu.few_products import BYTES, FLOATS, HALVES
from engine.devices.cpu.memory import float_at, int_at, lanes_at, put_float, put_int, put_lanes
from engine.devices.cpu.program_table import STEP, address, columns_of, few, rows_of, stride_of
from engine.devices.cpu.simd import LANES
from engine.devices.cpu.vector_math import ZERO, exp, f32, sigmoid

INPUTS, B, CHOSEN, C, SCALES = range(5)
WIDTH = 4 * LANES  # bytes of a float32 vector


@few
def choose(row, numbers, task):
    """route; a task is a token."""
    e, k = columns_of(row, 0), columns_of(row, 1)
    logits, chosen, gates = address(row, 0) + 4 * e * task, address(row, 1) + 4 * k * task, address(row, 2)
    gates += 4 * k * task
    last_value, last, highest, sums = ZERO, -1, ZERO, ZERO
    for c in range(k):
        best, value = 0, f32(-math.inf)
        for j in range(e):
            x = float_at(logits + 4 * j)
            comes_later = last < 0 or x < last_value or (x == last_value and j > last)
            if comes_later and x > value:
                best, value = j, x
        put_int(chosen + 4 * c, best)
        last_value, last = float_at(logits + 4 * best), best
        if c == 0:
            highest = last_value
        gate = exp(last_value - highest)
        put_float(gates + 4 * c, gate)
        sums += gate
    for c in range(k):
        put_float(gates + 4 * c, float_at(gates + 4 * c) / sums)


def _expert_rows(dots, stride_size):
    """expert_rows_nt for one format of b; a task is `STEP` columns of c, for every row."""
    dot, _ = dots

    @few
    def product(row, numbers, task):
        first, out = task * row[STEP], columns_of(row, C)
        last = min(first + row[STEP], out)
        rows, k = rows_of(row, C), columns_of(row, INPUTS)
        share = rows // rows_of(row, INPUTS)  # rows of c that have a row of `inputs` together
        row_bytes, scale_bytes = stride_size * stride_of(row, B), 4 * stride_of(row, SCALES)
        for i in range(rows):
            x = address(row, INPUTS) + 4 * stride_of(row, INPUTS) * (i // share)
            expert = int_at(address(row, CHOSEN) + 4 * i) * out
            for j in range(first, last):
                weights = address(row, B) + (expert + j) * row_bytes
                scales = address(row, SCALES) + (expert + j) * scale_bytes
                put_float(address(row, C) + 4 * (i * out + j), dot(weights, scales, x, k))

    return product


expert_rows_float32 = _expert_rows(FLOATS, 4)
expert_rows_float16 = _expert_rows(HALVES, 2)
expert_rows_int8 = _expert_rows(BYTES, 4)  # its rows are counted in words


@few
def routed_gated(row, numbers, task):
    """routed_swiglu; a task is a row."""
    f = columns_of(row, 3)
    z, g = address(row, 0) + 8 * f * task, address(row, 3) + 4 * f * task
    pair = int_at(address(row, 2) + 4 * task) if address(row, 2) else task
    gate = float_at(address(row, 1) + 4 * pair)
    whole = f - f % LANES
    for c in range(0, 4 * whole, WIDTH):
        z_c = lanes_at(z + c)
        put_lanes(g + c, lanes_at(z + 4 * f + c) * z_c * sigmoid(z_c) * gate)
    for c in range(4 * whole, 4 * f, 4):
        z1 = float_at(z + c)
        put_float(g + c, float_at(z + 4 * f + c) * z1 * sigmoid(z1) * gate)


@few
def add_rows(row, numbers, task):
    """combine; a task is a token."""
    m = columns_of(row, 2)
    k = rows_of(row, 0) // rows_of(row, 2)
    y, factor = address(row, 2) + 4 * m * task, f32(numbers[0])
    for c in range(k):
        pair = k * task + c
        at = int_at(address(row, 1) + 4 * pair) if address(row, 1) else pair
        x = address(row, 0) + 4 * m * at
        whole = m - m % LANES
        for j in range(0, 4 * whole, WIDTH):
            put_lanes(y + j, lanes_at(y + j) + lanes_at(x + j) * factor)
        for j in range(4 * whole, 4 * m, 4):
            put_float(y + j, float_at(y + j) + float_at(x + j) * factor)
