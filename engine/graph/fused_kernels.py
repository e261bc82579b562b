"""Kernels of a single token that do the work of several, as rows of the table in `kernels`, and what they stand for.

A GPU takes longer over starting one of the small kernels of decoding than over what it computes. So a device may take
several of them at once, and `fusion` finds where. Each is by definition the calls that `parts` gives: that is how a
device without it runs it.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.graph.tensor import KernelCall, Kind, Tensor, View

FORMATS = {"": "", "_float16": "h", "_int8": "i"}  # of a matrix, by the end of a kernel's name; in 8 bits with scales
NORM_MATMUL, NORM_MATMUL_CONV, NORM_GATED = "norm_matmul_nt", "norm_matmul_conv", "norm_gated"
SCAN_GATED, SSD_GATED, KEPT_KEYS = "scan_gated", "ssd_gated", "kept_keys"


def _rows():
    for end, dtype in FORMATS.items():
        scales = " scales:r2" if end == "_int8" else ""
        yield (
            NORM_MATMUL + end,
            f"x:r2 scale:r1 b:r2{dtype} c:w2 addend:r2? bias:r1?{scales}",
            "epsilon alpha",
            "c (1, j) = alpha * rmsnorm(x) (1, i) @ b (j, i)^T (+ addend) (+ bias)",
        )
        yield (
            NORM_MATMUL_CONV + end,
            f"x:r2 scale:r1 b:r2{dtype} c:w2 weight:r2 bias:r1? history:x2?{scales}",
            "epsilon alpha first",
            "the same without addend and bias, d columns of c from `first` on being those of causal_conv_silu_tokens",
        )
        both = " gate_scales:r2 up_scales:r2" if end == "_int8" else ""
        yield (
            NORM_GATED + end,
            f"x:r2 scale:r1 gate:r2{dtype} up:r2{dtype} g:w2{both}",
            "epsilon gate_alpha up_alpha",
            "g (1, f) = silu(gate_alpha * rmsnorm(x) @ gate^T) * (up_alpha * rmsnorm(x) @ up^T)",
        )
    yield (
        SCAN_GATED,
        "u:r2s x_dbl:r2 weight:r2 coefficients:r2 state:x2 z:r2s g:w2",
        "rank",
        "gate of selective_scan_tokens, whose delta (1, d) = x_dbl[:, :rank] @ weight (d, rank)^T",
    )
    yield (
        SSD_GATED,
        "x:r2 dt:r2s coefficients:r2 state:x2 z:r2s g:w2",
        "lowest highest",
        "gate of ssd_tokens",
    )
    yield (
        KEPT_KEYS,
        "q:x2 k:x2 v:r2 reach:r2i rotations:r2 keys:x2h values:x2h",
        "head_dim",
        "rope of q and of k, and cache_append of k and of v",
    )


ROWS = tuple(_rows())
FUSED = frozenset(name for name, *_ in ROWS)


def parts(call: KernelCall) -> list[KernelCall]:
    """The calls that a fused one stands for, with tensors of their own in between."""
    stem, end = next((call.kernel.removesuffix(end), end) for end in reversed(FORMATS) if call.kernel.endswith(end))
    return _PARTS[stem](end, call.operands, call.numbers)


def _new(name: str, *shape: int) -> Tensor:
    return Tensor(name, shape, kind=Kind.WORKSPACE)


def _norm(x: View, scale: View, epsilon: float) -> tuple[KernelCall, View]:
    normed = _new("normed", *x.shape).view()
    return KernelCall("rmsnorm", (x, scale, normed, _new("inverse_rms", 1).view()), {"epsilon": epsilon}), normed


def _product(end: str, a: View, b: View, c: View, addend, bias, scales: tuple[View, ...], alpha: float) -> KernelCall:
    return KernelCall(f"matmul_nt{end}", (a, b, c, addend, bias, *scales), {"alpha": alpha, "accumulate": 0})


def _norm_matmul(end: str, operands, numbers) -> list[KernelCall]:
    x, scale, b, c, addend, bias, *scales = operands
    norm, normed = _norm(x, scale, numbers["epsilon"])
    return [norm, _product(end, normed, b, c, addend, bias, tuple(scales), numbers["alpha"])]


def _norm_matmul_conv(end: str, operands, numbers) -> list[KernelCall]:
    x, scale, b, c, weight, bias, history, *scales = operands
    norm, normed = _norm(x, scale, numbers["epsilon"])
    d = weight.shape[0]
    columns = View(c.tensor, c.offset + int(numbers["first"]), (1, d), d)
    u = _new("u", 1, d)
    return [
        norm,
        _product(end, normed, b, c, None, None, tuple(scales), numbers["alpha"]),
        KernelCall("causal_conv_silu_tokens", (columns, weight, bias, history, u.view()), {}),
        KernelCall("carry_state", (u.view(shape=(1, 1, d)), columns), {}),
    ]


def _norm_gated(end: str, operands, numbers) -> list[KernelCall]:
    x, scale, gate, up, g, *scales = operands
    norm, normed = _norm(x, scale, numbers["epsilon"])
    f = gate.shape[0]
    both = _new("gate_up", 1, 2 * f)
    first, second = (tuple(scales[i : i + 1]) for i in range(2))
    return [
        norm,
        _product(end, normed, gate, both.columns(0, f), None, None, first, numbers["gate_alpha"]),
        _product(end, normed, up, both.columns(f, 2 * f), None, None, second, numbers["up_alpha"]),
        KernelCall("swiglu", (both.view(), g), {}),
    ]


def _scan_gated(end: str, operands, numbers) -> list[KernelCall]:
    u, x_dbl, weight, coefficients, state, z, g = operands
    d, rank = weight.shape
    delta, y = _new("delta", 1, d).view(), _new("y", 1, d).view()
    low_rank = View(x_dbl.tensor, x_dbl.offset, (1, rank), x_dbl.stride)
    return [
        _product("", low_rank, weight, delta, None, None, (), 1.0),
        KernelCall("selective_scan_tokens", (u, delta, x_dbl, coefficients, state, y), {"rank": rank}),
        KernelCall("gate", (y, z, g), {}),
    ]


def _ssd_gated(end: str, operands, numbers) -> list[KernelCall]:
    x, dt, coefficients, state, z, g = operands
    y = _new("y", *g.shape).view()
    return [
        KernelCall("ssd_tokens", (x, dt, coefficients, state, y), numbers),
        KernelCall("gate", (y, z, g), {}),
    ]


def _kept_keys(end: str, operands, numbers) -> list[KernelCall]:
    q, k, v, reach, rotations, keys, values = operands
    turn = {"head_dim": numbers["head_dim"], "sign": 1}
    return [
        *(KernelCall("rope", (row, reach, rotations), turn) for row in (q, k)),
        *(KernelCall("cache_append", (row, reach, cache), {}) for row, cache in ((k, keys), (v, values))),
    ]


_PARTS: dict[str, Callable[[str, tuple, dict], list[KernelCall]]] = {
    NORM_MATMUL: _norm_matmul,
    NORM_MATMUL_CONV: _norm_matmul_conv,
    NORM_GATED: _norm_gated,
    SCAN_GATED: _scan_gated,
    SSD_GATED: _ssd_gated,
    KEPT_KEYS: _kept_keys,
}
