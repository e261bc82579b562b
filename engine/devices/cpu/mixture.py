"""A mixture of experts on the CPU: which expert gets which row, and what is done row by row.

The products of the experts are in `grouped_products`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.vector_math import ONE, ZERO, exp, f32, sigmoid
from engine.graph.kernels import Scalars

GRADIENT_SCALE = Scalars.GRADIENT_SCALE


@kernel
def route(logits, chosen, gates):
    """The k largest of each row, equal ones by index, and their softmax.  A row of NaN gets the first expert."""
    t, e = logits.shape
    k = chosen.shape[1]
    for i in prange(t):
        last_value, last = ZERO, -1
        total = ZERO
        for c in range(k):
            best, value = 0, f32(-np.inf)
            for j in range(e):
                x = logits[i, j]
                comes_later = last < 0 or x < last_value or (x == last_value and j > last)
                if comes_later and x > value:
                    best, value = j, x
            chosen[i, c] = best
            last_value, last = logits[i, best], best
            gates[i, c] = exp(logits[i, best] - logits[i, chosen[i, 0]])
            total += gates[i, c]
        for c in range(k):
            gates[i, c] /= total


@kernel
def route_backward(d_gates, gates, chosen, logits, pull, targets, d_logits):
    """d_logits (t, e): through the softmax over the chosen and, with `pull`, that over all."""
    t, e = logits.shape
    k = chosen.shape[1]
    for i in prange(t):
        for j in range(e):
            d_logits[i, j] = ZERO
        if pull.size and targets[i] >= 0:
            highest = logits[i, chosen[i, 0]]
            total, mean = ZERO, ZERO
            for j in range(e):
                chance = exp(logits[i, j] - highest)
                d_logits[i, j] = chance
                total += chance
                mean += chance * pull[j]
            mean /= total
            for j in range(e):
                d_logits[i, j] *= (pull[j] - mean) / total
        dot = ZERO
        for c in range(k):
            dot += gates[i, c] * d_gates[i, c]
        for c in range(k):
            d_logits[i, chosen[i, c]] += gates[i, c] * (d_gates[i, c] - dot)


@kernel
def routing_sums(logits, chosen, targets, counts, chances):
    """counts (p, e) and chances (p, e + 1) over blocks of rows whose target is not negative."""
    t, e = logits.shape
    parts = counts.shape[0]
    rows = (t + parts - 1) // parts
    for part in prange(parts):
        own = np.zeros(e, f32)
        for j in range(e):
            counts[part, j] = ZERO
            chances[part, j] = ZERO
        chances[part, e] = ZERO
        for i in range(part * rows, min(t, part * rows + rows)):
            if targets[i] < 0:
                continue
            highest, total = logits[i, chosen[i, 0]], ZERO
            for j in range(e):
                own[j] = exp(logits[i, j] - highest)
                total += own[j]
            for j in range(e):
                chances[part, j] += own[j] / total
            chances[part, e] += ONE
            for c in range(chosen.shape[1]):
                counts[part, chosen[i, c]] += ONE


@kernel
def balance(counts, chances, scalars, loss, pull, factor):
    """loss[0] += factor * n * e * F.P, and pull = what a chance adds to the loss."""
    layers, e = counts.shape
    n = chances[0, e]
    rows = f32(layers) * max(n, ONE)
    products = np.zeros(e, f32)
    for j in prange(e):
        count, chance = ZERO, ZERO
        for layer in range(layers):
            count += counts[layer, j]
            chance += chances[layer, j]
        products[j] = count / rows * (chance / rows)
        pull[j] = f32(factor) * scalars[GRADIENT_SCALE] * f32(e) * (count / rows) / f32(layers)
    total = ZERO
    for j in range(e):
        total += products[j]
    loss[0] += f32(factor) * n * f32(e) * total


@kernel
def group_rows(chosen, order, tokens, places, starts):
    """A counting sort: pairs of a token and an expert, by expert and then by token."""
    t, k = chosen.shape
    e = starts.size - 1
    for j in prange(e):
        before, own = 0, 0
        for i in range(t):
            for c in range(k):
                before += chosen[i, c] < j
                own += chosen[i, c] == j
        starts[j] = before
        if j == e - 1:
            starts[e] = before + own
        at = before
        for i in range(t):
            for c in range(k):
                if chosen[i, c] == j:
                    order[at] = i * k + c
                    tokens[at] = i
                    places[i, c] = at
                    at += 1


@kernel
def routed_swiglu(joined, gates, order, g):
    """g = silu(z) * u * the gate of the row."""
    rows, f = g.shape
    flat = gates.reshape(-1)
    for i in prange(rows):
        gate = flat[order[i]] if order.size else flat[i]
        for j in range(f):
            g[i, j] = joined[i, f + j] * joined[i, j] * sigmoid(joined[i, j]) * gate


@kernel
def routed_swiglu_backward(d_g, joined, gates, order, g, d_gates):
    """In place: joined becomes its own gradient; g is computed again."""
    rows, f = g.shape
    flat, d_flat = gates.reshape(-1), d_gates.reshape(-1)
    for i in prange(rows):
        gate = flat[order[i]]
        d_gate = ZERO
        for j in range(f):
            z, u, d = joined[i, j], joined[i, f + j], d_g[i, j]
            s = sigmoid(z)
            g[i, j] = u * z * s
            joined[i, j] = d * gate * u * s * (ONE + z * (ONE - s))
            joined[i, f + j] = d * gate * z * s
        for j in range(f):
            d_gate += d_g[i, j] * g[i, j]
            g[i, j] *= gate
        d_flat[order[i]] = d_gate


@kernel
def combine(rows, places, y, factor):
    """y += factor * the sum of each token's rows."""
    t, m = y.shape
    k = rows.shape[0] // t
    for i in prange(t):
        for c in range(k):
            at = np.int64(places[i, c]) if places.size else np.int64(i) * k + c
            for j in range(m):
                y[i, j] += f32(factor) * rows[at, j]
