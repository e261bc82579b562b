"""The selective scan on the CPU, forward and backward.

A task is one sequence and one block of channels; its state (n, block) stays in the first-level cache, and the inner
loops advance sixteen channels at a time. Blocks are padded to full width with zeros. Which thread runs a task changes
nothing: each writes its own outputs and its own rows of partial sums.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.simd import LANES, load, spread, store, total
from engine.devices.cpu.vector_math import LN2, LOG2_E, ONE, ZERO, decay, exp, f32, sigmoid, softplus
from engine.graph.kernels import STATE_INTERVAL

CHANNELS = 2 * LANES  # channels of a block: state and both strips of a chunk fit the second-level cache


def backward_workspace(n: int, threads: int) -> int:
    """Floats that `selective_scan_backward` needs: per thread, the states and decays of one chunk."""
    return threads * (2 * STATE_INTERVAL + 1) * n * CHANNELS


@kernel
def scan_coefficients(A_log, D, dt_bias, coefficients):
    """coefficients (n+2, d) from A_log (d, n), D and dt_bias (d,)."""
    d, n = A_log.shape
    for c in prange(d):
        for k in range(n):
            coefficients[k, c] = -exp(A_log[c, k])
        coefficients[n, c] = D[c]
        coefficients[n + 1, c] = dt_bias[c]


@kernel
def scan_coefficients_backward(d_coefficients, coefficients, d_A_log, d_D, d_dt_bias, accumulate):
    """Sums over the batch of d_coefficients (b, n+2, d); d_A_log = dA * A."""
    b, rows, d = d_coefficients.shape
    n = rows - 2
    for c in prange(d):
        for k in range(rows):
            total = ZERO
            for i in range(b):
                total += d_coefficients[i, k, c]
            if k < n:
                d_A_log[c, k] = total * coefficients[k, c] + (d_A_log[c, k] if accumulate else ZERO)
            elif k == n:
                d_D[c] = total + (d_D[c] if accumulate else ZERO)
            else:
                d_dt_bias[c] = total + (d_dt_bias[c] if accumulate else ZERO)


@kernel
def selective_scan(u, delta, x_dbl, coefficients, states, y, workspace, length, rank, carry):
    """y (t, d) and the states every 64 tokens; see engine.graph.kernels."""
    t, d = u.shape
    n = coefficients.shape[0] - 2
    blocks = (d + CHANNELS - 1) // CHANNELS
    for task in prange(t // length * blocks):
        b, start = task // blocks, (task % blocks) * CHANNELS
        width = min(CHANNELS, d - start)
        A = np.zeros(n * CHANNELS, f32)
        h = np.zeros(n * CHANNELS, f32)
        Delta = np.zeros(CHANNELS, f32)
        inflow = np.zeros(CHANNELS, f32)  # Delta * u
        out = np.zeros(CHANNELS, f32)
        for k in range(n):
            for j in range(width):
                A[k * CHANNELS + j] = coefficients[k, start + j] * LOG2_E
            if carry:
                h[k * CHANNELS : k * CHANNELS + width] = states[b, 0, k, start : start + width]
        for s in range(length):
            i = b * length + s
            if s % STATE_INTERVAL == 0:
                for k in range(n):
                    states[b, s // STATE_INTERVAL, k, start : start + width] = h[k * CHANNELS : k * CHANNELS + width]
            for j in range(width):
                Delta[j] = softplus(delta[i, start + j] + coefficients[n + 1, start + j])
            for j in range(width):
                inflow[j] = Delta[j] * u[i, start + j]
                out[j] = coefficients[n, start + j] * u[i, start + j]
            for v in range(0, CHANNELS, LANES):
                Delta_v, inflow_v, y_v = load(Delta, v), load(inflow, v), load(out, v)
                for k in range(n):
                    at = k * CHANNELS + v
                    h_v = decay(Delta_v * load(A, at)) * load(h, at) + inflow_v * x_dbl[i, rank + k]
                    store(h, at, h_v)
                    y_v = y_v + h_v * x_dbl[i, rank + n + k]
                store(out, v, y_v)
            for j in range(width):
                y[i, start + j] = out[j]
        for k in range(n):
            states[b, -1, k, start : start + width] = h[k * CHANNELS : k * CHANNELS + width]


@kernel
def selective_scan_backward(
    u, delta, x_dbl, coefficients, states, d_y, partials, workspace, length, rank, want_inputs, want_coefficients
):
    """In place d_y -> d_u and delta -> d_delta, and the partial sums; see engine.graph.kernels."""
    t, d = u.shape
    n = coefficients.shape[0] - 2
    batch, blocks = t // length, (d + CHANNELS - 1) // CHANNELS
    size = n * CHANNELS  # of one state
    per_thread = (2 * STATE_INTERVAL + 1) * size
    threads = workspace.size // per_thread
    channel_sums = partials[: blocks * t * 2 * n].reshape((blocks, t, 2 * n))
    for thread in prange(threads):
        h = workspace[thread * per_thread : thread * per_thread + (STATE_INTERVAL + 1) * size]
        a = workspace[thread * per_thread + (STATE_INTERVAL + 1) * size : (thread + 1) * per_thread]
        A = np.zeros(size, f32)  # times log2(e): decays are powers of two
        G = np.zeros(size, f32)  # gradient that reaches the state from later tokens
        d_A = np.zeros(size, f32)
        Delta = np.zeros(STATE_INTERVAL * CHANNELS, f32)
        inflow = np.zeros(STATE_INTERVAL * CHANNELS, f32)
        d_out = np.zeros(CHANNELS, f32)
        d_Delta = np.zeros(CHANNELS, f32)
        d_inflow = np.zeros(CHANNELS, f32)
        d_skip = np.zeros(CHANNELS, f32)
        d_bias = np.zeros(CHANNELS, f32)
        for task in range(thread, batch * blocks, threads):
            b, block = task // blocks, task % blocks
            start = block * CHANNELS
            width = min(CHANNELS, d - start)
            for j in range(size):
                A[j] = G[j] = d_A[j] = h[j] = ZERO
            for j in range(STATE_INTERVAL * CHANNELS):
                Delta[j] = inflow[j] = ZERO
            for j in range(CHANNELS):
                d_out[j] = d_skip[j] = d_bias[j] = ZERO
            for k in range(n):
                for j in range(width):
                    A[k * CHANNELS + j] = coefficients[k, start + j] * LOG2_E
            for chunk in range((length - 1) // STATE_INTERVAL, -1, -1):
                first = b * length + chunk * STATE_INTERVAL
                count = min(STATE_INTERVAL, length - chunk * STATE_INTERVAL)
                for k in range(n):
                    h[k * CHANNELS : k * CHANNELS + width] = states[b, chunk, k, start : start + width]
                for s in range(count):  # forward again, keeping states and decays
                    i, row = first + s, s * CHANNELS
                    for j in range(width):
                        Delta[row + j] = softplus(delta[i, start + j] + coefficients[n + 1, start + j])
                    for j in range(width):
                        inflow[row + j] = Delta[row + j] * u[i, start + j]
                    for v in range(0, CHANNELS, LANES):
                        Delta_v, inflow_v = load(Delta, row + v), load(inflow, row + v)
                        for k in range(n):
                            at = k * CHANNELS + v
                            a_v = decay(Delta_v * load(A, at))
                            store(a, s * size + at, a_v)
                            store(h, (s + 1) * size + at, a_v * load(h, s * size + at) + inflow_v * x_dbl[i, rank + k])
                for s in range(count - 1, -1, -1):
                    i, row = first + s, s * CHANNELS
                    for j in range(width):
                        d_out[j] = d_y[i, start + j]
                    out_0, out_1 = load(d_out, 0), load(d_out, LANES)
                    inflow_0, inflow_1 = load(inflow, row), load(inflow, row + LANES)
                    Delta_0, Delta_1 = load(Delta, row), load(Delta, row + LANES)
                    d_Delta_0 = d_Delta_1 = d_inflow_0 = d_inflow_1 = spread(ZERO)
                    for k in range(n):
                        at, now, after = k * CHANNELS, s * size + k * CHANNELS, (s + 1) * size + k * CHANNELS
                        B, C = x_dbl[i, rank + k], x_dbl[i, rank + n + k]
                        dh_0, dh_1 = out_0 * C + load(G, at), out_1 * C + load(G, at + LANES)
                        back_0, back_1 = load(a, now) * dh_0, load(a, now + LANES) * dh_1
                        store(G, at, back_0)
                        store(G, at + LANES, back_1)
                        channel_sums[block, i, k] = total(dh_0 * inflow_0 + dh_1 * inflow_1)
                        channel_sums[block, i, n + k] = total(out_0 * load(h, after) + out_1 * load(h, after + LANES))
                        if want_inputs or want_coefficients:
                            q_0, q_1 = back_0 * load(h, now), back_1 * load(h, now + LANES)
                            d_Delta_0 = d_Delta_0 + q_0 * load(A, at)
                            d_Delta_1 = d_Delta_1 + q_1 * load(A, at + LANES)
                            d_inflow_0 = d_inflow_0 + dh_0 * B
                            d_inflow_1 = d_inflow_1 + dh_1 * B
                            if want_coefficients:
                                store(d_A, at, load(d_A, at) + q_0 * Delta_0)
                                store(d_A, at + LANES, load(d_A, at + LANES) + q_1 * Delta_1)
                    store(d_Delta, 0, d_Delta_0)
                    store(d_Delta, LANES, d_Delta_1)
                    store(d_inflow, 0, d_inflow_0)
                    store(d_inflow, LANES, d_inflow_1)
                    if want_inputs or want_coefficients:
                        for j in range(width):
                            c = start + j
                            d_pre = (d_Delta[j] * LN2 + d_inflow[j] * u[i, c]) * sigmoid(delta[i, c] + coefficients[n + 1, c])
                            d_bias[j] += d_pre
                            d_skip[j] += d_out[j] * u[i, c]
                            if want_inputs:
                                d_y[i, c] = d_inflow[j] * Delta[row + j] + coefficients[n, c] * d_out[j]
                                delta[i, c] = d_pre
            if want_coefficients:
                sums = partials[blocks * t * 2 * n :].reshape((batch, n + 2, d))
                for k in range(n):
                    sums[b, k, start : start + width] = d_A[k * CHANNELS : k * CHANNELS + width]
                sums[b, n, start : start + width] = d_skip[:width]
                sums[b, n + 1, start : start + width] = d_bias[:width]


@kernel
def gate(y, z, z_stride, g):
    """g = y * silu(z).  (t, d) each."""
    t, d = y.shape
    for i in prange(t):
        for j in range(d):
            z_ij = z[i * z_stride + j]
            g[i, j] = y[i, j] * z_ij * sigmoid(z_ij)


@kernel
def gate_backward(d_g, y, z, z_stride, d_z, d_z_stride):
    """In place d_g -> d_y and y -> g; d_z where it is wanted (else it has no elements)."""
    t, d = y.shape
    want_d_z = d_z.size > 0
    for i in prange(t):
        if want_d_z:
            for j in range(d):
                z_ij = z[i * z_stride + j]
                s = sigmoid(z_ij)
                d_z[i * d_z_stride + j] = d_g[i, j] * y[i, j] * s * (ONE + z_ij * (ONE - s))
        for j in range(d):
            z_ij = z[i * z_stride + j]
            silu = z_ij * sigmoid(z_ij)
            d_g[i, j] *= silu
            y[i, j] *= silu
