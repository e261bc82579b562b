"""Small inputs for the kernels of the dense decoder; see `samples`, which has those of all the others.

A head has `n` channels (an even number) and there are `r` key heads, each shared by two query heads; every sequence
holds two documents that do not see each other.
"""

from __future__ import annotations

import numpy as np

from engine.devices.sample_parts import Sizes, normal, sample

SHARE = 2


def head_dim(s: Sizes) -> int:
    return s.n + s.n % 2


def packed_reach(s: Sizes) -> np.ndarray:
    """reach (t, 3) of b sequences with two documents each: position, first key, past the last key."""
    token = np.arange(s.t)
    border = -(-s.l // 2)
    start = token // s.l * s.l + np.where(token % s.l >= border, border, 0)
    return np.stack([token - start, start, token + 1], axis=1).astype(np.int32)


def rotations(positions: int, width: int) -> np.ndarray:
    """Cosines and sines (positions, width) of rotary embeddings."""
    angles = np.arange(positions)[:, None] * 100.0 ** -(np.arange(width // 2) / (width // 2))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def _scale(random, s, given):
    numbers = {"rows": s.t, "columns": s.m, "factor": 0.25}
    return sample("scale", s, given, numbers, {"x": (s.d, 1)}, x=normal(random, s.t, s.m))


def _rope(random, s, given):
    h = head_dim(s)
    return sample(
        "rope", s, given, {"head_dim": h, "sign": 1},
        x=normal(random, s.t, s.r * h), reach=packed_reach(s), rotations=rotations(s.l, h),
    )  # fmt: skip


def _swiglu(random, s, given):
    return sample("swiglu", s, given, {}, x=normal(random, s.t, 2 * s.d, scale=3), g=np.zeros((s.t, s.d), np.float32))


def _swiglu_backward(random, s, given):
    return sample(
        "swiglu_backward", s, given, {},
        d_g=normal(random, s.t, s.d), x=normal(random, s.t, 2 * s.d, scale=3), g=np.zeros((s.t, s.d), np.float32),
    )  # fmt: skip


def _heads(random, s) -> dict[str, np.ndarray]:
    h = head_dim(s)
    q = normal(random, s.t, SHARE * s.r * h)
    return {"q": q, "k": normal(random, s.t, s.r * h), "v": normal(random, s.t, s.r * h), "reach": packed_reach(s)}


def _attention(random, s, given):
    operands = _heads(random, s)
    return sample(
        "attention", s, given, {"head_dim": head_dim(s), "scale": head_dim(s) ** -0.5}, **operands,
        y=np.zeros_like(operands["q"]), sums=np.zeros((s.t, 2 * SHARE * s.r), np.float32),
    )  # fmt: skip


def _attention_deltas(random, s, given):
    width = SHARE * s.r * head_dim(s)
    return sample(
        "attention_deltas", s, given, {"head_dim": head_dim(s)},
        d_y=normal(random, s.t, width), y=normal(random, s.t, width), sums=normal(random, s.t, 2 * SHARE * s.r),
    )  # fmt: skip


def _backward(random, s):
    """Operands of both halves of the backward, with sums as the forward leaves them."""
    from engine.devices.attention_reference import attention, attention_deltas

    operands, numbers = _heads(random, s), {"head_dim": head_dim(s), "scale": head_dim(s) ** -0.5}
    wide = {name: array.astype(np.float64) for name, array in operands.items() if name != "reach"}
    sums = np.zeros((s.t, 2 * SHARE * s.r))
    forward = attention(**wide, reach=operands["reach"], y=None, sums=sums, **numbers)
    d_y = normal(random, s.t, operands["q"].shape[1])
    sums = attention_deltas(d_y.astype(np.float64), forward["y"], forward["sums"], numbers["head_dim"])["sums"]
    return {"d_y": d_y, **operands, "sums": sums.astype(np.float32)}, numbers


def _attention_backward_queries(random, s, given):
    operands, numbers = _backward(random, s)
    return sample("attention_backward_queries", s, given, numbers, **operands, d_q=np.zeros_like(operands["q"]))


def _attention_backward_keys(random, s, given):
    operands, numbers = _backward(random, s)
    d_k, d_v = np.zeros_like(operands["k"]), np.zeros_like(operands["v"])
    return sample("attention_backward_keys", s, given, {**numbers, "length": s.l}, **operands, d_k=d_k, d_v=d_v)


def _cache_append(random, s, given):
    """Two more rows stand before the first token, and stay."""
    width = s.r * head_dim(s)
    reach = np.stack([np.arange(s.t) + 2, np.zeros(s.t), np.arange(s.t) + 3], axis=1).astype(np.int32)
    x = normal(random, s.t, width, scale=10)
    x.reshape(-1)[:4] = np.float32([0, 1e-7, 6e-8, 65504])[: x.size]
    cache = normal(random, s.t + 2, width).astype(np.float16)
    return sample("cache_append", s, given, {}, x=x, reach=reach, cache=cache)


def _attention_cached(random, s, given):
    operands = _heads(random, s)
    halves = {name: operands[name].astype(np.float16) for name in ("k", "v")}
    return sample(
        "attention_cached", s, given, {"head_dim": head_dim(s), "scale": head_dim(s) ** -0.5},
        **{**operands, **halves}, y=np.zeros_like(operands["q"]),
    )  # fmt: skip


MAKERS = {
    "scale": _scale,
    "rope": _rope,
    "attention": _attention,
    "attention_deltas": _attention_deltas,
    "attention_backward_queries": _attention_backward_queries,
    "attention_backward_keys": _attention_backward_keys,
    "cache_append": _cache_append,
    "attention_cached": _attention_cached,
    "swiglu": _swiglu,
    "swiglu_backward": _swiglu_backward,
}
