"""The Mamba-1 block.

    norm ─▶ in_proj ─▶ conv, silu ─▶ selective scan ─▶ · silu(z) ─▶ out_proj ─▶ +

Shapes: t tokens, m model width, d inner width, n state, k taps, r rank of delta; xz (t, 2d), u and y (t, d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.graph import operations as op
from engine.graph.gating import gated_projection
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
    uniform,
)


@dataclass(frozen=True)
class Mamba1(Block):
    """`time_steps`: lowest, highest and floor of delta when it is first drawn; `depth`: layers of the model."""

    m: int
    d: int
    n: int
    k: int
    r: int
    epsilon: float
    bias: bool
    conv_bias: bool
    depth: int
    time_steps: tuple[float, float, float]

    def parameters(self) -> tuple[ParameterSpec, ...]:
        m, d, n, k, r = self.m, self.d, self.n, self.k, self.r
        by_in, by_inner, by_taps = uniform(m**-0.5), uniform(d**-0.5), uniform(k**-0.5)
        biases = {
            "mixer.conv1d.bias": self.conv_bias,
            "mixer.in_proj.bias": self.bias,
            "mixer.out_proj.bias": self.bias,
        }
        specs = (
            ParameterSpec("norm.weight", (m,), ones, decays=False, gguf="attn_norm.weight", label="norm"),
            ParameterSpec(
                "mixer.A_log", (d, n), _log_of_counts, decays=False, gguf="ssm_a", label="decay A", short="A", used=5,
                to_gguf=decays, from_gguf=lambda A: np.log(-A),
            ),
            ParameterSpec("mixer.D", (d,), ones, decays=False, gguf="ssm_d", label="skip D", short="D", used=6),
            ParameterSpec(
                "mixer.conv1d.weight", (d, 1, k), by_taps, gguf="ssm_conv1d.weight", label="convolution", short="conv",
                used=2, to_gguf=lambda w: w.reshape(d, k), from_gguf=lambda w: w.reshape(d, 1, k),
            ),
            ParameterSpec(
                "mixer.conv1d.bias", (d,), by_taps, decays=False, gguf="ssm_conv1d.bias", label="convolution bias",
                short="bias", used=2,
            ),
            ParameterSpec(
                "mixer.in_proj.weight", (2 * d, m), by_in, packs=True, adapted=True, gguf="ssm_in.weight",
                label="input projection", short="in", used=1,
            ),
            ParameterSpec(
                "mixer.in_proj.bias", (2 * d,), by_in, decays=False, label="input bias", short="bias", used=1
            ),
            ParameterSpec(
                "mixer.x_proj.weight", (r + 2 * n, d), by_inner, packs=True, gguf="ssm_x.weight",
                trained_by={"wsla": (r, r + 2 * n)},  # rows of B and C; those of delta come first
                label="B, C, delta projection", short="x", used=3,
            ),
            ParameterSpec(
                "mixer.dt_proj.weight", (d, r), uniform(r**-0.5), packs=True, gguf="ssm_dt.weight",
                label="delta projection", short="dt", used=4,
            ),
            ParameterSpec(
                "mixer.dt_proj.bias", (d,), time_steps(*self.time_steps), decays=False, gguf="ssm_dt.bias",
                label="delta bias", short="bias", used=4,
            ),
            ParameterSpec(
                "mixer.out_proj.weight", (m, d), uniform(d**-0.5 / math.sqrt(self.depth)), packs=True, adapted=True,
                gguf="ssm_out.weight", label="output projection", short="out", used=7,
            ),
            ParameterSpec(
                "mixer.out_proj.bias", (m,), by_inner, decays=False, label="output bias", short="bias", used=7
            ),
        )  # fmt: skip
        return tuple(spec for spec in specs if biases.get(spec.name, True))

    def states(self) -> tuple[StateSpec, ...]:
        history = (StateSpec("history", (self.k - 1, self.d), RECURRENT),) if self.k > 1 else ()
        return (
            *history,
            StateSpec("state", (self.n, self.d), RECURRENT),
            StateSpec("coefficients", (self.n + 2, self.d), PREPARED),
        )

    @property
    def channels(self) -> int:
        return self.d

    def prepare(self, at: BlockPass) -> None:
        A_log, D, dt_bias = (at.parameter(f"mixer.{name}").tensor for name in ("A_log", "D", "dt_proj.bias"))
        at.tape.emit("scan_coefficients", A_log, D, dt_bias, at.state["coefficients"])

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        tape, state = at.tape, at.state or {}

        def weight(name: str):
            return at.parameter(f"mixer.{name}")

        normed = op.rmsnorm(tape, x, at.parameter("norm.weight"), self.epsilon)
        xz = op.linear(tape, normed, at.projection("mixer.in_proj"), name="xz")
        u = op.causal_conv_silu(
            tape, xz.columns(0, self.d), weight("conv1d.weight"), weight("conv1d.bias"), at.length,
            state.get("history"), at.decoding,
        )  # fmt: skip
        y = op.selective_state_space(
            tape, u, weight("x_proj.weight"), weight("dt_proj.weight"), weight("dt_proj.bias"), weight("A_log"),
            weight("D"), at.length, state.get("state"), state.get("coefficients"),
        )  # fmt: skip
        z = xz.columns(self.d, 2 * self.d)
        return gated_projection(tape, y, z, at.projection("mixer.out_proj"), x, at.dead, at.rows)


def _log_of_counts(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(np.log(np.arange(1, shape[1] + 1)), shape)
