"""Launches of the kernels that work row by row: the embedding, the root-mean-square norm, cross-entropy."""

from __future__ import annotations

from dataclasses import replace

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.graph.kernels import Scalars


def embedding_gather(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, table, _y = views
    rows, width = table.shape
    parameters = pack(ids.size, rows, width, int(numbers["first_row"]), *(whole(view) for view in views))
    return [Launch("embedding_gather", views, parameters, flat_grid(ids.size))]


def embedding_gather_float16(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    (launch,) = embedding_gather(views, numbers, traits)
    return [replace(launch, shader="embedding_gather_float16")]


def embedding_gather_int8(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, words, _scales, y = views
    sizes = (ids.size, words.shape[0], y.shape[1])
    parameters = pack(*sizes, int(numbers["first_row"]), *(whole(view) for view in views))
    return [Launch("embedding_gather_int8", views, parameters, flat_grid(ids.size))]


def embedding_scatter(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, _order, _d_y, d_table = views
    rows, width = d_table.shape
    parameters = pack(ids.size, rows, width, int(numbers["first_row"]), *(whole(view) for view in views))
    return [Launch("embedding_scatter", views, parameters, flat_grid(ids.size * ceil_div(width, 64)))]


def embedding_store(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, _x, table = views
    rows, width = table.shape
    parameters = pack(ids.size, rows, width, int(numbers["first_row"]), *(whole(view) for view in views))
    return [Launch("embedding_store", views, parameters, flat_grid(ids.size))]


def gather_columns(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, x, y = views
    parameters = pack(y.size, ids.size, x.shape[1], *(whole(view) for view in views))
    return [Launch("gather_columns", views, parameters, flat_grid(ceil_div(y.size, 1024)))]


def rmsnorm(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, scale, _, _ = views
    rows, width = x.shape
    sizes = (rows, width, scale.size // width)
    parameters = pack(*sizes, float(numbers["epsilon"]), *(whole(view) for view in views))
    return [Launch("rmsnorm", views, parameters, flat_grid(rows))]


def rmsnorm_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    """d_scale first: it must still see d_y where d_x takes its place."""
    d_y, x, scale, inverse_rms, d_x, d_scale = views
    rows, width = x.shape
    groups = scale.size // width
    inputs = (d_y, x, scale, inverse_rms, d_x)
    parameters = pack(rows, width, groups, bool(numbers["accumulate"]), *(whole(view) for view in inputs))
    launches = [Launch("rmsnorm_backward", inputs, parameters, flat_grid(rows))]
    if d_scale is not None:
        parts = d_scale.shape[0]
        inputs = (d_y, x, inverse_rms, d_scale)
        parameters = pack(rows, width, groups, parts, *(whole(view) for view in inputs))
        grid = flat_grid(parts * ceil_div(groups * width, 64))
        launches.insert(0, Launch("rmsnorm_backward_scale", inputs, parameters, grid))
    return launches


def cross_entropy(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    """Leaves its gradient in place of the logits."""
    logits, targets, losses, scalars = views
    rows, width = logits.shape
    parameters = pack(
        *(rows, width, bool(numbers["want_gradient"]), logits.stride),
        *(start(logits), whole(targets), whole(losses), start(scalars) + Scalars.GRADIENT_SCALE),
    )
    return [Launch("cross_entropy", views, parameters, flat_grid(rows))]


LAUNCHES = {
    "embedding_gather": embedding_gather,
    "embedding_gather_float16": embedding_gather_float16,
    "embedding_gather_int8": embedding_gather_int8,
    "embedding_scatter": embedding_scatter,
    "embedding_store": embedding_store,
    "gather_columns": gather_columns,
    "rmsnorm": rmsnorm,
    "rmsnorm_backward": rmsnorm_backward,
    "cross_entropy": cross_entropy,
}
