"""Launches of the causal convolution with SiLU and its backward."""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.errors import InputError
from engine.graph.tensor import View

RUN = 16  # tokens that a lane of the forward takes
LONGEST = 60_000  # tokens that a lane of the backward takes on a software adapter, whose loops end after 65,535 turns


def causal_conv_silu(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, weight, bias, history, y = views
    length = int(numbers["length"])
    (tokens, width), taps = x.shape, weight.shape[-1]
    parameters = pack(
        *(tokens // length, length, width, taps, bias is not None, history is not None, x.stride),
        *(start(x), whole(weight), whole(bias), whole(history), whole(y)),
    )
    groups = tokens // length * ceil_div(length, RUN) * ceil_div(width, 64)
    return [Launch("causal_conv_silu", views, parameters, flat_grid(groups), header=_quads(weight))]


def causal_conv_silu_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    d_y, x, weight, bias, d_x, d_weight, d_bias = views
    length = int(numbers["length"])
    if traits.software and length > LONGEST:
        raise InputError(
            f"A software adapter trains on sequences of at most {LONGEST} tokens.", "Use the device 'cpu'."
        )
    (tokens, width), taps = x.shape, weight.shape[-1]
    wanted = (d_x is not None, d_weight is not None, d_bias is not None)
    parameters = pack(
        *(tokens // length, length, width, taps, bias is not None, *wanted, x.stride, 0 if d_x is None else d_x.stride),
        *(whole(d_y), start(x), whole(weight), whole(bias), start(d_x), whole(d_weight), whole(d_bias)),
    )
    groups = tokens // length * ceil_div(width, 64)
    return [Launch("causal_conv_silu_backward", views, parameters, flat_grid(groups), header=_quads(weight))]


def _quads(weight: View) -> dict[str, int]:
    """The shaders keep the last tokens in quads."""
    return {"QUADS": ceil_div(weight.shape[-1], 4)}


LAUNCHES = {"causal_conv_silu": causal_conv_silu, "causal_conv_silu_backward": causal_conv_silu_backward}
