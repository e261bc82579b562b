"""Launches of the causal convolution with SiLU and its backward."""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.errors import InputError
from engine.graph.tensor import View

RUN = 16  # tokens that a lane of the forward takes
BACKWARD_RUN = 64  # and one of the backward on a GPU
OPERANDS = 7  # of the backward; behind them, scratch memory where the launch has asked for some
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
    *views, scratch = views if len(views) > OPERANDS else (*views, None)
    if scratch is not None:
        return _backward_in_runs(tuple(views), scratch, int(numbers["length"]))
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
    return [Launch("causal_conv_silu_backward", tuple(views), parameters, flat_grid(groups), header=_quads(weight))]


def _backward_in_runs(views: Views, scratch: View, length: int) -> list[Launch]:
    """All runs of tokens at once, then the sums of what each has left in scratch memory."""
    d_y, x, weight, bias, d_x, d_weight, d_bias = views
    (tokens, width), taps = x.shape, weight.shape[-1]
    sequences, runs, blocks = tokens // length, ceil_div(length, BACKWARD_RUN), ceil_div(width, 64)
    parameters = pack(
        *(sequences, length, width, taps, bias is not None, d_x is not None),
        *(x.stride, 0 if d_x is None else d_x.stride),
        *(whole(d_y), start(x), whole(weight), whole(bias), start(d_x), whole(scratch)),
    )
    operands = (d_y, x, weight, bias, d_x, scratch)
    groups = flat_grid(sequences * runs * blocks)
    launches = [Launch("causal_conv_silu_backward_runs", operands, parameters, groups, header=_quads(weight))]
    if d_weight is not None or d_bias is not None:
        parameters = pack(
            *(sequences, runs, width, taps, d_weight is not None, d_bias is not None),
            *(whole(scratch), whole(d_weight), whole(d_bias)),
        )
        groups = flat_grid(sequences * (taps + 1) * blocks)
        launches.append(Launch("causal_conv_silu_backward_sum", (scratch, d_weight, d_bias), parameters, groups))
    return launches


def backward_scratch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> int:
    """0 where one lane takes all tokens: on a software adapter, of a short sequence, and where d_x replaces x."""
    _d_y, x, weight, _bias, d_x, *_ = views
    length = int(numbers["length"])
    if traits.software or length <= BACKWARD_RUN or (d_x is not None and d_x.tensor is x.tensor):
        return 0
    return x.shape[0] // length * ceil_div(length, BACKWARD_RUN) * (weight.shape[-1] + 1) * x.shape[1]


def _quads(weight: View) -> dict[str, int]:
    """The shaders keep the last tokens in quads."""
    return {"QUADS": ceil_div(weight.shape[-1], 4)}


SCRATCH = {"causal_conv_silu_backward": backward_scratch}
LAUNCHES = {"causal_conv_silu": causal_conv_silu, "causal_conv_silu_backward": causal_conv_silu_backward}
