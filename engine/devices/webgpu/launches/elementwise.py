"""Launches of the elementwise kernels: fill, gate, the coefficients of the scan, the casts."""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole

ELEMENTS = 1024  # of a workgroup: 256 lanes, four each


def fill(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    (x,) = views
    parameters = pack(x.size, whole(x), float(numbers["value"]))
    return [Launch("fill", views, parameters, flat_grid(ceil_div(x.size, ELEMENTS)))]


def gate(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    y, z, g = views
    parameters = pack(y.size, y.shape[1], z.stride, whole(y), start(z), whole(g))
    return [Launch("gate", views, parameters, flat_grid(ceil_div(y.size, ELEMENTS)))]


def gate_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    d_g, y, z, d_z = views
    parameters = pack(
        *(y.size, y.shape[1], z.stride, 0 if d_z is None else d_z.stride, d_z is not None),
        *(whole(d_g), whole(y), start(z), start(d_z)),
    )
    return [Launch("gate_backward", views, parameters, flat_grid(ceil_div(y.size, ELEMENTS)))]


def scan_coefficients(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    A_log, _D, _dt_bias, coefficients = views
    d, n = A_log.shape
    parameters = pack(n, d, *(whole(view) for view in views))
    return [Launch("scan_coefficients", views, parameters, flat_grid(ceil_div(coefficients.size, 64)))]


def scan_coefficients_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    d_coefficients, coefficients, d_A_log, _d_D, _d_dt_bias = views
    d, n = d_A_log.shape
    parameters = pack(d_coefficients.shape[0], n, d, bool(numbers["accumulate"]), *(whole(view) for view in views))
    return [Launch("scan_coefficients_backward", views, parameters, flat_grid(ceil_div(coefficients.size, 64)))]


def _widen(shader: str):
    def launch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
        x, y = views
        return [Launch(shader, views, pack(x.size, whole(x), whole(y)), flat_grid(ceil_div(x.size, ELEMENTS)))]

    return launch


def _narrow(shader: str):
    def launch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
        x, y = views
        words = (whole(y) + y.size + 1) // 2 - y.offset // 2  # an odd start shares its word with what is before it
        return [Launch(shader, views, pack(x.size, whole(x), y.offset), flat_grid(ceil_div(words, 256)))]

    return launch


LAUNCHES = {
    "fill": fill,
    "gate": gate,
    "gate_backward": gate_backward,
    "scan_coefficients": scan_coefficients,
    "scan_coefficients_backward": scan_coefficients_backward,
    "widen_float16": _widen("widen_float16"),
    "widen_bfloat16": _widen("widen_bfloat16"),
    "narrow_float16": _narrow("narrow_float16"),
    "narrow_bfloat16": _narrow("narrow_bfloat16"),
}
