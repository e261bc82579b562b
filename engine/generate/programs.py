"""The passes of a decoder as programs: the forward pass over some tokens, from a state to a state.

Up to eight tokens go through kernels of their own, which read every weight once for all of them; more go through the
kernels of training, in chunks. What a block keeps between two passes is stated by the block.
"""

from __future__ import annotations

import math

from engine.devices.interface import Device
from engine.generate.quantised import DecodeWeights
from engine.graph.kernels import TOP
from engine.graph.tape import Tape
from engine.graph.tensor import READ_BACK, Kind, Program, Slab, Tensor, View
from engine.model.architectures.architecture import Architecture
from engine.model.blocks.block import CACHE, PREPARED, RECURRENT

PLAIN, SAVE, RETURN = "plain", "save", "return"  # what a program does first with the recurrent state
BEST = 3  # numbers that `top_k` gives of one best score
WANTED = 1024  # tokens whose scores come back from a reading ahead


class DecodeState:
    """Where a decoder's state lives: for each thing that blocks keep one tensor over all layers that keep it.

    `context`: rows of a cache, one a token.
    """

    def __init__(self, config: Architecture, context: int, most_bytes: int) -> None:
        self.slabs: list[Slab] = []
        self.tensors: dict[str, Tensor] = {}  # by name and shape of what is kept
        self.roles: dict[str, str] = {}
        self.by_block: dict[tuple[int, int], dict[str, View]] = {}
        self.saved: dict[str, Tensor] = {}  # what is recurrent, as it was before the tokens that may have to be undone
        self.saved_slab = Slab("decoding state before guessed tokens", Kind.DECODE)
        self.context = context
        places: dict[str, list[tuple[int, int]]] = {}
        specs = {}
        for (layer, number), block in _blocks(config):
            for spec in block.states():
                shape = (context, *spec.shape) if spec.role == CACHE else spec.shape
                key = f"{spec.name} {'x'.join(map(str, shape))}"
                specs[key] = (spec, shape)
                places.setdefault(key, []).append((layer, number))
        for key, (spec, shape) in specs.items():
            self._add(key, spec, shape, places[key], most_bytes)

    def _add(self, key: str, spec, shape: tuple[int, ...], blocks: list[tuple[int, int]], most_bytes: int) -> None:
        """One tensor for all blocks, or several where it would be larger than the device binds at once."""
        one = Tensor(key, shape, spec.dtype).nbytes
        together = max(1, min(len(blocks), most_bytes // max(one, 1)))
        for start in range(0, len(blocks), together):
            part = blocks[start : start + together]
            slab = Slab(f"decoding state: {key}, {start}", Kind.DECODE)
            tensor = slab.add(key, (len(part), *shape), spec.dtype)
            self.slabs.append(slab)
            name = f"{key} {start}"
            self.tensors[name], self.roles[name] = tensor, spec.role
            if spec.role == RECURRENT:
                self.saved[name] = self.saved_slab.add(name, tensor.shape, spec.dtype)
            for place, block in enumerate(part):
                view = tensor.view(place * math.prod(shape), shape)
                self.by_block.setdefault(block, {})[spec.name] = view

    def of_role(self, role: str) -> dict[str, Tensor]:
        return {name: tensor for name, tensor in self.tensors.items() if self.roles[name] == role}

    @property
    def has_cache(self) -> bool:
        return CACHE in self.roles.values()

    @property
    def is_recurrent(self) -> bool:
        return RECURRENT in self.roles.values()


def _blocks(config: Architecture):
    for layer in range(config.num_hidden_layers):
        for number, block in enumerate(config.blocks(layer)):
            yield (layer, number), block


class Passes:
    """Writes the programs of one decoder."""

    def __init__(self, weights: DecodeWeights, device: Device, state: DecodeState) -> None:
        self._weights, self._device, self._state = weights, device, state

    @property
    def has_preparation(self) -> bool:
        return PREPARED in self._state.roles.values()

    def preparation(self) -> Program:
        """What blocks derive from the weights as they are now."""
        tape = Tape("preparation", self._device)
        self._weights.network.prepare(tape, self._state.by_block)
        return tape.program

    def packing(self) -> Program:
        """The copies of the weights in fewer bits."""
        return self._weights.packing_program()

    def read(self, tokens: int, give: str) -> Program:
        """Reads `tokens` ids and gives, of the token after the last one: "nothing", "logits" (1, v) or "top" (the 64
        best, see `top_k`); "each" gives the logits (tokens, v) after each of them.
        """
        tape = Tape(f"reading of {tokens} tokens", self._device)
        ids = tape.input("ids", (tokens,), "int32")
        reach, rotations = self._weights.network.place_inputs(tape, tokens, tokens)
        rows = {"nothing": 0, "each": tokens}.get(give, 1)
        x = self._weights.network.decoded(tape, ids, self._state.by_block, rows, reach, rotations)
        if give in ("logits", "each"):
            tape.output("logits", self._logits(tape, x))
        elif give == "top":
            best = tape.output(READ_BACK, tape.new("best", (1, 1 + 2 * TOP), Kind.WORKSPACE))
            tape.emit("top_k", self._logits(tape, x), best)
        return tape.program

    def greedy(self, tokens: int) -> Program:
        """Reads one id and then, `tokens` - 1 times, the best one after it; gives the best ones."""
        tape = Tape(f"decoding of {tokens} tokens", self._device)
        ids = tape.input("ids", (1,), "int32").view()
        reach, rotations = self._weights.network.place_inputs(tape, tokens, tokens)
        chosen = tape.output(READ_BACK, tape.new("chosen", (tokens,), Kind.WORKSPACE, "int32"))
        for number in range(tokens):
            own = reach.rows(number, number + 1) if reach is not None else None
            x = self._weights.network.decoded(tape, ids, self._state.by_block, 1, own, rotations)
            ids = chosen.view(number, (1,))
            tape.emit("argmax", self._logits(tape, x), ids)
        return tape.program

    def drawn(self, tokens: int, window: int) -> Program:
        """Reads one id and then, `tokens` - 1 times, the one that was drawn after it; gives what `choose_token` says of
        each.  `recent` (window,): the tokens before, which a penalty counts with those drawn; no penalty where it is 0.
        The recurrent state is saved first: a token that must be drawn from all scores is not known here.
        """
        tape = Tape(f"drawing of {tokens} tokens", self._device)
        ids = tape.input("ids", (1,), "int32").view()
        settings = tape.input("settings", (5,))
        chances = tape.input("chances", (tokens,))
        recent = tape.input("recent", (window,), "int32") if window else None
        reach, rotations = self._weights.network.place_inputs(tape, tokens, tokens)
        chosen = tape.output(READ_BACK, tape.new("chosen", (tokens, 2), Kind.WORKSPACE, "int32"))
        self._move_state(tape, SAVE)
        for number in range(tokens):
            own = reach.rows(number, number + 1) if reach is not None else None
            x = self._weights.network.decoded(tape, ids, self._state.by_block, 1, own, rotations)
            logits = self._logits(tape, x)
            if recent is not None:
                before = chosen.rows(0, number) if number else None
                tape.emit("penalise_recent", logits, recent.view(number, (window - number,)), before, settings)
            best = tape.new("best", (1, 1 + 2 * TOP), Kind.WORKSPACE)
            tape.emit("top_k", logits, best)
            tape.emit(
                "choose_token", logits, best, settings, chances.view(number, (1,)), chosen.rows(number, number + 1)
            )
            ids = chosen.view(2 * number, (1,))
        return tape.program

    def ahead(self, tokens: int, start: str) -> Program:
        """Reads `tokens` ids of which the last may be wrong, and gives of the scores after each of them what a mixture
        with the memory needs: `top_k` of one, and the scores of the WANTED tokens in `wanted`.  All "logits" can be
        read, too.  `start`: whether the recurrent state is first saved, or brought back, or neither.
        """
        tape = Tape(f"reading of {tokens} tokens ahead", self._device)
        ids = tape.input("ids", (tokens,), "int32")
        wanted = tape.input("wanted", (WANTED,), "int32")
        reach, rotations = self._weights.network.place_inputs(tape, tokens, tokens)
        self._move_state(tape, start)
        x = self._weights.network.decoded(tape, ids, self._state.by_block, tokens, reach, rotations)
        logits = tape.output("logits", self._logits(tape, x))
        few = tape.output(READ_BACK, tape.new("few scores", (tokens * (BEST + WANTED),), Kind.WORKSPACE))
        tape.emit("top_k", logits, few.view(0, (tokens, BEST)))
        tape.emit("gather_columns", wanted, logits, few.view(tokens * BEST, (tokens, WANTED)))
        return tape.program

    def again(self, tokens: int) -> Program:
        """Goes back to the saved state and reads `tokens` ids, if any."""
        tape = Tape(f"reading of {tokens} tokens again", self._device)
        if not tokens:
            self._move_state(tape, RETURN)
            return tape.program
        ids = tape.input("ids", (tokens,), "int32")
        reach, rotations = self._weights.network.place_inputs(tape, tokens, tokens)
        self._move_state(tape, RETURN)
        self._weights.network.decoded(tape, ids, self._state.by_block, 0, reach, rotations)
        return tape.program

    def _move_state(self, tape: Tape, start: str) -> None:
        """Copies what is recurrent to where it is saved, or back."""
        for name, saved in self._state.saved.items() if start != PLAIN else ():
            source, target = (self._state.tensors[name], saved) if start == SAVE else (saved, self._state.tensors[name])
            rows = (source.size // source.shape[-1], source.shape[-1])
            if source.size:
                tape.emit("carry_state", source.view(0, (1, *rows)), target.view(0, rows))

    def _logits(self, tape: Tape, x: Tensor) -> Tensor:
        """The scores (t, v) of the token after each row of x."""
        network = self._weights.network
        logits = tape.new("logits", (x.shape[0], network.config.vocab_size), Kind.WORKSPACE)
        network.logits(tape, x, logits)
        return logits
