"""The Mamba-1 forward pass on a tape: the whole network, readable in one sitting.

    embed ─▶ [ norm ─▶ in_proj ─▶ conv, silu ─▶ selective scan ─▶ · silu(z) ─▶ out_proj ─▶ + ] x layers ─▶ norm ─▶ head

Shapes: ids (t,), residual stream (t, m), xz (t, 2d), u and y (t, d), with t = b*l tokens of b sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.graph import operations as op
from engine.graph.kernels import LayerStatistics
from engine.graph.operations import Projection
from engine.graph.parameters import LowRankPair, Parameter
from engine.graph.tape import Tape
from engine.graph.tensor import Tensor
from engine.model.config import ModelConfig
from engine.model.selection import EMBEDDING


@dataclass(frozen=True)
class Network:
    """A configuration with its parameters, and the low-rank pairs by the name of the weight that they adapt."""

    config: ModelConfig
    parameters: dict[str, Parameter]
    adapters: dict[str, LowRankPair] = field(default_factory=dict)

    @property
    def head(self) -> Parameter:
        tied = self.config.tie_word_embeddings
        return self.parameters[EMBEDDING if tied else "lm_head.weight"]

    def hidden(
        self,
        tape: Tape,
        ids: Tensor,
        order: Tensor | None,
        length: int,
        places: Tensor | None = None,
        recompute: int = 0,
    ) -> Tensor:
        """The normed output of the last layer (t, m).

        `order` and `places`: see `operations.embedding`. `recompute`: so many layers keep no activations for the
        backward. They are the first ones: when the last layer's backward begins, everything that is kept is there, and
        a layer recomputed at that moment would save nothing.
        """
        x = op.embedding(tape, ids, order, self.parameters[EMBEDDING], places)
        for layer in range(self.config.num_hidden_layers):

            def block(x: Tensor, layer: int = layer) -> Tensor:
                return self.block(tape, x, layer, length)

            x = tape.recomputed(x, block) if layer < recompute else block(x)
        return op.rmsnorm(tape, x, self.parameters["backbone.norm_f.weight"], self.config.layer_norm_epsilon)

    def block(self, tape: Tape, x: Tensor, layer: int, length: int) -> Tensor:
        """One layer on the residual stream x (t, m)."""
        prefix = f"backbone.layers.{layer}"

        def weight(name: str) -> Parameter | None:
            return self.parameters.get(f"{prefix}.mixer.{name}")

        normed = op.rmsnorm(tape, x, self.parameters[f"{prefix}.norm.weight"], self.config.layer_norm_epsilon)
        xz = op.linear(tape, normed, self._projection(prefix, "in_proj"), name="xz")
        u = op.causal_conv_silu(tape, xz, weight("conv1d.weight"), weight("conv1d.bias"), length)
        y = op.selective_state_space(
            tape,
            u,
            weight("x_proj.weight"),
            weight("dt_proj.weight"),
            weight("dt_proj.bias"),
            weight("A_log"),
            weight("D"),
            length,
        )
        dead = tape.layer_statistics(layer, LayerStatistics.DEAD)
        return op.gated_projection(tape, y, xz, self._projection(prefix, "out_proj"), residual=x, dead=dead)

    def _projection(self, prefix: str, name: str) -> Projection:
        weight = f"{prefix}.mixer.{name}.weight"
        return Projection(
            self.parameters[weight], self.parameters.get(f"{prefix}.mixer.{name}.bias"), self.adapters.get(weight)
        )
