"""The shared-expert mixture of Granite: a gated MLP that every token passes, and beside it k of e smaller ones.

    norm ─┬─▶ shared MLP ─────────────────────────▶ +
          └─▶ router ─▶ k of e experts, weighted ──▶ +

Shapes: t tokens, m model width, f width of the shared MLP, x width of an expert, e experts, k of them for a token.
Low-rank pairs are put on the shared MLP; a pair for each of many experts would see few tokens of a repository each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.graph import operations as op
from engine.graph.mixture import Experts, add_experts
from engine.graph.tensor import Tensor
from engine.model.blocks.block import Block, BlockPass, ParameterSpec, normal
from engine.model.blocks.gated_mlp import FIRST, GatedMlp

ROUTER, INPUTS, OUTPUT = (f"block_sparse_moe.{name}" for name in ("router.layer", "input_linear", "output_linear"))


@dataclass(frozen=True)
class Mixture(Block):
    """`residual`: a factor of the output before it is added."""

    m: int
    f: int
    x: int
    e: int
    k: int
    epsilon: float
    residual: float = 1.0

    @property
    def _shared(self) -> GatedMlp:
        return GatedMlp(self.m, self.f, self.epsilon, self.residual, joined=True)

    def parameters(self) -> tuple[ParameterSpec, ...]:
        m, x, e = self.m, self.x, self.e
        stack = {"draw": normal(FIRST), "packs": True}
        experts = (
            ParameterSpec(
                f"{INPUTS}.weight", (e, 2 * x, m), **stack, gguf="ffn_gate_exps.weight|ffn_up_exps.weight",
                to_gguf=lambda w: np.split(w, 2, axis=1), from_gguf=lambda parts: np.concatenate(parts, axis=1),
                label="gate and up of experts", short="experts in",
            ),
            ParameterSpec(
                f"{OUTPUT}.weight", (e, m, x), **stack, gguf="ffn_down_exps.weight", label="down of experts",
                short="experts down",
            ),
            ParameterSpec(
                f"{ROUTER}.weight", (e, m), normal(FIRST), gguf="ffn_gate_inp.weight", label="router", short="router"
            ),
        )  # fmt: skip
        norm, *shared = self._shared.parameters()
        return (norm, *experts, *(replace(spec, gguf=spec.gguf.replace(".weight", "_shexp.weight")) for spec in shared))

    @property
    def channels(self) -> int:
        return self._shared.channels

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        normed = op.rmsnorm(at.tape, x, at.parameter("post_attention_layernorm.weight"), self.epsilon)
        out = self._shared.add_to(at, normed, x)
        experts = Experts(*map(at.projection, (ROUTER, INPUTS, OUTPUT)), self.k, self.residual)
        add_experts(at.tape, normed, experts, out, at.layer, at.load, at.decoding)
        return out
