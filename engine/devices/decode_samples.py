"""Small inputs for the decoding kernels; `samples` has those of the others."""

from __future__ import annotations

import numpy as np

from engine.devices.sample_parts import Sizes, normal, sample
from engine.graph.kernels import FEW_TOKENS, SCALE_BLOCK, TOP


def tokens(s: Sizes) -> int:
    """How many tokens a sample of these sizes has."""
    return min(s.t, FEW_TOKENS)


def _carry_history(random, s, given):
    return sample(
        "carry_history", s, given, {}, {"x": (0, s.d)},
        x=normal(random, s.l, s.d), history=normal(random, max(1, s.k - 1), s.d),
    )  # fmt: skip


def _carry_state(random, s, given):
    kept, state = normal(random, s.b + 1, s.n, s.d), normal(random, s.n, s.d)
    return sample("carry_state", s, given, {}, kept=kept, state=state)


def _causal_conv_silu_tokens(random, s, given):
    return sample(
        "causal_conv_silu_tokens", s, given, {}, {"x": (0, s.d)},
        x=normal(random, tokens(s), s.d), weight=normal(random, s.d, s.k), bias=normal(random, s.d),
        history=normal(random, s.k - 1, s.d) if s.k > 1 else None,
        y=np.zeros((tokens(s), s.d), np.float32),
    )  # fmt: skip


def _selective_scan_tokens(random, s, given):
    coefficients = normal(random, s.n + 2, s.d)
    coefficients[: s.n] = -np.exp(coefficients[: s.n])
    coefficients[s.n + 1] -= 3  # Delta from about 0.005 to 0.5
    return sample(
        "selective_scan_tokens", s, given, {"rank": s.r},
        u=normal(random, tokens(s), s.d), delta=normal(random, tokens(s), s.d),
        x_dbl=normal(random, tokens(s), s.r + 2 * s.n), coefficients=coefficients,
        state=normal(random, s.n, s.d), y=np.zeros((tokens(s), s.d), np.float32),
    )  # fmt: skip


def _product(kernel):
    def make(random, s, given):
        t, words, scales = tokens(s), *bytes_of(random, s.v, s.d)
        weights = {"b": words, "scales": scales}
        if kernel == "matmul_nt_float16":
            weights = {"b": normal(random, s.v, s.d).astype(np.float16)}
        return sample(
            kernel, s, given, {"alpha": 0.5, "accumulate": 1}, {"a": (4, 4), "c": (8, 1), "addend": (1, 2)},
            a=normal(random, t, s.d), c=normal(random, t, s.v), addend=normal(random, t, s.v),
            bias=normal(random, s.v), **weights,
        )  # fmt: skip

    return make


def bytes_of(random, rows: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights (rows, k) in 8 bits: words and scales; the largest of each block is 127 or -127."""
    blocks = -(-k // SCALE_BLOCK)
    whole = random.integers(-127, 128, (rows, blocks * SCALE_BLOCK), dtype=np.int8)
    whole[:, ::SCALE_BLOCK] = 127 - 254 * random.integers(0, 2, (rows, blocks), dtype=np.int16)
    whole[:, k:] = 0
    return whole.view(np.int32), (0.01 * random.uniform(1, 2, (rows, blocks))).astype(np.float32)


def _narrow_int8(random, s, given):
    """No number is near the middle between two bytes: a quotient that is off in its last bit still rounds the same."""
    words, scales = bytes_of(random, s.t, s.d)
    off = random.uniform(-0.4, 0.4, (s.t, s.d))
    off[:, ::SCALE_BLOCK] = 0
    x = (words.view(np.int8)[:, : s.d] + off) * np.repeat(scales, SCALE_BLOCK, axis=1)[:, : s.d]
    x[-1, : SCALE_BLOCK + 1] = 0
    return sample(
        "narrow_int8", s, given, {},
        x=x.astype(np.float32), words=np.zeros_like(words), scales=np.zeros_like(scales),
    )  # fmt: skip


def _widen_int8(random, s, given):
    words, scales = bytes_of(random, s.t, s.d)
    return sample("widen_int8", s, given, {}, words=words, scales=scales, y=np.zeros((s.t, s.d), np.float32))


def _argmax(random, s, given):
    logits = np.round(normal(random, tokens(s), s.v), 1)  # several are equal
    return sample("argmax", s, given, {}, logits=logits, best=np.zeros(tokens(s), np.int32))


def _top_k(random, s, given):
    logits = np.round(normal(random, tokens(s), s.v, scale=4), 1)
    return sample("top_k", s, given, {}, logits=logits, best=np.zeros((tokens(s), 1 + 2 * 5), np.float32))


def _penalise_recent(random, s, given):
    recent = random.integers(-1, s.v, s.t, dtype=np.int32)  # several are equal
    return sample(
        "penalise_recent", s, given, {}, logits=normal(random, 1, s.v), recent=recent,
        chosen=np.stack([recent[:3], np.ones_like(recent[:3])], axis=1), settings=SETTINGS,
    )  # fmt: skip


def _choose_token(random, s, given):
    logits = normal(random, 1, s.v, scale=3)
    return sample(
        "choose_token", s, given, {}, logits=logits, best=best_of(logits, min(s.v, TOP)), settings=SETTINGS,
        chances=np.array([0.37], np.float32), chosen=np.zeros((1, 2), np.int32),
    )  # fmt: skip


SETTINGS = np.array([0.8, 20, 0.9, 0.01, 1.3], np.float32)  # temperature, top-k, top-p, min-p, penalty


def best_of(logits: np.ndarray, k: int) -> np.ndarray:
    """(1, 1 + 2k) as top_k leaves it."""
    order = np.argsort(-logits[0], kind="stable")[:k]
    log_sum = np.logaddexp.reduce(logits[0].astype(np.float64))
    return np.concatenate([[log_sum], logits[0, order], order])[None].astype(np.float32)


MAKERS = {
    "carry_history": _carry_history,
    "carry_state": _carry_state,
    "causal_conv_silu_tokens": _causal_conv_silu_tokens,
    "selective_scan_tokens": _selective_scan_tokens,
    "matmul_nt_float16": _product("matmul_nt_float16"),
    "matmul_nt_int8": _product("matmul_nt_int8"),
    "narrow_int8": _narrow_int8,
    "widen_int8": _widen_int8,
    "argmax": _argmax,
    "top_k": _top_k,
    "penalise_recent": _penalise_recent,
    "choose_token": _choose_token,
}
