"""How long a step of a whole model takes, without its weights: measured on models cut down from it.

Layers of one kind have the same shapes, and the head is one product with a row for each token of the vocabulary.
So the time of a step is linear in these numbers, and small models with stand-in weights say what each adds:

    small     one layer, of the commonest kind, hardly any vocabulary
    deeper    a few layers more, of one kind; as many such models as there are kinds
    wider     a part of the vocabulary more
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.devices.interface import Device
from engine.model.architectures.architecture import Architecture
from engine.model.blocks.block import Block
from engine.model.model import Model

LAYERS = 5  # of a kind, at most
TOKENS, MORE_TOKENS = 256, 32_768  # of the vocabulary; the larger one's head is larger than most caches
WEIGHT_BYTES = 6  # of a weight, at most: float32, and the copy that a decoder reads
ROOM = 3  # a deeper one takes at most a third of the memory ceiling, if one layer more fits into that
ROUNDS = 3  # at most
PLAUSIBLE = 0.4  # of as many times one layer's time, at least, that several layers take
SPREAD = 0.02  # of the stand-in weights
ROWS = 64  # that differ, in the matrices of a mixture


@dataclass(frozen=True)
class Deeper:
    """The small model with `more` further layers of one kind, of which the whole one has `left` more than the small."""

    config: Architecture
    more: int
    left: int


@dataclass(frozen=True)
class Cuts:
    """The whole model, of which only the shapes are known, and those that are measured."""

    whole: Architecture
    small: Architecture
    deeper: tuple[Deeper, ...]  # the first: of the kind that the small one has
    wider: Architecture

    @property
    def layers(self) -> int:
        """How many of the model's layers are measured at most."""
        return self.small.num_hidden_layers + sum(each.more for each in self.deeper)

    def whole_seconds(self, seconds_of: Callable[[Architecture], float]) -> float:
        """The seconds of a step of the whole model; `seconds_of` measures a step of one of the others.

        What disturbs one of them (another program, for a moment) would be multiplied.  So the small one is measured
        before and after the others, and all of them again as long as one layer takes nearly as long as several.
        """
        small, wider, deeper = math.inf, math.inf, [math.inf] * len(self.deeper)
        for _ in range(ROUNDS):
            small = min(small, seconds_of(self.small))
            deeper = [min(best, seconds_of(cut.config)) for best, cut in zip(deeper, self.deeper, strict=True)]
            if self.more_tokens:
                wider = min(wider, seconds_of(self.wider))
            if self.deeper or self.more_tokens:
                small = min(small, seconds_of(self.small))
            if self._plausible(small, deeper) and wider > small:
                break
        layers = [cut.left * max(best - small, 0.0) / cut.more for best, cut in zip(deeper, self.deeper, strict=True)]
        a_token = max(wider - small, 0.0) / self.more_tokens if self.more_tokens else 0.0
        return small + sum(layers) + (self.whole.vocab_size - self.small.vocab_size) * a_token

    def _plausible(self, small: float, deeper: list[float]) -> bool:
        """Several layers like the small model's take several times as long, and other layers take any time at all."""
        alike = [
            best >= PLAUSIBLE * cut.config.num_hidden_layers * small
            for best, cut in zip(deeper, self.deeper, strict=True)
            if len(set(_kinds(cut.config))) == 1
        ]
        return all(alike) and all(best > small for best in deeper)

    @property
    def more_tokens(self) -> int:
        return self.wider.vocab_size - self.small.vocab_size


def cuts_of(config: Architecture, ceiling: int) -> Cuts:
    """`ceiling`: bytes of memory that the device may use."""
    narrow = replace(config, vocab_size=min(TOKENS, config.vocab_size))
    places: dict[tuple[Block, ...], list[int]] = {}
    for layer, kind in enumerate(_kinds(config)):
        places.setdefault(kind, []).append(layer)
    first, *others = sorted(places.values(), key=len, reverse=True)
    small, deeper = narrow.with_layers(first[:1]), []
    for left in (first[1:], *others):
        if not left:
            continue
        more = min(LAYERS - 1, len(left))
        while more > 1 and WEIGHT_BYTES * _with(narrow, first[0], left[:more]).parameter_count > ceiling // ROOM:
            more -= 1
        deeper.append(Deeper(_with(narrow, first[0], left[:more]), more, len(left)))
    wider = replace(small, vocab_size=min(MORE_TOKENS, config.vocab_size))
    return Cuts(config, small, tuple(deeper), wider)


def _kinds(config: Architecture) -> list[tuple[Block, ...]]:
    """Of each layer, what it computes."""
    return [config.blocks(layer) for layer in range(config.num_hidden_layers)]


def _with(config: Architecture, layer: int, more: list[int]) -> Architecture:
    return config.with_layers([layer, *more])


def stand_in_model(config: Architecture, device: Device) -> Model:
    """A model whose weights mean nothing, made in the time of writing them.

    Every row is the same, except in a mixture, where that would send every token to the same experts.  Zeros would not
    do: the system gives unwritten memory from one page that stays in the cache.
    """
    random = np.random.default_rng(0)
    model = Model(config, device)
    try:
        for name, shape in config.parameter_shapes().items():
            differ = min(ROWS, shape[0]) if config.experts and len(shape) == 2 else 1
            rows = np.asarray(SPREAD * random.standard_normal((differ, *shape[1:])), np.float32)
            model.parameters.fill({name: np.resize(rows, shape) if differ > 1 else np.broadcast_to(rows, shape)})
    except BaseException:
        model.close()
        raise
    return model
