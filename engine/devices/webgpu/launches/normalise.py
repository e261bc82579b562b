"""Launches of the root-mean-square norm and its backward."""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, ceil_div, flat_grid, pack
from engine.devices.webgpu.launches.operands import Views, whole


def rmsnorm(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    rows, width = views[0].shape
    parameters = pack(rows, width, float(numbers["epsilon"]), *(whole(view) for view in views))
    return [Launch("rmsnorm", views, parameters, flat_grid(rows))]


def rmsnorm_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    """d_scale first: it must still see d_y where d_x takes its place."""
    d_y, x, scale, inverse_rms, d_x, d_scale = views
    rows, width = x.shape
    inputs = (d_y, x, scale, inverse_rms, d_x)
    parameters = pack(rows, width, bool(numbers["accumulate"]), *(whole(view) for view in inputs))
    launches = [Launch("rmsnorm_backward", inputs, parameters, flat_grid(rows))]
    if d_scale is not None:
        parts = d_scale.shape[0]
        inputs = (d_y, x, inverse_rms, d_scale)
        parameters = pack(rows, width, parts, *(whole(view) for view in inputs))
        groups = flat_grid(parts * ceil_div(width, 64))
        launches.insert(0, Launch("rmsnorm_backward_scale", inputs, parameters, groups))
    return launches


LAUNCHES = {"rmsnorm": rmsnorm, "rmsnorm_backward": rmsnorm_backward}
