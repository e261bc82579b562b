"""How long a step of a whole model takes, without its weights: measured on models cut down from it.

The layers of a model have the same shapes, and its head is one product with a row for each token of the vocabulary.
So the time of a step is linear in both numbers, and three small models with stand-in weights say what each adds:

    small     one layer, hardly any vocabulary
    deeper    a few layers more
    wider     a part of the vocabulary more
"""

from __future__ import annotations

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
        """The seconds of a step of the whole model; `seconds_of` measures a step of one of the three."""
        whole, small = self.whole, self.small
        base = seconds_of(small)
        a_layer, a_token = 0.0, 0.0
        if more_layers := self.deeper.num_hidden_layers - small.num_hidden_layers:
            a_layer = max(seconds_of(self.deeper) - base, 0.0) / more_layers
        if more_tokens := self.wider.vocab_size - small.vocab_size:
            a_token = max(seconds_of(self.wider) - base, 0.0) / more_tokens
        layers, tokens = whole.num_hidden_layers - small.num_hidden_layers, whole.vocab_size - small.vocab_size
        return base + layers * a_layer + tokens * a_token


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
