"""Embedding, norm, rotation, gated MLP, convolution and loss on the CPU, forward and backward."""

from __future__ import annotations

import numpy as np
from numba import prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.simd import LANES, load, spread, store, total
from engine.devices.cpu.vector_math import ONE, ZERO, exp, f32, sigmoid
from engine.graph.kernels import SCALE_BLOCK


@kernel
def embedding_gather(ids, table, y, first_row):
    """y[i] = table[ids[i] - first_row] where that row is in this block."""
    for i in prange(ids.size):
        row = ids[i] - first_row
        if 0 <= row < table.shape[0]:
            for j in range(table.shape[1]):
                y[i, j] = table[row, j]


def embedding_gather_float16(ids, table, y, first_row):
    """The same from float16 (rows, m), which Numba does not know."""
    rows = ids - first_row
    here = (rows >= 0) & (rows < len(table))
    y[here] = table[rows[here]]


@kernel
def embedding_gather_int8(ids, words, scales, y, first_row):
    """The same from bytes, four to a word, and their scales."""
    as_bytes = words.view(np.int8)
    for i in prange(ids.size):
        row = ids[i] - first_row
        if 0 <= row < words.shape[0]:
            for j in range(y.shape[1]):
                y[i, j] = f32(as_bytes[row, j]) * scales[row, j // SCALE_BLOCK]


@kernel
def embedding_scatter(ids, order, d_y, d_table, first_row):
    """d_table[ids[i] - first_row] += d_y[i]; a task is a range of columns, so equal ids meet in order of position."""
    rows, m = d_table.shape
    tasks = (m + 15) // 16
    for task in prange(tasks):
        low, high = task * 16, min(m, task * 16 + 16)
        for p in range(order.size):
            row = ids[order[p]] - first_row
            if 0 <= row < rows:
                for j in range(low, high):
                    d_table[row, j] += d_y[order[p], j]


@kernel
def embedding_store(ids, x, table, first_row):
    """table[ids[i] - first_row] = x[i] where that row is in this block."""
    for i in prange(ids.size):
        row = ids[i] - first_row
        if 0 <= row < table.shape[0]:
            for j in range(table.shape[1]):
                table[row, j] = x[i, j]


@kernel
def gather_columns(ids, x, y):
    """y (i, j) = x (i, ids[j])."""
    for i in prange(x.shape[0]):
        for j in range(ids.size):
            y[i, j] = x[i, ids[j]]


@kernel
def rmsnorm(x, scale, y, inverse_rms, epsilon):
    """y = scale * x * inverse_rms.  scale: (g*m,)."""
    t, m = x.shape
    groups = scale.size // m
    for i in prange(t):
        total = ZERO
        for j in range(m):
            total += x[i, j] * x[i, j]
        r = ONE / np.sqrt(total / f32(m) + f32(epsilon))
        inverse_rms[i] = r
        for j in range(m):
            y[i, j] = x[i, j] * r * scale[i % groups * m + j]


@kernel
def rmsnorm_backward(d_y, x, scale, inverse_rms, d_x, d_scale, accumulate):
    """d_x (+)= r (w - x r^2 mean(w x)) with w = d_y * scale.

    d_scale (p, g*m): the sum of d_y x r over each block of rows, by the part of scale that a row takes.
    """
    t, m = x.shape
    groups = scale.size // m
    parts = d_scale.shape[0] if d_scale.shape[0] > 0 else (t + 63) // 64
    rows = (t + parts - 1) // parts
    whole = m - m % LANES
    x_flat, d_y_flat, d_x_flat = x.reshape(-1), d_y.reshape(-1), d_x.reshape(-1)
    for part in prange(parts):
        sums = np.zeros(groups * m, f32)
        for i in range(part * rows, min(t, part * rows + rows)):
            r, at, row = inverse_rms[i], i % groups * m, i * m
            dots = spread(ZERO)
            for j in range(0, whole, LANES):
                dots = dots + load(d_y_flat, row + j) * load(scale, at + j) * load(x_flat, row + j)
            dot = total(dots)
            for j in range(whole, m):
                dot += d_y_flat[row + j] * scale[at + j] * x_flat[row + j]
            mean = dot * r * r / f32(m)
            for j in range(0, whole, LANES):
                d, x_j = load(d_y_flat, row + j), load(x_flat, row + j)
                d_x_j = (d * load(scale, at + j) - x_j * mean) * r
                if accumulate:
                    d_x_j = load(d_x_flat, row + j) + d_x_j
                store(d_x_flat, row + j, d_x_j)
                store(sums, at + j, load(sums, at + j) + d * x_j * r)
            for j in range(whole, m):
                d1, x1 = d_y_flat[row + j], x_flat[row + j]
                before = d_x_flat[row + j] if accumulate else ZERO
                d_x_flat[row + j] = before + r * (d1 * scale[at + j] - x1 * mean)
                sums[at + j] += d1 * x1 * r
        if d_scale.shape[0] > 0:
            d_scale[part, :] = sums


@kernel
def scale(x, x_stride, rows, columns, factor):
    """x (rows, columns) *= factor."""
    for i in prange(rows):
        for j in range(i * x_stride, i * x_stride + columns):
            x[j] *= f32(factor)


@kernel
def rope(x, reach, rotations, head_dim, sign):
    """Rotate the halves of every head of x (t, heads * head_dim) by the angles of its token's position."""
    t, width = x.shape
    half = head_dim // 2
    for i in prange(t):
        at = reach[i, 0]
        for h in range(0, width, head_dim):
            for j in range(half):
                c, s = rotations[at, j], rotations[at, half + j] * f32(sign)
                low, high = x[i, h + j], x[i, h + half + j]
                x[i, h + j] = low * c - high * s
                x[i, h + half + j] = high * c + low * s


@kernel
def swiglu(x, g):
    """g (t, f) = silu(x[:, :f]) * x[:, f:]."""
    t, f = g.shape
    for i in prange(t):
        for j in range(f):
            g[i, j] = x[i, f + j] * x[i, j] * sigmoid(x[i, j])


@kernel
def swiglu_backward(d_g, x, g):
    """In place: x (t, 2f) becomes its own gradient; g is computed again."""
    t, f = g.shape
    for i in prange(t):
        for j in range(f):
            z, u, d = x[i, j], x[i, f + j], d_g[i, j]
            s = sigmoid(z)
            g[i, j] = u * z * s
            x[i, j] = d * u * s * (ONE + z * (ONE - s))
            x[i, f + j] = d * z * s


@kernel
def causal_conv_silu(x, x_stride, weight, bias, history, y, length):
    """y = silu(bias + sum_j weight[:, j] x[t-k+1+j]).  history (b, k-1, d) comes before the start."""
    t, d = y.shape
    taps = weight.shape[1]
    whole = d - d % LANES
    w, before, y_flat = np.ascontiguousarray(weight.T).reshape(-1), history.reshape(-1), y.reshape(-1)
    for i in prange(t):
        s, b = i % length, i // length
        at_history = (b * (taps - 1) + s) * d
        for j in range(0, whole, LANES):
            v = load(bias, j) if bias.size else spread(ZERO)
            for k in range(taps):
                back = taps - 1 - k
                if back <= s:
                    v = v + load(w, k * d + j) * load(x, (i - back) * x_stride + j)
                elif before.size:
                    v = v + load(w, k * d + j) * load(before, at_history + k * d + j)
            store(y_flat, i * d + j, v * sigmoid(v))
        for j in range(whole, d):
            v1 = bias[j] if bias.size else ZERO
            for k in range(taps):
                back = taps - 1 - k
                if back <= s:
                    v1 += w[k * d + j] * x[(i - back) * x_stride + j]
                elif before.size:
                    v1 += w[k * d + j] * before[at_history + k * d + j]
            y_flat[i * d + j] = v1 * sigmoid(v1)


@kernel
def causal_conv_silu_backward(d_y, x, x_stride, weight, bias, d_x, d_x_stride, d_weight, d_bias, length):
    """d_x (t, d), d_weight (b, d, k) and d_bias (b, d); absent outputs have no elements.

    A task is a sequence and sixteen channels; x and d_v of the last k tokens are kept in two windows, newest last.
    """
    t, d = d_y.shape
    taps = weight.shape[1]
    blocks = (d + LANES - 1) // LANES
    newest = (taps - 1) * LANES
    flat_d_y = d_y.reshape(-1)
    for task in prange(t // length * blocks):
        b, start = task // blocks, (task % blocks) * LANES
        width = min(LANES, d - start)
        w, shift = np.zeros(taps * LANES, f32), np.zeros(LANES, f32)
        x_window, d_window = np.zeros(taps * LANES, f32), np.zeros(taps * LANES, f32)
        sums = np.zeros((taps + 1) * LANES, f32)
        row = np.zeros(LANES, f32)
        for j in range(width):
            for k in range(taps):
                w[k * LANES + j] = weight[start + j, k]
            if bias.size:
                shift[j] = bias[start + j]
        for s in range(length + taps - 1):
            for k in range(0, newest, LANES):
                store(x_window, k, load(x_window, k + LANES))
                store(d_window, k, load(d_window, k + LANES))
            d_v = spread(ZERO)
            if s < length:
                i = b * length + s
                at = i * x_stride + start
                if width == LANES:
                    store(x_window, newest, load(x, at))
                    store(row, 0, load(flat_d_y, i * d + start))
                else:
                    for j in range(width):
                        x_window[newest + j] = x[at + j]
                        row[j] = flat_d_y[i * d + start + j]
                v = load(shift, 0)
                for k in range(0, taps * LANES, LANES):
                    v = v + load(w, k) * load(x_window, k)
                gate = sigmoid(v)
                d_v = load(row, 0) * gate * (v * (ONE - gate) + ONE)
                for k in range(0, taps * LANES, LANES):
                    store(sums, k, load(sums, k) + d_v * load(x_window, k))
                store(sums, taps * LANES, load(sums, taps * LANES) + d_v)
            store(d_window, newest, d_v)
            if d_x.size and s >= taps - 1:
                d_x_v = spread(ZERO)
                for k in range(taps):
                    d_x_v = d_x_v + load(w, k * LANES) * load(d_window, newest - k * LANES)
                at = (b * length + s - taps + 1) * d_x_stride + start
                if width == LANES:
                    store(d_x, at, d_x_v)
                else:
                    store(row, 0, d_x_v)
                    for j in range(width):
                        d_x[at + j] = row[j]
        for j in range(width):
            if d_weight.size:
                for k in range(taps):
                    d_weight[b, start + j, k] = sums[k * LANES + j]
            if d_bias.size:
                d_bias[b, start + j] = sums[taps * LANES + j]


@kernel
def cross_entropy(logits, targets, losses, scalars, want_gradient):
    """losses (t,); logits (t, v) become (softmax - onehot) * scalars[0] where want_gradient.

    A negative target counts for nothing.
    """
    t, v = logits.shape
    for i in prange(t):
        target = targets[i]
        if target < 0:
            losses[i] = ZERO
            if want_gradient:
                logits[i, :] = ZERO
            continue
        highest = logits[i, 0]
        for j in range(1, v):
            highest = logits[i, j] if logits[i, j] > highest else highest
        at_target = logits[i, target]
        total = ZERO
        if want_gradient:
            for j in range(v):
                e = exp(logits[i, j] - highest)
                logits[i, j] = e
                total += e
            factor = scalars[0] / total
            for j in range(v):
                logits[i, j] *= factor
            logits[i, target] -= scalars[0]
        else:
            for j in range(v):
                total += exp(logits[i, j] - highest)
        losses[i] = f32(np.log(total)) + highest - at_target
