"""Small inputs for every kernel; `single_kernel` runs one on a device.

The self-test runs them on an adapter and on the CPU device, the tests also in float64, and the CPU device runs them
once to compile its kernels. Sizes are odd on purpose, to catch what only works for multiples of a tile.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.devices import attention_samples, decode_samples, fused_samples, mixture_samples, ssd_samples
from engine.devices.decode_samples import bytes_of
from engine.devices.sample_parts import Sample, Sizes, normal, sample
from engine.graph.kernels import NORM_PARTS, STATE_INTERVAL, Scalars, Statistics


def make_sample(kernel: str, sizes: Sizes | None = None, seed: int = 0, **numbers: float) -> Sample:
    """A sample of `kernel`; `numbers` override the usual ones (flags such as accumulate)."""
    return _MAKERS[kernel](np.random.default_rng((seed, *kernel.encode())), sizes or Sizes(), numbers)


# ---- one function per kernel: (random, sizes, numbers) -> Sample

Maker = Callable[[np.random.Generator, Sizes, dict[str, float]], Sample]
_MAKERS: dict[str, Maker] = {}


def _maker(function: Maker) -> Maker:
    _MAKERS[function.__name__.removeprefix("_make_")] = function
    return function


@_maker
def _make_fill(random, s, given):
    return sample("fill", s, given, {"value": 0.5}, x=normal(random, s.t))


@_maker
def _make_embedding_gather(random, s, given):
    ids, table = random.integers(0, s.v, s.t, dtype=np.int32), normal(random, s.v // 2 + 1, s.m)
    return sample(
        "embedding_gather", s, given, {"first_row": s.v // 4}, ids=ids, table=table, y=normal(random, s.t, s.m)
    )


@_maker
def _make_embedding_gather_float16(random, s, given):
    plain = _make_embedding_gather(random, s, given)
    table = plain.operands["table"].astype(np.float16)
    return sample("embedding_gather_float16", s, plain.numbers, {}, **{**plain.operands, "table": table})


@_maker
def _make_embedding_gather_int8(random, s, given):
    ids, (words, scales) = random.integers(0, s.v, s.t, dtype=np.int32), bytes_of(random, s.v // 2 + 1, s.m)
    operands = {"ids": ids, "words": words, "scales": scales, "y": normal(random, s.t, s.m)}
    return sample("embedding_gather_int8", s, given, {"first_row": s.v // 4}, **operands)


@_maker
def _make_embedding_scatter(random, s, given):
    ids = random.integers(0, s.v, s.t, dtype=np.int32)
    order = np.argsort(ids, kind="stable").astype(np.int32)
    d_table = normal(random, s.v // 2 + 1, s.m)
    return sample(
        "embedding_scatter",
        s,
        given,
        {"first_row": s.v // 4},
        ids=ids,
        order=order,
        d_y=normal(random, s.t, s.m),
        d_table=d_table,
    )


@_maker
def _make_embedding_store(random, s, given):
    ids = random.permutation(s.v)[: s.v // 2 + 1].astype(np.int32)
    x, table = normal(random, ids.size, s.m), normal(random, s.v // 2 + 1, s.m)
    return sample("embedding_store", s, given, {"first_row": s.v // 4}, ids=ids, x=x, table=table)


@_maker
def _make_gather_columns(random, s, given):
    ids = np.sort(random.permutation(s.v)[: s.v // 2 + 1]).astype(np.int32)
    x, y = normal(random, s.t, s.v), np.zeros((s.t, ids.size), np.float32)
    return sample("gather_columns", s, given, {}, ids=ids, x=x, y=y)


@_maker
def _make_rmsnorm(random, s, given):
    x, scale = normal(random, s.t, s.m), normal(random, s.m)
    return sample(
        "rmsnorm",
        s,
        given,
        {"epsilon": 1e-5},
        x=x,
        scale=scale,
        y=np.zeros_like(x),
        inverse_rms=np.zeros(s.t, np.float32),
    )


@_maker
def _make_rmsnorm_backward(random, s, given):
    x = normal(random, s.t, s.m)
    inverse_rms = (1 / np.sqrt((x.astype(np.float64) ** 2).mean(1) + 1e-5)).astype(np.float32)
    return sample(
        "rmsnorm_backward", s, given, {"accumulate": 1},
        d_y=normal(random, s.t, s.m), x=x, scale=normal(random, s.m), inverse_rms=inverse_rms,
        d_x=normal(random, s.t, s.m), d_scale=np.zeros((-(-s.t // 64), s.m), np.float32),
    )  # fmt: skip


def _make_product(layout: str) -> Maker:
    def make(random, s, given):
        shapes = {"nt": ((s.t, s.d), (s.v, s.d)), "nn": ((s.t, s.d), (s.d, s.v)), "tn": ((s.d, s.t), (s.d, s.v))}[
            layout
        ]
        beside = {"a": (4, 4), "c": (8, 1), "addend": (1, 2)}
        return sample(
            f"matmul_{layout}", s, given, {"alpha": 0.5, "accumulate": 1}, beside,
            a=normal(random, *shapes[0]), b=normal(random, *shapes[1]), c=normal(random, s.t, s.v),
            addend=normal(random, s.t, s.v), bias=normal(random, s.v),
        )  # fmt: skip

    return make


_MAKERS |= {f"matmul_{layout}": _make_product(layout) for layout in ("nt", "nn", "tn")}


@_maker
def _make_causal_conv_silu(random, s, given):
    return sample(
        "causal_conv_silu", s, given, {"length": s.l}, {"x": (0, s.d)},
        x=normal(random, s.t, s.d), weight=normal(random, s.d, s.k), bias=normal(random, s.d),
        history=normal(random, s.b, s.k - 1, s.d) if s.k > 1 else None, y=np.zeros((s.t, s.d), np.float32),
    )  # fmt: skip


@_maker
def _make_causal_conv_silu_backward(random, s, given):
    return sample(
        "causal_conv_silu_backward", s, given, {"length": s.l}, {"x": (0, s.d), "d_x": (0, s.d)},
        d_y=normal(random, s.t, s.d), x=normal(random, s.t, s.d),
        weight=normal(random, s.d, s.k), bias=normal(random, s.d),
        d_x=np.zeros((s.t, s.d), np.float32), d_weight=np.zeros((s.b, s.d, s.k), np.float32),
        d_bias=np.zeros((s.b, s.d), np.float32),
    )  # fmt: skip


@_maker
def _make_scan_coefficients(random, s, given):
    return sample(
        "scan_coefficients", s, given, {},
        A_log=normal(random, s.d, s.n), D=normal(random, s.d), dt_bias=normal(random, s.d),
        coefficients=np.zeros((s.n + 2, s.d), np.float32),
    )  # fmt: skip


@_maker
def _make_scan_coefficients_backward(random, s, given):
    return sample(
        "scan_coefficients_backward", s, given, {"accumulate": 1},
        d_coefficients=normal(random, s.b, s.n + 2, s.d), coefficients=-np.abs(normal(random, s.n + 2, s.d)),
        d_A_log=normal(random, s.d, s.n), d_D=normal(random, s.d), d_dt_bias=normal(random, s.d),
    )  # fmt: skip


def _scan_inputs(random, s) -> dict[str, np.ndarray]:
    coefficients = normal(random, s.n + 2, s.d)
    coefficients[: s.n] = -np.exp(coefficients[: s.n])
    coefficients[s.n + 1] -= 3  # Delta from about 0.005 to 0.5
    return {
        "u": normal(random, s.t, s.d),
        "delta": normal(random, s.t, s.d),
        "x_dbl": normal(random, s.t, s.r + 2 * s.n),
        "coefficients": coefficients,
    }


@_maker
def _make_selective_scan(random, s, given):
    chunks = -(-s.l // STATE_INTERVAL)
    return sample(
        "selective_scan", s, given, {"length": s.l, "rank": s.r, "carry": 1},
        **_scan_inputs(random, s), states=normal(random, s.b, chunks + 1, s.n, s.d),
        y=np.zeros((s.t, s.d), np.float32), workspace=None,
    )  # fmt: skip


@_maker
def _make_selective_scan_backward(random, s, given):
    inputs = _scan_inputs(random, s)
    return sample(
        "selective_scan_backward", s, given,
        {"length": s.l, "rank": s.r, "want_inputs": 1, "want_coefficients": 1},
        **inputs, states=kept_states(s, **inputs), d_y=normal(random, s.t, s.d), partials=None, workspace=None,
    )  # fmt: skip


def kept_states(s: Sizes, u, delta, x_dbl, coefficients) -> np.ndarray:
    """The states (b, chunks+1, n, d) that the forward scan leaves, by the plain recurrence in float64."""
    A, bias = coefficients[: s.n].astype(np.float64), coefficients[s.n + 1]
    Delta = np.logaddexp(0, (delta + bias).astype(np.float64)).reshape(s.b, s.l, 1, s.d)
    inflow = Delta * u.reshape(s.b, s.l, 1, s.d) * x_dbl[:, s.r : s.r + s.n].reshape(s.b, s.l, s.n, 1)
    h = np.zeros((s.b, s.n, s.d))
    kept = []
    for t in range(s.l):
        if t % STATE_INTERVAL == 0:
            kept.append(h)
        h = np.exp(Delta[:, t] * A) * h + inflow[:, t]
    return np.stack([*kept, h], axis=1).astype(np.float32)


@_maker
def _make_gate(random, s, given):
    y, z = normal(random, s.t, s.d), normal(random, s.t, s.d, scale=3)
    return sample("gate", s, given, {}, {"z": (s.d, 0)}, y=y, z=z, g=np.zeros_like(y))


@_maker
def _make_gate_backward(random, s, given):
    d_g, y, z = normal(random, s.t, s.d), normal(random, s.t, s.d), normal(random, s.t, s.d, scale=3)
    beside = {"z": (s.d, 0), "d_z": (s.d, 0)}
    return sample("gate_backward", s, given, {}, beside, d_g=d_g, y=y, z=z, d_z=np.zeros_like(y))


@_maker
def _make_cross_entropy(random, s, given):
    targets = random.integers(0, s.v, s.t, dtype=np.int32)
    targets[:: max(2, s.t // 5)] = -1
    return sample(
        "cross_entropy", s, given, {"want_gradient": 1},
        logits=normal(random, s.t, s.v, scale=4), targets=targets, losses=np.zeros(s.t, np.float32),
        scalars=_scalars(),
    )  # fmt: skip


@_maker
def _make_sum_rows(random, s, given):
    columns = 2 * s.n
    x, y = normal(random, 5, s.t * columns), normal(random, s.t, columns)
    return sample("sum_rows", s, given, {"columns": columns, "accumulate": 1}, {"y": (s.r, 0)}, x=x, y=y)


@_maker
def _make_total(random, s, given):
    return sample("total", s, given, {}, x=normal(random, s.t * s.d), y=np.zeros(1, np.float32))


@_maker
def _make_squared_norm(random, s, given):
    return sample("squared_norm", s, given, {}, x=normal(random, s.t * s.d), partials=np.zeros(NORM_PARTS, np.float32))


@_maker
def _make_clip_factor(random, s, given):
    statistics = normal(random, Statistics.COUNT)
    return sample(
        "clip_factor",
        s,
        given,
        {},
        partials=np.abs(normal(random, 2 * NORM_PARTS)),
        scalars=_scalars(),
        statistics=statistics,
    )


@_maker
def _make_adamw(random, s, given):
    size = s.t * s.d
    statistics = np.zeros(Statistics.COUNT, np.float32)
    statistics[Statistics.CLIP_FACTOR] = 0.5
    return sample(
        "adamw", s, given, {"decay": 1},
        parameter=normal(random, size), gradient=normal(random, size),
        first=normal(random, size), second=np.abs(normal(random, size)),
        scalars=_scalars(), statistics=statistics,
    )  # fmt: skip


@_maker
def _make_update_squares(random, s, given):
    operands = {**_make_adamw(random, s, {}).operands, "partials": np.zeros((7, 3), np.float32)}
    return sample("update_squares", s, given, {"decay": 1}, **operands)


@_maker
def _make_column_squares(random, s, given):
    partials = np.zeros((-(-s.t // 64), s.d), np.float32)
    return sample("column_squares", s, given, {}, x=normal(random, s.t, s.d), partials=partials)


@_maker
def _make_dead_channels(random, s, given):
    outputs, gradients = (normal(random, s.d) ** 2 for _ in range(2))
    outputs[::3], gradients[::5] = 0, 1e-12
    count = np.zeros(1, np.float32)
    return sample("dead_channels", s, given, {"share": 1e-3}, outputs=outputs, gradients=gradients, count=count)


def _make_widen(kernel: str) -> Maker:
    def make(random, s, given):
        values = np.concatenate([normal(random, s.t, scale=10), np.float32([0, -0.0, 1e-7, -65504])])
        halves = (
            values.astype(np.float16)
            if kernel.endswith("_float16")
            else (values.view(np.uint32) >> 16).astype(np.uint16)
        )
        return sample(kernel, s, given, {}, x=halves, y=np.zeros(values.size, np.float32))

    return make


def _make_narrow(kernel: str) -> Maker:
    def make(random, s, given):
        values = np.concatenate(
            [normal(random, s.t, scale=10), np.float32([0, -0.0, 1e-7, 6e-8, 65504, 1.0009765625, 2.0019531])]
        )
        dtype = np.float16 if kernel.endswith("_float16") else np.uint16
        return sample(kernel, s, given, {}, x=values, y=np.zeros(values.size, dtype))

    return make


_MAKERS |= decode_samples.MAKERS | attention_samples.MAKERS | mixture_samples.MAKERS | ssd_samples.MAKERS
_MAKERS |= fused_samples.MAKERS
_MAKERS |= {name: _make_widen(name) for name in ("widen_float16", "widen_bfloat16")}
_MAKERS |= {name: _make_narrow(name) for name in ("narrow_float16", "narrow_bfloat16")}


def _scalars() -> np.ndarray:
    values = np.zeros(Scalars.COUNT, np.float32)
    for slot, value in {
        Scalars.GRADIENT_SCALE: 0.01, Scalars.LEARNING_RATE: 1e-2, Scalars.BETA1: 0.9, Scalars.BETA2: 0.99,
        Scalars.EPSILON: 1e-8,
        Scalars.WEIGHT_DECAY: 0.1, Scalars.CORRECTION1: 0.19, Scalars.CORRECTION2: 0.02, Scalars.MAX_NORM: 1.0,
    }.items():  # fmt: skip
        values[slot] = value
    return values
