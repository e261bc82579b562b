"""Launches of the decoding kernels: a few tokens from a state, weights in fewer bits, and the best of a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.devices.webgpu.launches.fused import MOST_ROWS, is_readable, rows_product
from engine.devices.webgpu.launches.matmul import FEW_ROWS, Product, product_launch
from engine.errors import InputError
from engine.graph.kernels import FEW_TOKENS, TOP
from engine.graph.tensor import View

LANES = 256  # of the kernels that look for the best of a row
TOP_PART = 4096  # scores of which a workgroup finds the best on a GPU
MOST_TURNS = 60_000  # of the loops of a lane on a software adapter, which end after 65,535, silently


def carry_history(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, history = views
    (rows, width), before = x.shape, history.shape[0]
    parameters = pack(rows, before, width, x.stride, start(x), whole(history))
    return [Launch("carry_history", views, parameters, flat_grid(ceil_div(width, 64)))]


def carry_state(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    kept, state = views
    parameters = pack(kept.shape[0], state.size, whole(kept), whole(state))
    return [Launch("carry_state", views, parameters, flat_grid(ceil_div(state.size, 1024)))]


def causal_conv_silu_tokens(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, weight, bias, history, y = views
    (tokens, width), taps = x.shape, weight.shape[1]
    parameters = pack(
        *(few(tokens), width, taps, x.stride, bias is not None),
        *(start(x), whole(weight), whole(bias), whole(history), whole(y)),
    )
    return [Launch("causal_conv_silu_tokens", views, parameters, flat_grid(ceil_div(width, 64)))]


def selective_scan_tokens(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    u, delta, x_dbl, coefficients, state, y = views
    (tokens, width), n = u.shape, coefficients.shape[0] - 2
    parameters = pack(
        *(few(tokens), width, n, int(numbers["rank"]), x_dbl.stride),
        *(whole(u), whole(delta), start(x_dbl), whole(coefficients), whole(state), whole(y)),
    )
    return [Launch("selective_scan_tokens", views, parameters, flat_grid(ceil_div(width, 64)))]


def matmul_nt_float16(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    if _is_readable(views, "_float16"):
        return [rows_product("_float16", part, numbers, traits) for part in _parts(views, MOST_ROWS["_float16"])]
    return [replace(_product(part, numbers, traits), shader="matmul_rows_float16") for part in _parts(views)]


def matmul_nt_int8(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    *views, scales = views
    if _is_readable(views, "_int8"):
        parts = _parts(tuple(views), MOST_ROWS["_int8"])
        return [rows_product("_int8", (*part, scales), numbers, traits) for part in parts]
    return [_bytewise_product(part, scales, numbers, traits) for part in _parts(tuple(views))]


def _bytewise_product(views: Views, scales: View, numbers: dict[str, float], traits: AdapterTraits) -> Launch:
    """As by float32 rows of words; the scales come as a sixth binding, and where they lie as constants."""
    launch = _product(views, numbers, traits)
    constants = {**launch.constants, "scales_at": float(scales.offset), "scales_row": float(scales.stride)}
    return replace(launch, shader="matmul_rows_int8", bindings=(*views, scales), constants=constants)


def _product(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> Launch:
    a, b, *_ = views
    product = Product("nt", a.shape[0], b.shape[0], a.shape[1], a.stride, 1, b.stride, 1)
    return product_launch("rows", product, views, numbers, traits.software)


def _is_readable(views: Sequence[View | None], end: str) -> bool:
    """Whether the product of some of the rows is, and so that of others."""
    a, b, *_ = views
    return is_readable(_rows(a, 0, min(a.shape[0], MOST_ROWS[end])), b, end)


def _parts(views: Views, most: int = FEW_ROWS) -> Iterator[Views]:
    """A product by rows, as many of them at a time as a launch takes."""
    a, b, c, addend, bias = views
    for first in range(0, few(a.shape[0]), most):
        last = min(first + most, a.shape[0])
        yield _rows(a, first, last), b, _rows(c, first, last), addend and _rows(addend, first, last), bias


def _rows(view: View, first: int, last: int) -> View:
    return View(view.tensor, view.offset + first * view.stride, (last - first, view.shape[1]), view.stride)


def few(tokens: int) -> int:
    """The number of tokens, if the decoding kernels take as many at a time."""
    if tokens > FEW_TOKENS:
        raise InputError(f"A decoding kernel was given {tokens} tokens; it takes at most {FEW_TOKENS} at a time.")
    return tokens


def narrow_int8(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, _words, scales = views
    parameters = pack(*x.shape, scales.shape[1], *(whole(view) for view in views))
    return [Launch("narrow_int8", views, parameters, flat_grid(ceil_div(scales.size, 64)))]


def widen_int8(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    _words, scales, y = views
    parameters = pack(*y.shape, scales.shape[1], *(whole(view) for view in views))
    return [Launch("widen_int8", views, parameters, flat_grid(ceil_div(scales.size, 64)))]


def argmax(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    logits, best = views
    rows, width = logits.shape
    return [Launch("argmax", views, pack(rows, width, whole(logits), whole(best)), flat_grid(rows))]


def top_k_scratch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> int:
    """What the parts of a row leave; 0 where one workgroup takes all of it."""
    (rows, width), k = views[0].shape, (views[1].shape[1] - 1) // 2
    parts = ceil_div(width, TOP_PART)
    return 0 if traits.software or parts > LANES else rows * parts * (2 + 2 * k)


def top_k(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    logits, best, *scratch = views
    (rows, width), k = logits.shape, (best.shape[1] - 1) // 2
    if k > TOP or (traits.software and (k + 1) * ceil_div(width, LANES) > MOST_TURNS):
        raise InputError(f"This device cannot find the best {k} of {width} scores.", "Ask for fewer.")
    if scratch:
        parts = ceil_div(width, TOP_PART)
        sizes, words = (rows, width, k, parts), whole(scratch[0])
        first = pack(*sizes, whole(logits), words), flat_grid(rows * parts)
        second = pack(*sizes, words, whole(best)), flat_grid(rows)
        return [Launch("top_k_parts", (logits, *scratch), *first), Launch("top_k_merge", (*scratch, best), *second)]
    return [Launch("top_k", views, pack(rows, width, k, whole(logits), whole(best)), flat_grid(rows))]


def penalise_recent(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    logits, recent, chosen, _ = views
    sizes = logits.shape[1], recent.size, 0 if chosen is None else chosen.shape[0]
    return [Launch("penalise_recent", views, pack(*one_row(logits, *sizes), *map(whole, views)), (1, 1, 1))]


def choose_token(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    logits, best, *_ = views
    sizes = logits.shape[1], (best.shape[1] - 1) // 2
    return [Launch("choose_token", views, pack(*one_row(logits, *sizes), *map(whole, views)), (1, 1, 1))]


def one_row(logits: View, *sizes: int) -> tuple[int, ...]:
    """`sizes`, if there is one row of scores."""
    if logits.shape[0] != 1:
        raise InputError(f"A token is chosen from one row of scores, not {logits.shape[0]}.")
    return sizes


SCRATCH = {"top_k": top_k_scratch}
LAUNCHES = {
    "carry_history": carry_history,
    "carry_state": carry_state,
    "causal_conv_silu_tokens": causal_conv_silu_tokens,
    "selective_scan_tokens": selective_scan_tokens,
    "matmul_nt_float16": matmul_nt_float16,
    "matmul_nt_int8": matmul_nt_int8,
    "narrow_int8": narrow_int8,
    "widen_int8": widen_int8,
    "argmax": argmax,
    "top_k": top_k,
    "penalise_recent": penalise_recent,
    "choose_token": choose_token,
}
