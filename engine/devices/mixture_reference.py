"""The kernels of a mixture of experts in NumPy's float64; see `reference`, which has all the others."""

from __future__ import annotations

import itertools

import numpy as np

from engine.graph.kernels import SCALE_BLOCK, Scalars

Arrays = dict[str, np.ndarray]


def _softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x - np.logaddexp.reduce(x, axis=1, keepdims=True))


def route(logits, chosen, gates) -> Arrays:
    best = np.argsort(-logits, axis=1, kind="stable")[:, : chosen.shape[1]]
    return {"chosen": best.astype(np.int32), "gates": _softmax(np.take_along_axis(logits, best, axis=1))}


def route_backward(d_gates, gates, chosen, logits, pull, targets, d_logits) -> Arrays:
    d_chosen = gates * (d_gates - (gates * d_gates).sum(axis=1, keepdims=True))
    d_logits = np.zeros(logits.shape)
    np.put_along_axis(d_logits, chosen, d_chosen, axis=1)
    if pull is not None:
        chances = _softmax(logits)
        d_logits += (targets >= 0)[:, None] * chances * (pull - (chances @ pull)[:, None])
    return {"d_logits": d_logits}


def routing_sums(logits, chosen, targets, counts, chances) -> Arrays:
    (parts, e), t = counts.shape, len(logits)
    rows, counted = -(-t // parts), (targets >= 0)[:, None]
    chose = (chosen[:, :, None] == np.arange(e)).sum(axis=1) * counted
    likely = np.concatenate([_softmax(logits), np.ones((t, 1))], axis=1) * counted
    blocks = [slice(i * rows, (i + 1) * rows) for i in range(parts)]
    return {name: np.stack([x[b].sum(axis=0) for b in blocks]) for name, x in (("counts", chose), ("chances", likely))}


def balance(counts, chances, scalars, loss, pull, factor) -> Arrays:
    layers, e = counts.shape
    n = chances[0, e]
    F, P = (x.sum(axis=0) / (layers * max(n, 1)) for x in (counts, chances[:, :e]))
    added = np.array([factor * n * e * (F @ P)])
    return {"loss": loss + added, "pull": factor * scalars[Scalars.GRADIENT_SCALE] * e * F / layers}


def group_rows(chosen, order, tokens, places, starts) -> Arrays:
    flat = chosen.reshape(-1)
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat, minlength=starts.size - 1)
    results = {
        "order": order,
        "tokens": order // chosen.shape[1],
        "places": np.argsort(order).reshape(chosen.shape),
        "starts": np.concatenate([[0], np.cumsum(counts)]),
    }
    return {name: array.astype(np.int32) for name, array in results.items()}


def _experts(b, starts):
    """Each expert's rows, and its matrix."""
    return zip(itertools.starmap(slice, itertools.pairwise(starts)), np.split(b, starts.size - 1), strict=True)


def grouped_nt(a, b, starts, c) -> Arrays:
    return {"c": np.concatenate([a[rows] @ own.T for rows, own in _experts(b, starts)])}


def grouped_nn(a, b, starts, c, alpha) -> Arrays:
    return {"c": np.concatenate([alpha * a[rows] @ own for rows, own in _experts(b, starts)])}


def grouped_tn(a, b, starts, c, alpha, accumulate) -> Arrays:
    groups = _experts(c, starts)
    return {"c": np.concatenate([alpha * a[rows].T @ b[rows] + accumulate * own for rows, own in groups])}


def _gate_of_rows(gates, order):
    return gates.reshape(-1, 1) if order is None else gates.reshape(-1, 1)[order]


def routed_swiglu(joined, gates, order, g) -> Arrays:
    z, u = np.split(joined, 2, axis=1)
    return {"g": u * z * np.exp(-np.logaddexp(0, -z)) * _gate_of_rows(gates, order)}


def routed_swiglu_backward(d_g, joined, gates, order, g, d_gates) -> Arrays:
    (z, u), gate = np.split(joined, 2, axis=1), _gate_of_rows(gates, order)
    s = np.exp(-np.logaddexp(0, -z))
    d_joined = gate * np.concatenate([d_g * u * s * (1 + z * (1 - s)), d_g * z * s], axis=1)
    d_gates = np.zeros(gates.size)
    d_gates[order] = (d_g * u * z * s).sum(axis=1)
    return {"joined": d_joined, "g": u * z * s * gate, "d_gates": d_gates.reshape(gates.shape)}


def combine(rows, places, y, factor) -> Arrays:
    own = rows.reshape(len(y), -1, y.shape[1]) if places is None else rows[places]
    return {"y": y + factor * own.sum(axis=1)}


def expert_rows_nt(inputs, b, chosen, c) -> Arrays:
    flat = chosen.reshape(-1)
    own = b.reshape(-1, c.shape[1], b.shape[1])[flat]
    return {"c": np.einsum("ri,rji->rj", np.repeat(inputs, flat.size // len(inputs), axis=0), own)}


def expert_rows_nt_float16(inputs, b, chosen, c) -> Arrays:
    return expert_rows_nt(inputs, b.astype(np.float64), chosen, c)


def expert_rows_nt_int8(inputs, b, chosen, c, scales) -> Arrays:
    wide = b.view(np.int8).reshape(*scales.shape, SCALE_BLOCK) * scales[:, :, None]
    return expert_rows_nt(inputs, wide.reshape(len(b), -1)[:, : inputs.shape[1]], chosen, c)
