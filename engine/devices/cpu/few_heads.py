"""Mamba-2's scan on a few tokens: a task of a replayed program is a head, whose state stays in the nearest cache."""

from __future__ import annotations

from engine.devices.cpu.memory import float_at, lanes_at, put_float, put_lanes
from engine.devices.cpu.program_table import address, columns_of, few, rows_of, stride_of
from engine.devices.cpu.simd import LANES
from engine.devices.cpu.vector_math import LOG2_E, decay, f32, softplus

WIDTH = 4 * LANES  # bytes of a float32 vector


@few
def _two(state, u, y, B, C, n, row_bytes, Delta, skip, faded):
    """32 channels: their part of a row of the state is two cache lines, side by side."""
    u0, u1 = lanes_at(u), lanes_at(u + WIDTH)
    inflow0, inflow1, y0, y1 = u0 * Delta, u1 * Delta, u0 * skip, u1 * skip
    for k in range(0, 4 * n, 4):
        b, c = float_at(B + k), float_at(C + k)
        h0 = lanes_at(state) * faded + inflow0 * b
        h1 = lanes_at(state + WIDTH) * faded + inflow1 * b
        put_lanes(state, h0)
        put_lanes(state + WIDTH, h1)
        y0, y1 = y0 + h0 * c, y1 + h1 * c
        state += row_bytes
    put_lanes(y, y0)
    put_lanes(y + WIDTH, y1)


@few
def _one(state, u, y, B, C, n, row_bytes, Delta, skip, faded):
    """16 channels."""
    u0 = lanes_at(u)
    inflow, y0 = u0 * Delta, u0 * skip
    for k in range(0, 4 * n, 4):
        h = lanes_at(state) * faded + inflow * float_at(B + k)
        put_lanes(state, h)
        y0 = y0 + h * float_at(C + k)
        state += row_bytes
    put_lanes(y, y0)


@few
def scan_heads(row, numbers, task):
    """ssd_tokens; a task is a head."""
    tokens, heads, e = rows_of(row, 0), columns_of(row, 1), columns_of(row, 3)
    n, inner = rows_of(row, 3) // heads, heads * e
    groups = (columns_of(row, 0) - inner) // (2 * n)
    coefficients = address(row, 2) + 4 * task
    A, skip, bias = float_at(coefficients), float_at(coefficients + 4 * heads), float_at(coefficients + 8 * heads)
    state, whole, pairs = address(row, 3) + 4 * task * n * e, e - e % LANES, e - e % (2 * LANES)
    for t in range(tokens):
        u = address(row, 0) + 4 * t * columns_of(row, 0)
        B = u + 4 * (inner + task // (heads // groups) * n)
        C = B + 4 * groups * n
        u += 4 * task * e
        y = address(row, 4) + 4 * (t * inner + task * e)
        Delta = softplus(float_at(address(row, 1) + 4 * (t * stride_of(row, 1) + task)) + bias)
        Delta = min(max(Delta, f32(numbers[0])), f32(numbers[1]))
        faded = decay(Delta * A * LOG2_E)
        for c in range(0, 4 * pairs, 2 * WIDTH):
            _two(state + c, u + c, y + c, B, C, n, 4 * e, Delta, skip, faded)
        if pairs < whole:
            _one(state + 4 * pairs, u + 4 * pairs, y + 4 * pairs, B, C, n, 4 * e, Delta, skip, faded)
        for c in range(4 * whole, 4 * e, 4):
            u1 = float_at(u + c)
            inflow1, y1 = u1 * Delta, u1 * skip
            for k in range(n):
                at = state + 4 * k * e + c
                h1 = float_at(at) * faded + inflow1 * float_at(B + 4 * k)
                put_float(at, h1)
                y1 += h1 * float_at(C + 4 * k)
            put_float(y + c, y1)
