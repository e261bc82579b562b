"""Mamba-2's scan (SSD) on the CPU, forward and backward, as products of small matrices.

    states     a task is a sequence and a head: from chunk to chunk, 64 tokens each
    the rest   a task is a chunk and a group of heads: C B^T is computed once for all of them

Letters: h heads, e channels of a head, n states, g groups of heads that share B and C. Each task writes its own
outputs, so it does not matter which thread runs it. With u = x * Delta, a token's share of a later one is
(C_i . B_j) L_ij u_j, with L_ij the decay in between; what came before the chunk enters through its first state.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.ssd_tiles import (
    FULL,
    LOWER,
    LOWER_RESULT,
    TOKENS,
    UPPER,
    add_product,
    add_scaled,
    decays,
    dot,
    fade,
    masked,
    padded,
    put_state,
    scale_all,
    scale_rows,
    share_of_decays,
    take,
    take_state,
    through_skip,
    turned,
    with_skip,
)
from engine.devices.cpu.vector_math import ZERO, f32, sigmoid, softplus


def backward_scratch(states: tuple[int, ...]) -> int:
    """Floats that `ssd_backward` needs besides its operands: the gradient of the state behind each chunk.

    states: the shape of the operand (b, chunks + 1, h*n, e).
    """
    b, kept, rows, e = states
    return b * (kept - 1) * rows * e


@kernel
def ssd_steps(dt, dt_stride, coefficients, steps, lowest, highest):
    """steps (t, 2h): Delta = softplus(dt + dt_bias) between its limits, and Delta * A."""
    t, heads = steps.shape[0], steps.shape[1] // 2
    for i in prange(t):
        for h in range(heads):
            Delta = softplus(dt[i * dt_stride + h] + coefficients[2, h])
            Delta = min(max(Delta, f32(lowest)), f32(highest))
            steps[i, h] = Delta
            steps[i, heads + h] = Delta * coefficients[0, h]


@kernel
def ssd_steps_backward(d_steps, steps, dt, dt_stride, coefficients, d_dt, d_dt_stride, d_coefficients, lowest, highest):
    """d_dt (t, h) and the sums d_coefficients (p, 3, h); absent ones have no elements."""
    t, heads = steps.shape[0], steps.shape[1] // 2
    parts = d_coefficients.shape[0] if d_coefficients.shape[0] > 0 else (t + 63) // 64
    rows = (t + parts - 1) // parts
    for part in prange(parts):
        sums = np.zeros((3, heads), f32)
        for i in range(part * rows, min(t, part * rows + rows)):
            for h in range(heads):
                free = dt[i * dt_stride + h] + coefficients[2, h]
                Delta = softplus(free)
                own = d_steps[i, h] + coefficients[0, h] * d_steps[i, heads + h]
                own = own * sigmoid(free) if f32(lowest) <= Delta <= f32(highest) else ZERO
                if d_dt.size:
                    d_dt[i * d_dt_stride + h] = own
                sums[0, h] += steps[i, h] * d_steps[i, heads + h]
                sums[1, h] += d_steps[i, 2 * heads + h]
                sums[2, h] += own
        if d_coefficients.shape[0] > 0:
            d_coefficients[part] = sums


@kernel
def ssd(x, steps, coefficients, states, y, length, carry):
    """y (t, h*e) and the states every 64 tokens; see engine.graph.kernels."""
    t, heads = steps.shape[0], steps.shape[1] // 2
    (kept, e), wide_x, inner = states.shape[1:4:2], x.shape[1], y.shape[1]
    n, chunks = states.shape[2] // heads, kept - 1
    groups = (wide_x - inner) // (2 * n)
    share, wide, wide_n = heads // groups, padded(e), padded(n)
    x_flat, y_flat, states_flat = x.reshape(-1), y.reshape(-1), states.reshape(-1)
    for task in prange(t // length * heads):
        b, h = task // heads, task % heads
        B, u, state = np.empty(TOKENS * wide_n, f32), np.zeros(TOKENS * wide, f32), np.zeros(wide_n * wide, f32)
        Delta, own = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        faded, tails = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        ones = np.ones(TOKENS, f32)
        B[:] = ZERO
        at_state = (b * kept * heads + h) * n * e
        if carry:
            take_state(states_flat, at_state, n, e, wide, state)
        for chunk in range(chunks):
            first = b * length + chunk * TOKENS
            count = min(TOKENS, length - chunk * TOKENS)
            put_state(state, n, e, wide, states_flat, at_state + chunk * heads * n * e)
            whole = decays(steps, first, count, h, heads, Delta, own, faded, tails)
            for s in range(count):
                tails[s] *= Delta[s]
            take(x_flat, first * wide_x + inner + h // share * n, wide_x, count, n, wide_n, B, ones)
            take(x_flat, first * wide_x + h * e, wide_x, count, e, wide, u, tails)
            scale_all(state, n * wide, whole)
            add_product(B, 1, wide_n, u, wide, state, wide, n, wide, count, FULL)
        put_state(state, n, e, wide, states_flat, at_state + chunks * heads * n * e)
    for task in prange(t // length * chunks * groups):
        place, group = task // groups, task % groups
        b, chunk = place // chunks, place % chunks
        first = b * length + chunk * TOKENS
        count = min(TOKENS, length - chunk * TOKENS)
        B, C = np.zeros(TOKENS * wide_n, f32), np.zeros(TOKENS * wide_n, f32)
        B_across, CB = np.zeros(wide_n * TOKENS, f32), np.zeros(TOKENS * TOKENS, f32)
        L, u, out = np.empty(TOKENS * TOKENS, f32), np.zeros(TOKENS * wide, f32), np.empty(TOKENS * wide, f32)
        state = np.zeros(wide_n * wide, f32)
        Delta, own = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        faded, tails = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        ones = np.ones(TOKENS, f32)
        at_B = first * wide_x + inner + group * n
        take(x_flat, at_B, wide_x, count, n, wide_n, B, ones)
        take(x_flat, at_B + groups * n, wide_x, count, n, wide_n, C, ones)
        turned(B, count, wide_n, n, B_across, TOKENS)
        add_product(C, wide_n, 1, B_across, TOKENS, CB, TOKENS, count, TOKENS, n, LOWER_RESULT)
        for h in range(group * share, (group + 1) * share):
            decays(steps, first, count, h, heads, Delta, own, faded, tails)
            take(x_flat, first * wide_x + h * e, wide_x, count, e, wide, u, Delta)
            out[:] = ZERO
            if chunk > 0 or carry:
                take_state(states_flat, ((b * kept + chunk) * heads + h) * n * e, n, e, wide, state)
                add_product(C, wide_n, 1, state, wide, out, wide, count, wide, n, FULL)
                scale_rows(out, count, wide, faded)
            fade(own, count, L)
            masked(CB, L, count, L)
            add_product(L, TOKENS, 1, u, wide, out, wide, count, wide, count, LOWER)
            D = coefficients[1, h]
            for s in range(count):
                at_x, at_y = (first + s) * wide_x + h * e, (first + s) * inner + h * e
                with_skip(out, s * wide, x_flat, at_x, D, e, y_flat, at_y)


@kernel
def ssd_backward(x, steps, coefficients, states, d_y, d_x, d_steps, scratch, length):
    """d_x and d_steps; see engine.graph.kernels."""
    t, heads = steps.shape[0], steps.shape[1] // 2
    (kept, e), wide_x, inner = states.shape[1:4:2], x.shape[1], d_y.shape[1]
    n, chunks = states.shape[2] // heads, kept - 1
    groups = (wide_x - inner) // (2 * n)
    share, wide, wide_n = heads // groups, padded(e), padded(n)
    x_flat, out_flat, d_x_flat, states_flat = x.reshape(-1), d_y.reshape(-1), d_x.reshape(-1), states.reshape(-1)
    for task in prange(t // length * heads):  # the gradient that reaches the state behind each chunk
        b, h = task // heads, task % heads
        C, out, later = np.zeros(TOKENS * wide_n, f32), np.zeros(TOKENS * wide, f32), np.zeros(wide_n * wide, f32)
        Delta, own = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        faded, tails = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        ones = np.ones(TOKENS, f32)
        for chunk in range(chunks - 1, -1, -1):
            put_state(later, n, e, wide, scratch, ((b * chunks + chunk) * heads + h) * n * e)
            if chunk == 0:
                break
            first = b * length + chunk * TOKENS
            count = min(TOKENS, length - chunk * TOKENS)
            whole = decays(steps, first, count, h, heads, Delta, own, faded, tails)
            take(x_flat, first * wide_x + inner + (groups + h // share) * n, wide_x, count, n, wide_n, C, ones)
            take(out_flat, first * inner + h * e, inner, count, e, wide, out, faded)
            scale_all(later, n * wide, whole)
            add_product(C, 1, wide_n, out, wide, later, wide, n, wide, count, FULL)
    for task in prange(t // length * chunks * groups):
        place, group = task // groups, task % groups
        b, chunk = place // chunks, place % chunks
        first = b * length + chunk * TOKENS
        count = min(TOKENS, length - chunk * TOKENS)
        B, C = np.zeros(TOKENS * wide_n, f32), np.zeros(TOKENS * wide_n, f32)
        d_B, d_C, through = (
            np.zeros(TOKENS * wide_n, f32),
            np.zeros(TOKENS * wide_n, f32),
            np.empty(TOKENS * wide_n, f32),
        )
        across = np.zeros(max(wide_n, wide) * TOKENS, f32)  # of B, then of u
        CB, d_K = np.zeros(TOKENS * TOKENS, f32), np.zeros(TOKENS * TOKENS, f32)
        L, M, d_M = np.empty(TOKENS * TOKENS, f32), np.empty(TOKENS * TOKENS, f32), np.empty(TOKENS * TOKENS, f32)
        u, out, d_u = np.zeros(TOKENS * wide, f32), np.zeros(TOKENS * wide, f32), np.empty(TOKENS * wide, f32)
        state, later, state_across = (
            np.zeros(wide_n * wide, f32),
            np.zeros(wide_n * wide, f32),
            np.zeros(wide * wide_n, f32),
        )
        Delta, own = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        faded, tails = np.empty(TOKENS, f32), np.empty(TOKENS, f32)
        d_logs, ones = np.empty(TOKENS, f32), np.ones(TOKENS, f32)
        at_B = first * wide_x + inner + group * n
        take(x_flat, at_B, wide_x, count, n, wide_n, B, ones)
        take(x_flat, at_B + groups * n, wide_x, count, n, wide_n, C, ones)
        turned(B, count, wide_n, n, across, TOKENS)
        add_product(C, wide_n, 1, across, TOKENS, CB, TOKENS, count, TOKENS, n, LOWER_RESULT)
        for h in range(group * share, (group + 1) * share):
            whole = decays(steps, first, count, h, heads, Delta, own, faded, tails)
            take(x_flat, first * wide_x + h * e, wide_x, count, e, wide, u, Delta)
            take(out_flat, first * inner + h * e, inner, count, e, wide, out, ones)
            fade(own, count, L)
            masked(CB, L, count, M)
            turned(u, count, wide, e, across, TOKENS)
            d_M[:] = ZERO
            add_product(out, wide, 1, across, TOKENS, d_M, TOKENS, count, TOKENS, e, LOWER_RESULT)
            d_logs[:] = ZERO
            share_of_decays(d_M, M, L, count, d_K, d_logs)
            take_state(states_flat, ((b * kept + chunk) * heads + h) * n * e, n, e, wide, state)
            turned(state, n, wide, e, state_across, wide_n)
            through[:] = ZERO
            add_product(out, wide, 1, state_across, wide_n, through, wide_n, count, wide_n, e, FULL)
            for s in range(count):
                d_logs[s] += faded[s] * dot(through, s * wide_n, C, s * wide_n, wide_n)
                add_scaled(through, s * wide_n, faded[s], wide_n, d_C)
            d_u[:] = ZERO
            if chunk < chunks - 1:
                take_state(scratch, ((b * chunks + chunk) * heads + h) * n * e, n, e, wide, later)
                add_product(B, wide_n, 1, later, wide, d_u, wide, count, wide, n, FULL)
                scale_rows(d_u, count, wide, tails)
                d_logs[count - 1] += whole * dot(later, 0, state, 0, n * wide)
                for s in range(count):
                    q = dot(u, s * wide, d_u, s * wide, wide)
                    d_logs[s] -= q
                    d_logs[count - 1] += q
                turned(later, n, wide, e, state_across, wide_n)
                scale_rows(u, count, wide, tails)
                add_product(u, wide, 1, state_across, wide_n, d_B, wide_n, count, wide_n, e, FULL)
            add_product(M, 1, TOKENS, out, wide, d_u, wide, count, wide, count, UPPER)
            D, d_decay = coefficients[1, h], ZERO
            for s in range(count - 1, -1, -1):
                i, at_x = first + s, (first + s) * wide_x + h * e
                d_Delta, d_skip = through_skip(d_u, out, s * wide, x_flat, at_x, Delta[s], D, e, d_x_flat)
                d_decay += d_logs[s]
                d_steps[i, h], d_steps[i, heads + h], d_steps[i, 2 * heads + h] = d_Delta, d_decay, d_skip
        add_product(d_K, TOKENS, 1, B, wide_n, d_C, wide_n, count, wide_n, count, LOWER)
        add_product(d_K, 1, TOKENS, C, wide_n, d_B, wide_n, count, wide_n, count, UPPER)
        for s in range(count):
            for k in range(n):
                d_x_flat[at_B + s * wide_x + k] = d_B[s * wide_n + k]
                d_x_flat[at_B + s * wide_x + groups * n + k] = d_C[s * wide_n + k]
