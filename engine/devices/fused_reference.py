"""The kernels that do the work of several for one token, in NumPy's float64; `reference` has the others."""

from __future__ import annotations

import numpy as np

from engine.devices.attention_reference import cache_append, rope
from engine.devices.decode_reference import causal_conv_silu_tokens, selective_scan_tokens, widen_int8
from engine.devices.ssd_reference import ssd_tokens

Arrays = dict[str, np.ndarray]


def _silu(x: np.ndarray) -> np.ndarray:
    return x * np.exp(-np.logaddexp(0, -x))


def _normed(x, scale, epsilon) -> np.ndarray:
    return scale * x / np.sqrt((x**2).mean(axis=1, keepdims=True) + epsilon)


def _wide(matrix: np.ndarray, scales: np.ndarray | None, width: int) -> np.ndarray:
    if scales is None:
        return matrix.astype(np.float64)
    return widen_int8(matrix, scales, np.empty((len(matrix), width)))["y"]


def norm_matmul_nt(x, scale, b, c, addend, bias, epsilon, alpha, scales=None) -> Arrays:
    result = alpha * (_normed(x, scale, epsilon) @ _wide(b, scales, x.shape[1]).T)
    for term in (addend, bias):
        if term is not None:
            result = result + term
    return {"c": result}


def norm_matmul_conv(x, scale, b, c, weight, bias, history, epsilon, alpha, first, scales=None) -> Arrays:
    c = norm_matmul_nt(x, scale, b, c, None, None, epsilon, alpha, scales)["c"]
    columns = slice(int(first), int(first) + len(weight))
    results = causal_conv_silu_tokens(c[:, columns], weight, bias, history, None)
    c[:, columns] = results.pop("y")
    return {"c": c, **results}


def norm_gated(x, scale, gate, up, g, epsilon, gate_alpha, up_alpha, gate_scales=None, up_scales=None) -> Arrays:
    normed = _normed(x, scale, epsilon)
    low, high = (normed @ _wide(*each, x.shape[1]).T for each in ((gate, gate_scales), (up, up_scales)))
    return {"g": _silu(gate_alpha * low) * up_alpha * high}


def scan_gated(u, x_dbl, weight, coefficients, state, z, g, rank) -> Arrays:
    delta = x_dbl[:, : int(rank)] @ weight.T
    results = selective_scan_tokens(u, delta, x_dbl, coefficients, state, None, rank)
    return {"g": results.pop("y") * _silu(z), **results}


def ssd_gated(x, dt, coefficients, state, z, g, lowest, highest) -> Arrays:
    results = ssd_tokens(x, dt, coefficients, state, None, lowest, highest)
    return {"g": results.pop("y") * _silu(z), **results}


def kept_keys(q, k, v, reach, rotations, keys, values, head_dim) -> Arrays:
    q, k = (rope(row, reach, rotations, head_dim, 1)["x"] for row in (q, k))
    return {
        "q": q,
        "k": k,
        "keys": cache_append(k, reach, keys)["cache"],
        "values": cache_append(v, reach, values)["cache"],
    }


norm_matmul_nt_float16 = norm_matmul_nt_int8 = norm_matmul_nt
norm_matmul_conv_float16 = norm_matmul_conv_int8 = norm_matmul_conv
norm_gated_float16 = norm_gated_int8 = norm_gated
