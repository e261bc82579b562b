"""Launches of the sums in a fixed order, the clipping of the gradient norm, AdamW and the statistics of its steps."""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.graph.kernels import Scalars, Statistics

# Slots that lib/adamw_change.wgsl reads, put in front of it by name.
ADAMW_SLOTS = ("LEARNING_RATE", "BETA1", "BETA2", "EPSILON", "WEIGHT_DECAY", "CORRECTION1", "CORRECTION2", "TRUST")
SLOTS = {name: getattr(Scalars, name) for name in ADAMW_SLOTS}


def sum_rows(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, y = views
    parameters = pack(
        *(x.shape[0], y.size, y.shape[-1], bool(numbers["accumulate"]), x.stride, y.stride, start(x), start(y)),
    )
    return [Launch("sum_rows", views, parameters, flat_grid(ceil_div(y.size, 64)))]


def total(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, y = views
    return [Launch("total", views, pack(x.size, whole(x), start(y)), (1, 1, 1))]


def squared_norm(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, partials = views
    return [
        Launch("squared_norm", views, pack(x.size, partials.size, whole(x), whole(partials)), flat_grid(partials.size))
    ]


def clip_factor(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    partials, scalars, statistics = views
    slots = (Statistics.LOSS_SUM, Statistics.GRADIENT_NORM, Statistics.CLIP_FACTOR)
    parameters = pack(
        *(partials.size, whole(partials), start(scalars) + Scalars.MAX_NORM),
        *(start(statistics) + slot for slot in slots),
    )
    norm = pack(partials.size, whole(partials), start(statistics) + Statistics.GRADIENT_NORM)
    return [
        Launch("gradient_norm", (partials, statistics), norm, (1, 1, 1)),
        Launch("clip_factor", views, parameters, (1, 1, 1)),
    ]


def adamw(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    parameter, gradient, first, second, scalars, statistics = views
    parameters = pack(
        *(parameter.size, bool(numbers["decay"]), whole(parameter), whole(gradient), whole(first), whole(second)),
        *(start(scalars), start(statistics) + Statistics.CLIP_FACTOR),
    )
    return [Launch("adamw", views, parameters, flat_grid(ceil_div(parameter.size, 1024)), header=SLOTS)]


def update_squares(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    parameter, gradient, first, second, scalars, statistics, partials = views
    parameters = pack(
        *(parameter.size, bool(numbers["decay"]), whole(parameter), whole(gradient), whole(first), whole(second)),
        *(start(scalars), start(statistics) + Statistics.CLIP_FACTOR, partials.shape[0], whole(partials)),
    )
    return [Launch("update_squares", views, parameters, flat_grid(partials.shape[0]), header=SLOTS)]


def column_squares(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, partials = views
    (rows, width), parts = x.shape, partials.shape[0]
    parameters = pack(rows, width, parts, whole(x), whole(partials))
    return [Launch("column_squares", views, parameters, flat_grid(parts * ceil_div(width, 64)))]


def dead_channels(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    outputs, gradients, count = views
    parameters = pack(outputs.size, whole(outputs), whole(gradients), start(count), float(numbers["share"]))
    return [Launch("dead_channels", views, parameters, (1, 1, 1))]


LAUNCHES = {
    "sum_rows": sum_rows,
    "total": total,
    "squared_norm": squared_norm,
    "clip_factor": clip_factor,
    "adamw": adamw,
    "update_squares": update_squares,
    "column_squares": column_squares,
    "dead_channels": dead_channels,
}
