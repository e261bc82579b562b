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
from engine.model.blocks.block import Block, BlockPass, ParameterSpec, normal, ones, times

FIRST = 0.02  # deviation of first weights


@dataclass(frozen=True)
class GatedMlp(Block):
    """`joined`: gate and up are one matrix (Granite); `residual`: a factor of the output before it is added; `gate`:
    one of what goes through SiLU; `norm` and `name`: what its parameters are called; `folded`: a GGUF file
    holds weights that are multiplied by the factors, and no suffix on the norm.
    """

    m: int
    f: int
    epsilon: float
    residual: float = 1.0
    joined: bool = False
    gate: float = 1.0
    norm: str = "post_attention_layernorm"
    name: str = "mlp"
    folded: bool = False

    @property
    def _inputs(self) -> dict[str, float]:
        """The projections of its input, with their factors."""
        if self.joined:
            return {"shared_mlp.input_linear": 1.0}
        return {f"{self.name}.gate_proj": self.gate, f"{self.name}.up_proj": 1.0}

    @property
    def _output(self) -> str:
        return "shared_mlp.output_linear" if self.joined else f"{self.name}.down_proj"

    def parameters(self) -> tuple[ParameterSpec, ...]:
        m, f = self.m, self.f
        norm = ParameterSpec(
            f"{self.norm}.weight", (m,), ones, decays=False, gguf="ffn_norm" if self.folded else "ffn_norm.weight",
            label="norm of MLP", short="norm",
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
                    f"{self.name}.{part}_proj.weight", (f, m), **matrix, gguf=f"ffn_{part}.weight",
                    to_gguf=times(factor, self.folded), label=part, short=part,
                )
                for part, factor in (("gate", self.gate), ("up", 1.0))
            ]  # fmt: skip
        output = ParameterSpec(
            f"{self._output}.weight", (m, f), **matrix, gguf="ffn_down.weight",
            to_gguf=times(self.residual, self.folded), label="down", short="down",
        )  # fmt: skip
        return (norm, *inputs, output)

    @property
    def channels(self) -> int:
        return self.f

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        normed = op.rmsnorm(at.tape, x, at.parameter(f"{self.norm}.weight"), self.epsilon)
        return self.add_to(at, normed, x)

    def add_to(self, at: BlockPass, normed: Tensor, x: Tensor) -> Tensor:
        """x + what becomes of `normed`."""
        inputs = tuple(at.projection(name, factor) for name, factor in self._inputs.items())
        return dense.gated_mlp(at.tape, normed, inputs, at.projection(self._output, self.residual), x, at.dead)
