"""How long a step of a whole model takes, without its weights: measured on models cut down from it.

The layers of a model have the same shapes, and its head is one product with a row for each token of the vocabulary.
So the time of a step is linear in both numbers, and three small models with stand-in weights say what each adds:

    small     one layer, hardly any vocabulary
    deeper    a few layers more
    wider     a part of the vocabulary more
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engine.devices.interface import Device
from engine.model.architectures.architecture import Architecture
from engine.model.model import Model

LAYERS = 5  # of the deeper one, at most
TOKENS, MORE_TOKENS = 256, 32_768  # of the vocabulary; the larger one's head is larger than most caches
WEIGHT_BYTES = 6  # of a weight, at most: float32, and the copy that a decoder reads
ROOM = 3  # the deeper one takes at most a third of the memory ceiling, if two layers fit into that
ROUNDS = 3  # at most
PLAUSIBLE = 0.4  # of as many times one layer's time, at least, that several layers take
SPREAD = 0.02  # of the stand-in weights


@dataclass(frozen=True)
class Cuts:
    """The whole model, of which only the shapes are known, and the three that are measured."""

    whole: Architecture
    small: Architecture
    deeper: Architecture
    wider: Architecture

    @property
    def layers(self) -> int:
        """How many of the model's layers are measured at most."""
        return self.deeper.num_hidden_layers

    def whole_seconds(self, seconds_of: Callable[[Architecture], float]) -> float:
        """The seconds of a step of the whole model; `seconds_of` measures a step of one of the three.

        What disturbs one of them (another program, for a moment) would be multiplied.  So the small one is measured
        before and after the others, and all of them again as long as one layer takes nearly as long as several.
        """
        small, deeper, wider = (math.inf,) * 3
        for _ in range(ROUNDS):
            small = min(small, seconds_of(self.small))
            if self.more_layers:
                deeper = min(deeper, seconds_of(self.deeper))
            if self.more_tokens:
                wider = min(wider, seconds_of(self.wider))
            if self.more_layers or self.more_tokens:
                small = min(small, seconds_of(self.small))
            if deeper >= PLAUSIBLE * self.layers * small and wider > small:
                break
        a_layer = max(deeper - small, 0.0) / self.more_layers if self.more_layers else 0.0
        a_token = max(wider - small, 0.0) / self.more_tokens if self.more_tokens else 0.0
        layers = self.whole.num_hidden_layers - self.small.num_hidden_layers
        return small + layers * a_layer + (self.whole.vocab_size - self.small.vocab_size) * a_token

    @property
    def more_layers(self) -> int:
        return self.deeper.num_hidden_layers - self.small.num_hidden_layers

    @property
    def more_tokens(self) -> int:
        return self.wider.vocab_size - self.small.vocab_size


def cuts_of(config: Architecture, ceiling: int) -> Cuts:
    """`ceiling`: bytes of memory that the device may use."""
    small = replace(config, num_hidden_layers=1, vocab_size=min(TOKENS, config.vocab_size))
    layers = min(LAYERS, config.num_hidden_layers)
    deeper = replace(small, num_hidden_layers=layers)
    while deeper.num_hidden_layers > 2 and WEIGHT_BYTES * deeper.parameter_count > ceiling // ROOM:
        deeper = replace(deeper, num_hidden_layers=deeper.num_hidden_layers - 1)
    return Cuts(config, small, deeper, replace(small, vocab_size=min(MORE_TOKENS, config.vocab_size)))


def stand_in_model(config: Architecture, device: Device) -> Model:
    """A model whose weights mean nothing, made in the time of writing them.

    Every row is the same.  Zeros would not do: the system gives unwritten memory from one page that stays in the cache.
    """
    random = np.random.default_rng(0)
    model = Model(config, device)
    try:
        for name, shape in config.parameter_shapes().items():
            row = np.asarray(SPREAD * random.standard_normal(shape[1:]), np.float32)
            model.parameters.fill({name: np.broadcast_to(row, shape)})
    except BaseException:
        model.close()
        raise
    return model
