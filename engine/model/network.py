"""The network: embedding, blocks in order, norm, head.  Knows no block by name.

The same `Network` writes the programs of training and of decoding: what differs is whether blocks are given a state.
Shapes: ids (t,), residual stream (t, m), logits (t, v), with t = b*l tokens of b sequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from engine.graph import operations as op
from engine.graph.mixture import ExpertLoad
from engine.graph.parameters import LowRankPair, PackedMatrix, Parameter
from engine.graph.projections import Projection, multiply
from engine.graph.tape import Tape
from engine.graph.tensor import Tensor, View
from engine.model.architectures.architecture import Architecture
from engine.model.blocks.block import BlockPass

States = Mapping[tuple[int, int], Mapping[str, View]]  # by layer and place of the block in it


@dataclass(frozen=True)
class Network:
    """A configuration with its parameters; low-rank pairs and packed copies by the name of their weight."""

    config: Architecture
    parameters: dict[str, Parameter]
    adapters: dict[str, LowRankPair] = field(default_factory=dict)
    packed: Mapping[str, tuple[PackedMatrix, ...]] = field(default_factory=dict)

    @property
    def embedding(self) -> Parameter:
        return self.parameters[self.config.embedding_name]

    @property
    def head(self) -> Parameter:
        return self.parameters[self.head_name]

    @property
    def head_name(self) -> str:
        return self.config.embedding_name if self.config.tie_word_embeddings else self.config.head_name

    def projection(self, name: str, alpha: float = 1.0) -> Projection:
        """`name`.weight with what belongs to it."""
        weight = f"{name}.weight"
        (packed,) = self.packed.get(weight, (None,))
        return Projection(
            self.parameters[weight], self.parameters.get(f"{name}.bias"), self.adapters.get(weight), packed, alpha
        )

    # ---- training

    def hidden(
        self,
        tape: Tape,
        ids: Tensor,
        order: Tensor | None,
        length: int,
        places: Tensor | None = None,
        recompute: int = 0,
        load: ExpertLoad | None = None,
    ) -> Tensor:
        """The normed output of the last layer (t, m).

        `order` and `places`: see `operations.embedding`. `recompute`: so many layers keep no activations for the
        backward. They are the first ones: when the last layer's backward begins, everything that is kept is there, and
        a layer recomputed at that moment would save nothing. `load`: counts the tokens of each expert, in a mixture.
        """
        reach, rotations = self.place_inputs(tape, ids.shape[0], length)
        x = op.embedding(tape, ids, order, self.embedding, places, self.config.embedding_factor)
        for layer, group in groupby(self.config.layers(), key=lambda place: place[0]):
            blocks = [
                (block, BlockPass(tape, self, prefix, layer, length, reach, rotations, load=load))
                for _, prefix, block in group
            ]

            def compute(x: Tensor, blocks=blocks) -> Tensor:
                for block, at in blocks:
                    x = block.forward(at, x)
                return x

            x = tape.recomputed(x, compute) if layer < recompute else compute(x)
        return self.normed(tape, x)

    def place_inputs(self, tape: Tape, tokens: int, positions: int) -> tuple[Tensor | None, Tensor | None]:
        """The inputs `reach` (t, 3) and `rotations` (positions, width), where the network attends and rotates."""
        if not self.config.attends:
            return None, None
        table = self.config.rotations(np.zeros(1))
        rotations = None if table is None else tape.input("rotations", (positions, table.shape[1]))
        return tape.input("reach", (tokens, 3), "int32"), rotations

    def normed(self, tape: Tape, x: Tensor) -> Tensor:
        return op.rmsnorm(tape, x, self.parameters[self.config.norm_name], self.config.norm_epsilon)

    # ---- decoding

    def prepare(self, tape: Tape, states: States) -> None:
        """Emit what blocks derive from their weights."""
        for number, (layer, prefix, block) in self._numbered():
            if (layer, number) in states:
                block.prepare(BlockPass(tape, self, prefix, layer, 0, state=states[layer, number]))

    def decoded(
        self,
        tape: Tape,
        ids: Tensor | View,
        states: States,
        rows: int,
        reach: Tensor | View | None,
        rotations: Tensor | None,
    ) -> Tensor:
        """All layers on ids (t,) from `states` on, which move on; the last layer gives its last `rows` rows only."""
        t, last = ids.shape[0], self.config.num_hidden_layers - 1
        x = op.embedding(tape, ids, None, self.embedding, factor=self.config.embedding_factor)
        for number, (layer, prefix, block) in self._numbered():
            if layer == last and rows == 0 and (layer, number) not in states:
                continue  # it would change nothing that is kept
            wanted = rows if layer == last and number == 0 and rows < t else None
            state = states.get((layer, number), {})
            x = block.forward(BlockPass(tape, self, prefix, layer, t, reach, rotations, state, wanted), x)
        return x

    def logits(self, tape: Tape, x: Tensor, logits: Tensor) -> None:
        """The scores (t, v) of the token after each row of x (t, m), from the output of the last layer."""
        normed = self.normed(tape, x)
        packed = self.packed.get(self.head_name, (None,) * len(self.head.blocks))
        for first, block, copy in zip(self.head.first_rows, self.head.blocks, packed, strict=True):
            part = logits.columns(first, first + block.shape[0])
            multiply(tape, normed, copy or block, part, None, None, self.config.logits_factor)

    def _numbered(self):
        """Every block with its place in its layer."""
        for _, group in groupby(self.config.layers(), key=lambda place: place[0]):
            yield from enumerate(group)
