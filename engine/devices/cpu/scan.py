"""The selective scan on the CPU, forward and backward.

A task is one sequence and one block of channels; its state (n, block) stays in the first-level cache, and the inner
loops advance sixteen channels at a time. Blocks are padded to full width with zeros. Which thread runs a task changes
nothing: each writes its own outputs and its own rows of partial sums.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from engine.compiling import compiled
from engine.devices.cpu.compile import kernel
from engine.devices.cpu.simd import LANES, load, spread, store, total
from engine.devices.cpu.vector_math import LN2, LOG2_E, ONE, ZERO, decay, exp, f32, sigmoid, softplus
from engine.graph.kernels import STATE_INTERVAL

_inlined = njit(inline="always")
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


@compiled()
def _take(source, row, rows, start, width, target):
    """target (rows of CHANNELS) = source[row : row + rows, start : start + width]; beyond the width it keeps its zeros.

    Rows of a wide matrix lie pages apart, and a single one is a long wait; many in one loop wait at the same time.
    """
    flat, stride = source.reshape(-1), source.shape[1]
    for r in range(rows):
        at = (row + r) * stride + start
        if width == CHANNELS:
            for v in range(0, CHANNELS, LANES):
                store(target, r * CHANNELS + v, load(flat, at + v))
        else:
            for j in range(width):
                target[r * CHANNELS + j] = flat[at + j]


@compiled()
def _put(source, target, row, rows, start, width):
    """target[row : row + rows, start : start + width] = source (rows of CHANNELS)."""
    flat, stride = target.reshape(-1), target.shape[1]
    for r in range(rows):
        at = (row + r) * stride + start
        if width == CHANNELS:
            for v in range(0, CHANNELS, LANES):
                store(flat, at + v, load(source, r * CHANNELS + v))
        else:
            for j in range(width):
                flat[at + j] = source[r * CHANNELS + j]


@kernel
def selective_scan(u, delta, x_dbl, coefficients, states, y, workspace, length, rank, carry):
    """y (t, d) and the states every 64 tokens; see engine.graph.kernels."""
    t, d = u.shape
    n = coefficients.shape[0] - 2
    blocks = (d + CHANNELS - 1) // CHANNELS
    for task in prange(t // length * blocks):
        b, start = task // blocks, (task % blocks) * CHANNELS
        width = min(CHANNELS, d - start)
        A = np.zeros(n * CHANNELS, f32)  # times log2(e): decays are powers of two
        h = np.zeros(n * CHANNELS, f32)
        skip, bias = np.zeros(CHANNELS, f32), np.zeros(CHANNELS, f32)
        u_rows, delta_rows = np.zeros(STATE_INTERVAL * CHANNELS, f32), np.zeros(STATE_INTERVAL * CHANNELS, f32)
        y_rows = np.zeros(STATE_INTERVAL * CHANNELS, f32)
        _take(coefficients, 0, n, start, width, A)
        _take(coefficients, n, 1, start, width, skip)
        _take(coefficients, n + 1, 1, start, width, bias)
        for j in range(n * CHANNELS):
            A[j] *= LOG2_E
        if carry:
            _take(states[b, 0], 0, n, start, width, h)
        for chunk in range((length + STATE_INTERVAL - 1) // STATE_INTERVAL):
            first = b * length + chunk * STATE_INTERVAL
            count = min(STATE_INTERVAL, length - chunk * STATE_INTERVAL)
            _put(h, states[b, chunk], 0, n, start, width)
            _take(u, first, count, start, width, u_rows)
            _take(delta, first, count, start, width, delta_rows)
            for s in range(count):
                for v in range(0, CHANNELS, LANES):
                    u_v = load(u_rows, s * CHANNELS + v)
                    Delta = softplus(load(delta_rows, s * CHANNELS + v) + load(bias, v))
                    inflow, y_v = Delta * u_v, load(skip, v) * u_v
                    for k in range(n):
                        at = k * CHANNELS + v
                        h_v = decay(Delta * load(A, at)) * load(h, at) + inflow * x_dbl[first + s, rank + k]
                        store(h, at, h_v)
                        y_v = y_v + h_v * x_dbl[first + s, rank + n + k]
                    store(y_rows, s * CHANNELS + v, y_v)
            _put(y_rows, y, first, count, start, width)
        _put(h, states[b, states.shape[1] - 1], 0, n, start, width)


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
    everything = want_inputs or want_coefficients
    for thread in prange(threads):
        h = workspace[thread * per_thread : thread * per_thread + (STATE_INTERVAL + 1) * size]
        a = workspace[thread * per_thread + (STATE_INTERVAL + 1) * size : (thread + 1) * per_thread]
        A = np.zeros(size, f32)  # times log2(e): decays are powers of two
        G = np.zeros(size, f32)  # gradient that reaches the state from later tokens
        d_A = np.zeros(size, f32)
        Delta = np.zeros(STATE_INTERVAL * CHANNELS, f32)
        inflow = np.zeros(STATE_INTERVAL * CHANNELS, f32)
        u_rows, delta_rows = np.zeros(STATE_INTERVAL * CHANNELS, f32), np.zeros(STATE_INTERVAL * CHANNELS, f32)
        d_rows = np.zeros(STATE_INTERVAL * CHANNELS, f32)
        skip, bias = np.zeros(CHANNELS, f32), np.zeros(CHANNELS, f32)
        d_skip, d_bias = np.zeros(CHANNELS, f32), np.zeros(CHANNELS, f32)
        for task in range(thread, batch * blocks, threads):
            b, block = task // blocks, task % blocks
            start = block * CHANNELS
            width = min(CHANNELS, d - start)
            for j in range(size):
                A[j] = G[j] = d_A[j] = h[j] = ZERO
            for j in range(STATE_INTERVAL * CHANNELS):
                u_rows[j] = delta_rows[j] = d_rows[j] = ZERO
            for j in range(CHANNELS):
                skip[j] = bias[j] = d_skip[j] = d_bias[j] = ZERO
            _take(coefficients, 0, n, start, width, A)
            _take(coefficients, n, 1, start, width, skip)
            _take(coefficients, n + 1, 1, start, width, bias)
            for j in range(size):
                A[j] *= LOG2_E
            for chunk in range((length - 1) // STATE_INTERVAL, -1, -1):
                first = b * length + chunk * STATE_INTERVAL
                count = min(STATE_INTERVAL, length - chunk * STATE_INTERVAL)
                _take(states[b, chunk], 0, n, start, width, h)
                _take(u, first, count, start, width, u_rows)
                _take(delta, first, count, start, width, delta_rows)
                _take(d_y, first, count, start, width, d_rows)
                for s in range(count):  # forward again, keeping states and decays
                    i, row = first + s, s * CHANNELS
                    for v in range(0, CHANNELS, LANES):
                        Delta_v = softplus(load(delta_rows, row + v) + load(bias, v))
                        inflow_v = Delta_v * load(u_rows, row + v)
                        store(Delta, row + v, Delta_v)
                        store(inflow, row + v, inflow_v)
                        for k in range(n):
                            now = s * size + k * CHANNELS + v
                            a_v = decay(Delta_v * load(A, k * CHANNELS + v))
                            store(a, now, a_v)
                            store(h, now + size, a_v * load(h, now) + inflow_v * x_dbl[i, rank + k])
                for s in range(count - 1, -1, -1):
                    i, row = first + s, s * CHANNELS
                    out_0, out_1 = load(d_rows, row), load(d_rows, row + LANES)
                    inflow_0, inflow_1 = load(inflow, row), load(inflow, row + LANES)
                    Delta_0, Delta_1 = load(Delta, row), load(Delta, row + LANES)
                    d_Delta_0 = d_Delta_1 = d_inflow_0 = d_inflow_1 = spread(ZERO)
                    for k in range(n):
                        at, now = k * CHANNELS, s * size + k * CHANNELS
                        B, C = x_dbl[i, rank + k], x_dbl[i, rank + n + k]
                        dh_0, dh_1 = out_0 * C + load(G, at), out_1 * C + load(G, at + LANES)
                        back_0, back_1 = load(a, now) * dh_0, load(a, now + LANES) * dh_1
                        store(G, at, back_0)
                        store(G, at + LANES, back_1)
                        h_0, h_1 = load(h, now + size), load(h, now + size + LANES)
                        channel_sums[block, i, k] = total(dh_0 * inflow_0 + dh_1 * inflow_1)
                        channel_sums[block, i, n + k] = total(out_0 * h_0 + out_1 * h_1)
                        if everything:
                            q_0, q_1 = back_0 * load(h, now), back_1 * load(h, now + LANES)
                            d_Delta_0 = d_Delta_0 + q_0 * load(A, at)
                            d_Delta_1 = d_Delta_1 + q_1 * load(A, at + LANES)
                            d_inflow_0 = d_inflow_0 + dh_0 * B
                            d_inflow_1 = d_inflow_1 + dh_1 * B
                            if want_coefficients:
                                store(d_A, at, load(d_A, at) + q_0 * Delta_0)
                                store(d_A, at + LANES, load(d_A, at + LANES) + q_1 * Delta_1)
                    if everything:
                        for v in range(0, CHANNELS, LANES):
                            d_Delta_v, d_inflow_v = (d_Delta_0, d_inflow_0) if v == 0 else (d_Delta_1, d_inflow_1)
                            out_v, u_v = load(d_rows, row + v), load(u_rows, row + v)
                            slope = sigmoid(load(delta_rows, row + v) + load(bias, v))
                            d_pre = (d_Delta_v * LN2 + d_inflow_v * u_v) * slope
                            store(d_bias, v, load(d_bias, v) + d_pre)
                            store(d_skip, v, load(d_skip, v) + out_v * u_v)
                            store(delta_rows, row + v, d_pre)
                            store(d_rows, row + v, d_inflow_v * load(Delta, row + v) + load(skip, v) * out_v)
                if want_inputs:
                    _put(d_rows, d_y, first, count, start, width)
                    _put(delta_rows, delta, first, count, start, width)
            if want_coefficients:
                sums = partials[blocks * t * 2 * n :].reshape((batch * (n + 2), d))
                _put(d_A, sums, b * (n + 2), n, start, width)
                _put(d_skip, sums, b * (n + 2) + n, 1, start, width)
                _put(d_bias, sums, b * (n + 2) + n + 1, 1, start, width)


@_inlined
def _silu(z):
    return z * sigmoid(z)


@_inlined
def _silu_slope(z):
    """The derivative of silu at z."""
    s = sigmoid(z)
    return s * (z * (ONE - s) + ONE)


@kernel
def gate(y, z, z_stride, g):
    """g = y * silu(z).  (t, d) each."""
    t, d = y.shape
    whole = d - d % LANES
    y_flat, g_flat = y.reshape(-1), g.reshape(-1)
    for i in prange(t):
        at, at_z = i * d, i * z_stride
        for j in range(0, whole, LANES):
            store(g_flat, at + j, load(y_flat, at + j) * _silu(load(z, at_z + j)))
        for j in range(whole, d):
            g_flat[at + j] = y_flat[at + j] * _silu(z[at_z + j])


@kernel
def gate_backward(d_g, y, z, z_stride, d_z, d_z_stride):
    """In place d_g -> d_y and y -> g; d_z where it is wanted (else it has no elements)."""
    t, d = y.shape
    whole = d - d % LANES
    y_flat, d_flat = y.reshape(-1), d_g.reshape(-1)
    for i in prange(t):
        at, at_z, at_d_z = i * d, i * z_stride, i * d_z_stride
        for j in range(0, whole, LANES):
            z_j, y_j, d_j = load(z, at_z + j), load(y_flat, at + j), load(d_flat, at + j)
            if d_z.size > 0:
                store(d_z, at_d_z + j, d_j * y_j * _silu_slope(z_j))
            silu = _silu(z_j)
            store(d_flat, at + j, d_j * silu)
            store(y_flat, at + j, y_j * silu)
        for j in range(whole, d):
            z1, y1, d1 = z[at_z + j], y_flat[at + j], d_flat[at + j]
            if d_z.size > 0:
                d_z[at_d_z + j] = d1 * y1 * _silu_slope(z1)
            silu1 = _silu(z1)
            d_flat[at + j] = d1 * silu1
            y_flat[at + j] = y1 * silu1
