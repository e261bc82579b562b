"""The Mamba-2 block, with which several families share their layers.

    norm ─▶ in_proj ─▶ z | x, B, C | dt      x, B, C ─▶ conv, silu ─▶ scan (SSD) ─▶ · silu(z) ─▶ (norm) ─▶ out_proj ─▶ +

Shapes: t tokens, m model width, h heads, e channels of a head, d = h*e inner width, n state, g groups, k taps;
projected (t, 2d + 2gn + h), x | B | C (t, d + 2gn), y (t, d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from engine.graph import operations as op
from engine.graph.gating import GroupNorm, gated_projection
from engine.graph.ssd import SsdShape, SsdWeights, state_space_dual
from engine.graph.tensor import Tensor
from engine.model.blocks.block import (
    PREPARED,
    RECURRENT,
    Block,
    BlockPass,
    ParameterSpec,
    StateSpec,
    decays,
    ones,
    time_steps,
    times,
    uniform,
)

NO_LIMIT = 3.0e38  # of Delta: a number that every device can hold
TIME_STEPS = (0.001, 0.1, 1e-4)


@dataclass(frozen=True)
class Factors:
    """What a family multiplies by: the mixer's input, the five parts of what is projected, its output.

    `folded`: a GGUF file holds weights that are multiplied by them.
    """

    input: float = 1.0
    parts: tuple[float, float, float, float, float] = (1.0, 1.0, 1.0, 1.0, 1.0)
    output: float = 1.0
    folded: bool = False


@dataclass(frozen=True)
class Mamba2(Block):
    """`name` and `norm`: what its parameters are called; `gated_norm`: whether y * silu(z) is normed, group by group;
    `limits`: what Delta is held between; `time_steps`: lowest, highest and floor of Delta when it is first drawn.
    """

    m: int
    h: int
    e: int
    n: int
    g: int
    k: int
    epsilon: float
    depth: int
    bias: bool = False
    conv_bias: bool = True
    gated_norm: bool = True
    limits: tuple[float, float] = (0.0, NO_LIMIT)
    time_steps: tuple[float, float, float] = TIME_STEPS
    factors: Factors = Factors()
    name: str = "mixer"
    norm: str = "norm.weight"

    @property
    def d(self) -> int:
        return self.h * self.e

    @property
    def _mixed(self) -> int:
        """Columns that go through the convolution: x, B and C."""
        return self.d + 2 * self.g * self.n

    @property
    def _borders(self) -> tuple[int, ...]:
        """Where z, x, B, C and dt begin among the projected columns, and where the last ends."""
        d, shared = self.d, self.g * self.n
        return (0, d, 2 * d, 2 * d + shared, 2 * d + 2 * shared, 2 * d + 2 * shared + self.h)

    # ---- what it states

    def parameters(self) -> tuple[ParameterSpec, ...]:
        norm = ParameterSpec(self.norm, (self.m,), ones, decays=False, gguf="attn_norm.weight", label="norm")
        return (norm, *self.own_parameters())

    def own_parameters(self) -> tuple[ParameterSpec, ...]:
        """All but the norm, which another block may share."""
        m, d, h, mixed, k = self.m, self.d, self.h, self._mixed, self.k
        by_in, by_inner, by_taps = uniform(m**-0.5), uniform(d**-0.5), uniform(k**-0.5)
        borders, factors = self._borders, self.factors
        rows = factors.input * np.repeat(factors.parts, np.diff(borders))
        specs = (
            ParameterSpec(
                "dt_bias", (h,), time_steps(*self.time_steps), decays=False, gguf="ssm_dt.bias", label="delta bias",
                short="dt", used=4,
            ),
            ParameterSpec(
                "A_log", (h,), _log_of_counts, decays=False, gguf="ssm_a", label="decay A", short="A", used=5,
                to_gguf=decays, from_gguf=lambda A: np.log(-A), gguf_shape=(h, 1),
            ),
            ParameterSpec(
                "D", (h,), ones, decays=False, gguf="ssm_d", gguf_shape=(h, 1), label="skip D", short="D", used=6
            ),
            ParameterSpec(
                "conv1d.weight", (mixed, 1, k), by_taps, gguf="ssm_conv1d.weight", label="convolution", short="conv",
                used=2,
            ),
            ParameterSpec(
                "conv1d.bias", (mixed,), by_taps, decays=False, gguf="ssm_conv1d.bias", label="convolution bias",
                short="bias", used=2,
            ),
            ParameterSpec(
                "in_proj.weight", (borders[-1], m), by_in, packs=True, adapted=True, gguf="ssm_in.weight",
                to_gguf=times(rows, factors.folded), trained_by={"wsla": (borders[2], borders[4])},  # rows of B and C
                label="input projection", short="in", used=1,
            ),
            ParameterSpec(
                "in_proj.bias", (borders[-1],), by_in, decays=False, label="input bias", short="bias", used=1
            ),
            ParameterSpec(
                "norm.weight", (d,), ones, decays=False, gguf="ssm_norm.weight", label="norm of gated output",
                short="norm", used=7, gguf_shape=(self.g, d // self.g),
            ),
            ParameterSpec(
                "out_proj.weight", (m, d), uniform(d**-0.5 / math.sqrt(self.depth)), packs=True, adapted=True,
                gguf="ssm_out.weight", to_gguf=times(factors.output, factors.folded), label="output projection",
                short="out", used=8,
            ),
            ParameterSpec("out_proj.bias", (m,), by_inner, decays=False, label="output bias", short="bias", used=8),
        )  # fmt: skip
        there = {
            "conv1d.bias": self.conv_bias,
            "in_proj.bias": self.bias,
            "out_proj.bias": self.bias,
            "norm.weight": self.gated_norm,
        }
        return tuple(replace(spec, name=f"{self.name}.{spec.name}") for spec in specs if there.get(spec.name, True))

    def states(self) -> tuple[StateSpec, ...]:
        history = (StateSpec("history", (self.k - 1, self._mixed), RECURRENT),) if self.k > 1 else ()
        return (
            *history,
            StateSpec("state", (self.h * self.n, self.e), RECURRENT),
            StateSpec("coefficients", (3, self.h), PREPARED),
        )

    @property
    def channels(self) -> int:
        return self.d

    def prepare(self, at: BlockPass) -> None:
        self._weights(at).coefficients(at.tape, at.state["coefficients"])

    def _weights(self, at: BlockPass) -> SsdWeights:
        A_log, D, dt_bias = (at.parameter(f"{self.name}.{name}") for name in ("A_log", "D", "dt_bias"))
        return SsdWeights(A_log, D, dt_bias, *self.limits)

    # ---- forward

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        return self.mix(at, op.rmsnorm(at.tape, x, at.parameter(self.norm), self.epsilon), x)

    def mix(self, at: BlockPass, normed: Tensor, x: Tensor) -> Tensor:
        """x plus what it makes of the norm of its input (t, m)."""
        tape, state, borders, factors = at.tape, at.state or {}, self._borders, self.factors
        projected = op.linear(tape, normed, at.projection(f"{self.name}.in_proj", factors.input), name="projected")
        columns = [projected.columns(first, last) for first, last in pairwise(borders)]
        op.scale_in_place(tape, projected, columns, factors.parts)
        mixed = op.causal_conv_silu(
            tape, projected.columns(borders[1], borders[4]), at.parameter(f"{self.name}.conv1d.weight"),
            at.parameter(f"{self.name}.conv1d.bias"), at.length, state.get("history"), at.decoding,
        )  # fmt: skip
        shape = SsdShape(normed.shape[0] // at.length, at.length, self.h, self.e, self.g, self.n)
        y = state_space_dual(
            tape, mixed, columns[4], self._weights(at), shape, state.get("state"), state.get("coefficients")
        )
        norm = GroupNorm(at.parameter(f"{self.name}.norm.weight"), self.g, self.epsilon) if self.gated_norm else None
        out = at.projection(f"{self.name}.out_proj", factors.output)
        return gated_projection(tape, y, columns[0], out, x, at.dead, at.rows, norm)


def _log_of_counts(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.log(np.arange(1, shape[0] + 1))
