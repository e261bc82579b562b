"""The gated MLP of a dense decoder (SwiGLU).

    norm ─▶ gate, up ─▶ silu(gate) · up ─▶ down ─▶ +

Shapes: t tokens, m model width, f inner width; gate | up (t, 2f).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.graph import dense
from engine.graph import operations as op
from engine.graph.tensor import Tensor
from engine.model.blocks.block import Block, BlockPass, ParameterSpec, normal, ones

FIRST = 0.02  # deviation of first weights


@dataclass(frozen=True)
class GatedMlp(Block):
    """`joined`: gate and up are one matrix (Granite); `residual`: a factor of the output before it is added."""

    m: int
    f: int
    epsilon: float
    residual: float = 1.0
    joined: bool = False

    @property
    def _inputs(self) -> tuple[str, ...]:
        return ("shared_mlp.input_linear",) if self.joined else ("mlp.gate_proj", "mlp.up_proj")

    @property
    def _output(self) -> str:
        return "shared_mlp.output_linear" if self.joined else "mlp.down_proj"

    def parameters(self) -> tuple[ParameterSpec, ...]:
        m, f = self.m, self.f
        norm = ParameterSpec(
            "post_attention_layernorm.weight", (m,), ones, decays=False, gguf="ffn_norm.weight", label="norm of MLP",
            short="norm",
        )  # fmt: skip
        matrix = {"draw": normal(FIRST), "packs": True, "adapted": True}
        if self.joined:
            inputs = [
                ParameterSpec(
                    "shared_mlp.input_linear.weight", (2 * f, m), **matrix, gguf="ffn_gate.weight|ffn_up.weight",
                    to_gguf=lambda w: np.split(w, 2), from_gguf=np.concatenate, label="gate and up", short="in",
                )
            ]  # fmt: skip
        else:
            inputs = [
                ParameterSpec(
                    f"mlp.{name}_proj.weight", (f, m), **matrix, gguf=f"ffn_{name}.weight", label=name, short=name
                )
                for name in ("gate", "up")
            ]
        output = ParameterSpec(
            f"{self._output}.weight", (m, f), **matrix, gguf="ffn_down.weight", label="down", short="down"
        )
        return (norm, *inputs, output)

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        normed = op.rmsnorm(at.tape, x, at.parameter("post_attention_layernorm.weight"), self.epsilon)
        return self.add_to(at, normed, x)

    def add_to(self, at: BlockPass, normed: Tensor, x: Tensor) -> Tensor:
        """x + what becomes of `normed`."""
        inputs = tuple(at.projection(name) for name in self._inputs)
        return dense.gated_mlp(at.tape, normed, inputs, at.projection(self._output, self.residual), x, at.dead)
