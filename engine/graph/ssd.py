"""Mamba-2's scan (SSD, state space duality) as an operation, and its sizes.

Shapes: t tokens, h heads, e channels of a head, n states, g groups; x (t, h*e + 2gn) = channels, B and C; dt (t, h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.graph.kernels import FEW_TOKENS, STATE_INTERVAL
from engine.graph.operations import NORM_BLOCK_ROWS, same_columns
from engine.graph.parameters import Parameter
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Tensor, View


@dataclass(frozen=True)
class SsdShape:
    """Sizes of Mamba-2's scan: `heads` of `head_dim` channels and `state` states; B and C are shared in a group."""

    sequences: int
    length: int
    heads: int
    head_dim: int
    groups: int
    state: int

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def width(self) -> int:
        """Columns of x: channels, B and C."""
        return self.inner + 2 * self.groups * self.state


@dataclass(frozen=True)
class SsdWeights:
    """A_log, D and dt_bias (h,), and what Delta is held between."""

    A_log: Parameter
    D: Parameter
    dt_bias: Parameter
    lowest: float
    highest: float

    def coefficients(self, tape: Tape, into: Tensor | View) -> None:
        """Emit -exp(A_log), D and dt_bias as (3, h)."""
        heads = self.A_log.shape[0]
        A_log = self.A_log.tensor.view(shape=(heads, 1))
        tape.emit("scan_coefficients", A_log, self.D.tensor, self.dt_bias.tensor, into)


def state_space_dual(
    tape: Tape,
    x: Tensor,
    dt: View,
    weights: SsdWeights,
    shape: SsdShape,
    state: View | None = None,
    coefficients: View | None = None,
) -> Tensor:
    """y (t, h*e) of Mamba-2's scan, skip included.

    While decoding, one sequence continues from `state` (h*n, e), which is then updated, with the prepared
    `coefficients` (3, h).
    """
    t, heads = x.shape[0], shape.heads
    limits = {"lowest": weights.lowest, "highest": weights.highest}
    y = tape.new("y", (t, shape.inner))
    if state is not None and t <= FEW_TOKENS:
        tape.emit("ssd_tokens", x, dt, coefficients, state, y, **limits)
        return y
    if coefficients is None:
        coefficients = tape.new("coefficients", (3, heads)).view()
        weights.coefficients(tape, coefficients)
    steps = tape.new("steps", (t, 2 * heads))
    tape.emit("ssd_steps", dt, coefficients, steps, **limits)
    kept = math.ceil(shape.length / STATE_INTERVAL) + 1
    rows = heads * shape.state
    states = tape.new("states", (shape.sequences, kept, rows, shape.head_dim))
    one = (1, rows, shape.head_dim)
    if state is not None:
        tape.emit("carry_state", View(state.tensor, state.offset, one, shape.head_dim), states.view(0, one[1:]))
    known = (x, steps, coefficients, states)
    numbers = {"length": shape.length}
    tape.emit("ssd", *known, y, **numbers, carry=int(state is not None))
    if state is not None:
        tape.emit("carry_state", states.view(0, (kept, *one[1:])), state)
        return y
    trained = [tape.trained(parameter) for parameter in (weights.A_log, weights.D, weights.dt_bias)]
    if not (tape.wants(x) or tape.wants(dt.tensor) or any(trained)):
        return y

    def backward() -> None:
        d_x, d_steps = tape.new("d_conv", x.shape), tape.new("d_steps", (t, 3 * heads))
        tape.emit("ssd_backward", *known, tape.gradient(y), d_x, d_steps, **numbers)
        tape.set_gradient(x, d_x)
        d_dt = same_columns(tape.gradient_to_fill(dt.tensor)[0], dt) if tape.wants(dt.tensor) else None
        parts = (math.ceil(t / NORM_BLOCK_ROWS), 3, heads)
        d_coefficients = tape.new("d_coefficients", parts, Kind.WORKSPACE) if any(trained) else None
        if d_dt is None and d_coefficients is None:
            return
        tape.emit("ssd_steps_backward", d_steps, steps, dt, coefficients, d_dt, d_coefficients, **limits)
        if d_coefficients is not None:
            d_A_log, d_D, d_dt_bias = (rows.gradient for rows in trained)
            tape.emit(
                "scan_coefficients_backward",
                d_coefficients, coefficients, d_A_log.view(shape=(heads, 1)), d_D, d_dt_bias,
                accumulate=int(tape.accumulates(d_A_log)),
            )  # fmt: skip

    tape.record(y, backward)
    return y
