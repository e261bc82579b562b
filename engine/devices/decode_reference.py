"""The decoding kernels in NumPy's float64; `reference` has the others."""

from __future__ import annotations

import numpy as np

from engine.graph.kernels import SCALE_BLOCK

Arrays = dict[str, np.ndarray]


def carry_history(x, history) -> Arrays:
    return {"history": np.concatenate([history, x])[len(x) :]}


def carry_state(kept, state) -> Arrays:
    return {"state": kept[-1]}


def causal_conv_silu_tokens(x, weight, bias, history, y) -> Arrays:
    taps, width = weight.shape[1], len(weight)
    before = np.zeros((0, width)) if history is None else history
    padded = np.concatenate([before, x])
    v = np.zeros(x.shape) if bias is None else np.tile(bias, (len(x), 1))
    for j in range(taps):
        v = v + weight[:, j] * padded[j : j + len(x)]
    results = {"y": v * np.exp(-np.logaddexp(0, -v))}
    if history is not None:
        results["history"] = padded[len(x) :]
    return results


def selective_scan_tokens(u, delta, x_dbl, coefficients, state, y, rank) -> Arrays:
    A, (D, dt_bias) = coefficients[:-2], coefficients[-2:]
    B, C = np.split(x_dbl[:, int(rank) :, None], 2, axis=1)
    Delta = np.logaddexp(0, delta + dt_bias)
    h, out = state, []
    for i in range(len(u)):
        h = np.exp(Delta[i] * A) * h + Delta[i] * u[i] * B[i]
        out.append((h * C[i]).sum(axis=0) + D * u[i])
    return {"state": h, "y": np.array(out)}


def matmul_nt_float16(a, b, c, addend, bias, alpha, accumulate) -> Arrays:
    result = alpha * (a @ b.astype(np.float64).T)
    for term in (addend, bias, c if accumulate else None):
        if term is not None:
            result = result + term
    return {"c": result}


def matmul_nt_int8(a, b, c, addend, bias, scales, alpha, accumulate) -> Arrays:
    weights = widen_int8(b, scales, np.empty((len(b), a.shape[1])))["y"]
    return matmul_nt_float16(a, weights, c, addend, bias, alpha, accumulate)


def narrow_int8(x, words, scales) -> Arrays:
    whole = np.pad(x, ((0, 0), (0, -x.shape[1] % SCALE_BLOCK))).reshape(len(x), -1, SCALE_BLOCK)
    scale = np.abs(whole).max(axis=2) / 127
    quotients = whole / np.where(scale > 0, scale, 1)[:, :, None]
    return {"words": np.rint(quotients).astype(np.int8).reshape(len(x), -1), "scales": scale}


def widen_int8(words, scales, y) -> Arrays:
    whole = np.ascontiguousarray(words).view(np.int8) * np.repeat(scales, SCALE_BLOCK, axis=1)
    return {"y": whole[:, : y.shape[1]]}


def argmax(logits, best) -> Arrays:
    return {"best": logits.argmax(axis=1).astype(np.int32)}


def top_k(logits, best) -> Arrays:
    rows, k = len(logits), (best.shape[1] - 1) // 2
    order = np.argsort(-logits, axis=1, kind="stable")[:, :k]
    values, ids = np.zeros((rows, k)), np.full((rows, k), -1.0)
    values[:, : order.shape[1]], ids[:, : order.shape[1]] = np.take_along_axis(logits, order, axis=1), order
    return {"log_sum": np.logaddexp.reduce(logits, axis=1), "values": values, "indices": ids}


def penalise_recent(logits, recent, chosen, settings) -> Arrays:
    tokens = np.unique(np.concatenate([recent, np.empty(0) if chosen is None else chosen[:, 0]])).astype(int)
    lowered, tokens = logits.copy(), tokens[tokens >= 0]
    found = logits[0, tokens]
    lowered[0, tokens] = np.where(found > 0, found / settings[4], found * settings[4])
    return {"logits": lowered}


def choose_token(logits, best, settings, chances, chosen) -> Arrays:
    """Sorts all tokens; `best` only says how many of them the kernel is shown."""
    scores, (temperature, top_k, top_p, min_p) = logits[0], settings[:4]
    order = np.argsort(-scores, kind="stable")
    if temperature == 0:
        return {"chosen": np.array([[order[0], 1]])}
    left = order[: int(top_k)] if top_k else order
    shares = np.exp((scores - scores.max()) / temperature)
    together = np.cumsum(shares[left])
    if top_p < 1:
        left = left[: max(1, np.searchsorted(together, top_p * together[-1]) + 1)]
    if (best.shape[1] - 1) // 2 < len(left) < len(scores):
        return {"chosen": np.array([[order[0], 0]])}
    left = np.sort(left[shares[left] >= min_p])
    together = np.cumsum(shares[left])
    return {"chosen": np.array([[left[np.searchsorted(together, chances[0] * together[-1], side="right")], 1]])}
