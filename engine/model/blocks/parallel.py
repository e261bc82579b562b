"""Two mixers beside each other: Mamba-2 and attention read the same norm, and both add to the residual stream."""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph import operations as op
from engine.graph.tensor import Tensor
from engine.model.blocks.attention import NORM, Attention
from engine.model.blocks.block import Block, BlockPass, ParameterSpec, StateSpec, ones
from engine.model.blocks.mamba2 import Mamba2


@dataclass(frozen=True)
class ParallelMixers(Block):
    mamba: Mamba2
    attention: Attention

    def parameters(self) -> tuple[ParameterSpec, ...]:
        norm = ParameterSpec(NORM, (self.mamba.m,), ones, decays=False, gguf="attn_norm.weight", label="norm")
        return (norm, *self.mamba.own_parameters(), *self.attention.own_parameters())

    def states(self) -> tuple[StateSpec, ...]:
        return (*self.mamba.states(), *self.attention.states())

    @property
    def attends(self) -> bool:
        return True

    @property
    def channels(self) -> int:
        return self.mamba.channels

    def prepare(self, at: BlockPass) -> None:
        self.mamba.prepare(at)

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        normed = op.rmsnorm(at.tape, x, at.parameter(NORM), self.mamba.epsilon)
        return self.attention.mix(at, normed, self.mamba.mix(at, normed, x))
