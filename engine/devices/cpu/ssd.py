"""Mamba-2's scan (SSD) on the CPU, forward and backward.

Letters: h heads, e channels of a head, n states, g groups of heads that share B and C; see engine.graph.kernels.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.vector_math import ZERO, exp, f32, sigmoid, softplus
from engine.graph.kernels import STATE_INTERVAL


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
def ssd(x, steps, coefficients, states, y, workspace, length, carry):
    """y (t, h*e) and the states every 64 tokens."""
    t, heads = steps.shape[0], steps.shape[1] // 2
    e, n = states.shape[3], states.shape[2] // heads
    groups = (x.shape[1] - heads * e) // (2 * n)
    for task in prange(t // length * heads):
        b, h = task // heads, task % heads
        at_B = heads * e + h // (heads // groups) * n
        state = np.zeros((n, e), f32)
        if carry:
            state[:, :] = states[b, 0, h * n : (h + 1) * n]
        for s in range(length):
            i = b * length + s
            if s % STATE_INTERVAL == 0:
                states[b, s // STATE_INTERVAL, h * n : (h + 1) * n] = state
            a, Delta = exp(steps[i, heads + h]), steps[i, h]
            for c in range(e):
                y[i, h * e + c] = coefficients[1, h] * x[i, h * e + c]
            for k in range(n):
                inflow, C = Delta * x[i, at_B + k], x[i, at_B + groups * n + k]
                for c in range(e):
                    state[k, c] = a * state[k, c] + inflow * x[i, h * e + c]
                    y[i, h * e + c] += state[k, c] * C
        states[b, states.shape[1] - 1, h * n : (h + 1) * n] = state


@kernel
def ssd_backward(x, steps, coefficients, states, d_y, d_x, d_steps, workspace, length):
    """d_x and d_steps; a task is a sequence and a group of heads."""
    t, heads = steps.shape[0], steps.shape[1] // 2
    e, n = states.shape[3], states.shape[2] // heads
    groups = (x.shape[1] - heads * e) // (2 * n)
    share = heads // groups
    for task in prange(t // length * groups):
        b, group = task // groups, task % groups
        at_B, at_C = heads * e + group * n, heads * e + (groups + group) * n
        h_kept = np.zeros((STATE_INTERVAL + 1, n, e), f32)
        for s in range(length):
            d_x[b * length + s, at_B : at_B + n] = ZERO
            d_x[b * length + s, at_C : at_C + n] = ZERO
        for h in range(group * share, (group + 1) * share):
            later = np.zeros((n, e), f32)
            w = np.zeros(e, f32)
            for chunk in range((length - 1) // STATE_INTERVAL, -1, -1):
                first = b * length + chunk * STATE_INTERVAL
                count = min(STATE_INTERVAL, length - chunk * STATE_INTERVAL)
                h_kept[0] = states[b, chunk, h * n : (h + 1) * n]
                for s in range(count):
                    a, Delta = exp(steps[first + s, heads + h]), steps[first + s, h]
                    for k in range(n):
                        inflow = Delta * x[first + s, at_B + k]
                        for c in range(e):
                            h_kept[s + 1, k, c] = a * h_kept[s, k, c] + inflow * x[first + s, h * e + c]
                for s in range(count - 1, -1, -1):
                    i = first + s
                    a, Delta = exp(steps[i, heads + h]), steps[i, h]
                    w[:] = ZERO
                    d_decay, d_Delta, d_skip = ZERO, ZERO, ZERO
                    for k in range(n):
                        d_B, d_C = ZERO, ZERO
                        B, C = x[i, at_B + k], x[i, at_C + k]
                        for c in range(e):
                            out = d_y[i, h * e + c]
                            d_h = later[k, c] + C * out
                            d_C += out * h_kept[s + 1, k, c]
                            d_B += d_h * Delta * x[i, h * e + c]
                            w[c] += d_h * B
                            later[k, c] = a * d_h
                            d_decay += a * d_h * h_kept[s, k, c]
                        d_x[i, at_B + k] += d_B
                        d_x[i, at_C + k] += d_C
                    for c in range(e):
                        out, u = d_y[i, h * e + c], x[i, h * e + c]
                        d_x[i, h * e + c] = Delta * w[c] + coefficients[1, h] * out
                        d_Delta += w[c] * u
                        d_skip += out * u
                    d_steps[i, h], d_steps[i, heads + h], d_steps[i, 2 * heads + h] = d_Delta, d_decay, d_skip
