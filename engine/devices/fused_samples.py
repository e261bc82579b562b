"""Small inputs for the kernels that do the work of several for one token; rows are as wide as these want them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.devices import ssd_samples
from engine.devices.decode_samples import bytes_of
from engine.devices.sample_parts import normal, sample
from engine.graph.fused_kernels import (
    FORMATS,
    KEPT_KEYS,
    NORM_GATED,
    NORM_MATMUL,
    NORM_MATMUL_CONV,
    SCAN_GATED,
    SSD_GATED,
)

WIDTHS = 16  # rows have a multiple of so many numbers


def _matrix(random, end: str, lines: int, width: int) -> tuple[np.ndarray, ...]:
    """In the format of a kernel's name, with its scales where it has any."""
    if end == "_int8":
        return bytes_of(random, lines, width)
    return (normal(random, lines, width).astype(np.float16 if end else np.float32),)


def _normed(random, width: int) -> dict[str, np.ndarray]:
    return {"x": normal(random, 1, width), "scale": 1 + normal(random, width, scale=0.3)}


def _norm_matmul(end):
    def make(random, s, given):
        b, *scales = _matrix(random, end, s.v, WIDTHS * s.m)
        return sample(
            NORM_MATMUL + end, s, given, {"epsilon": 1e-5, "alpha": 0.5},
            **_normed(random, WIDTHS * s.m), b=b, c=np.zeros((1, s.v), np.float32), addend=normal(random, 1, s.v),
            bias=normal(random, s.v), **dict(zip(("scales",), scales, strict=False)),
        )  # fmt: skip

    return make


def _norm_matmul_conv(end):
    def make(random, s, given):
        b, *scales = _matrix(random, end, s.d + 3, WIDTHS * s.m)
        return sample(
            NORM_MATMUL_CONV + end, s, given, {"epsilon": 1e-5, "alpha": 0.1, "first": 2},
            **_normed(random, WIDTHS * s.m), b=b, c=np.zeros((1, s.d + 3), np.float32),
            weight=normal(random, s.d, s.k), bias=normal(random, s.d),
            history=normal(random, s.k - 1, s.d) if s.k > 1 else None,
            **dict(zip(("scales",), scales, strict=False)),
        )  # fmt: skip

    return make


def _norm_gated(end):
    def make(random, s, given):
        matrices = {name: _matrix(random, end, s.v, WIDTHS * s.m) for name in ("gate", "up")}
        scales = {f"{name}_scales": matrix[1] for name, matrix in matrices.items() if end == "_int8"}
        return sample(
            NORM_GATED + end, s, given, {"epsilon": 1e-5, "gate_alpha": 0.2, "up_alpha": 0.5},
            **_normed(random, WIDTHS * s.m), **{name: matrix[0] for name, matrix in matrices.items()},
            g=np.zeros((1, s.v), np.float32), **scales,
        )  # fmt: skip

    return make


def _scan_gated(random, s, given):
    coefficients = normal(random, s.n + 2, s.d)
    coefficients[: s.n] = -np.exp(coefficients[: s.n])
    coefficients[s.n + 1] -= 3  # Delta from about 0.005 to 0.5
    rank = 4 * s.r
    return sample(
        SCAN_GATED, s, given, {"rank": rank}, {"u": (0, s.d), "z": (s.d, 0)},
        u=normal(random, 1, s.d), x_dbl=normal(random, 1, rank + 2 * s.n),
        weight=normal(random, s.d, rank, scale=rank**-0.5), coefficients=coefficients, state=normal(random, s.n, s.d),
        z=normal(random, 1, s.d), g=np.zeros((1, s.d), np.float32),
    )  # fmt: skip


def _ssd_gated(random, s, given):
    ungated = ssd_samples.MAKERS["ssd_tokens"](random, replace(s, b=1, l=1), given)
    operands = {name: array for name, array in ungated.operands.items() if name != "y"}
    inner = ungated.operands["y"].shape
    beside = {**ungated.beside, "z": (2, 1)}
    return sample(
        SSD_GATED, s, {}, ungated.numbers, beside,
        **operands, z=normal(random, *inner), g=np.zeros(inner, np.float32),
    )  # fmt: skip


def _kept_keys(random, s, given):
    """Numbers of few bits, turned by sines and cosines of few bits: exact however they are multiplied and added."""
    head_dim, rows = 4 * -(-s.n // 4), 5

    def of_few_bits(*shape, least=-127, most=128, unit=32):
        return (random.integers(least, most, shape) / unit).astype(np.float32)

    width = s.r * head_dim
    return sample(
        KEPT_KEYS, s, given, {"head_dim": head_dim},
        q=of_few_bits(1, 2 * width), k=of_few_bits(1, width), v=of_few_bits(1, width),
        reach=np.array([[2, 0, rows - 1]], np.int32),
        rotations=of_few_bits(rows, head_dim, least=-4, most=5, unit=4),
        keys=normal(random, rows, width).astype(np.float16), values=normal(random, rows, width).astype(np.float16),
    )  # fmt: skip


_STEMS = {NORM_MATMUL: _norm_matmul, NORM_MATMUL_CONV: _norm_matmul_conv, NORM_GATED: _norm_gated}
MAKERS = {stem + end: make(end) for stem, make in _STEMS.items() for end in FORMATS} | {
    SCAN_GATED: _scan_gated,
    SSD_GATED: _ssd_gated,
    KEPT_KEYS: _kept_keys,
}
