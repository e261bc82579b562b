"""The kernels of the dense decoder in NumPy's float64; see `reference`, which has all the others."""

from __future__ import annotations

import numpy as np

Arrays = dict[str, np.ndarray]


def scale(x, rows, columns, factor) -> Arrays:
    return {"x": x * factor}


def rope(x, reach, rotations, head_dim, sign) -> Arrays:
    heads = x.reshape(len(x), -1, 2, head_dim // 2)
    cos, sin = np.split(rotations[reach[:, 0]], 2, axis=1)
    cos, sin = cos[:, None], sign * sin[:, None]
    low, high = heads[:, :, 0], heads[:, :, 1]
    return {"x": np.stack([low * cos - high * sin, high * cos + low * sin], axis=2).reshape(x.shape)}


def _by_head(q, k, v, head_dim):
    """q (heads, t, head_dim), and k and v repeated for every query head that shares them."""
    q, k, v = (x.reshape(len(x), -1, head_dim).transpose(1, 0, 2).astype(np.float64) for x in (q, k, v))
    return q, np.repeat(k, len(q) // len(k), axis=0), np.repeat(v, len(q) // len(v), axis=0)


def _flat(heads):
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


def _scores(q, k, reach, scale):
    key = np.arange(k.shape[1])
    seen = (key >= reach[:, 1:2]) & (key < reach[:, 2:3])
    return np.where(seen, scale * q @ k.transpose(0, 2, 1), -np.inf)


def attention(q, k, v, reach, y, sums, head_dim, scale) -> Arrays:
    q, k, v = _by_head(q, k, v, head_dim)
    scores = _scores(q, k, reach, scale)
    log_sums = np.logaddexp.reduce(scores, axis=2)
    sums = sums.copy()
    sums[:, : len(q)] = log_sums.T
    return {"y": _flat(np.exp(scores - log_sums[:, :, None]) @ v), "sums": sums}


def attention_cached(q, k, v, reach, y, head_dim, scale) -> Arrays:
    sums = np.zeros((len(q), 2 * q.shape[1] // head_dim))
    return {"y": attention(q, k, v, reach, y, sums, head_dim, scale)["y"]}


def attention_deltas(d_y, y, sums, head_dim) -> Arrays:
    sums = sums.copy()
    sums[:, sums.shape[1] // 2 :] = (d_y * y).reshape(len(y), -1, head_dim).sum(axis=2)
    return {"sums": sums}


def _backward(d_y, q, k, v, reach, sums, head_dim, scale):
    d_y = d_y.reshape(len(d_y), -1, head_dim).transpose(1, 0, 2)
    q, k, v = _by_head(q, k, v, head_dim)
    log_sums, deltas = np.split(sums.T[:, :, None], 2)
    chances = np.exp(_scores(q, k, reach, scale) - log_sums)
    d_scores = scale * chances * (d_y @ v.transpose(0, 2, 1) - deltas)
    return d_y, q, k, chances, d_scores


def attention_backward_queries(d_y, q, k, v, reach, sums, d_q, head_dim, scale) -> Arrays:
    *_, k, _, d_scores = _backward(d_y, q, k, v, reach, sums, head_dim, scale)
    return {"d_q": _flat(d_scores @ k)}


def attention_backward_keys(d_y, q, k, v, reach, sums, d_k, d_v, head_dim, scale, length) -> Arrays:
    groups = k.shape[1] // head_dim
    d_y, q, _, chances, d_scores = _backward(d_y, q, k, v, reach, sums, head_dim, scale)

    def shared(heads):
        return _flat(heads.reshape(groups, -1, *heads.shape[1:]).sum(axis=1))

    return {"d_k": shared(d_scores.transpose(0, 2, 1) @ q), "d_v": shared(chances.transpose(0, 2, 1) @ d_y)}


def cache_append(x, reach, cache) -> Arrays:
    cache = cache.copy()
    with np.errstate(over="ignore"):
        cache[reach[:, 2] - 1] = x
    return {"cache": cache}


def swiglu(x, g) -> Arrays:
    z, u = np.split(x, 2, axis=1)
    return {"g": u * z * np.exp(-np.logaddexp(0, -z))}


def swiglu_backward(d_g, x, g) -> Arrays:
    z, u = np.split(x, 2, axis=1)
    s = np.exp(-np.logaddexp(0, -z))
    return {"x": np.concatenate([d_g * u * s * (1 + z * (1 - s)), d_g * z * s], axis=1), "g": u * z * s}
