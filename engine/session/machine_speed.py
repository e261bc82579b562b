"""What this machine would do with a model that need not be here: tokens per second, measured on a few of its layers.

Only the shapes of the model are known, and nothing is fetched: `engine.model.shallow` cuts small models from them,
whose times say how long a step of the whole one takes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.devices import Device
from engine.generate.decoder import Decoder
from engine.generate.precision import automatic_precision
from engine.model.architectures.architecture import Architecture
from engine.model.shallow import cuts_of, stand_in_model
from engine.train.trial import layered_speed

MODE = "lora"  # what large models are adapted by
CONTEXT = 256  # tokens in the cache while tokens are timed
MOST_TOKENS, LEAST_TOKENS = 64, 10  # that are timed at one depth
SECONDS = 0.4  # for either kind of step, at one depth
CACHE_BYTES = 128 << 20  # more than the caches of most processors hold


@dataclass(frozen=True)
class MachineSpeed:
    """Tokens per second on one device: written, and learned with low-rank adapters.

    Measured on `layers` of the model's `of_layers`.
    """

    decode: float
    adapt: float
    layers: int
    of_layers: int


def model_key(config: Architecture) -> str:
    """The same for models of the same shapes, whatever their weights are."""
    layers = [config.blocks(layer) for layer in range(config.num_hidden_layers)]
    content = repr((config.model_type, layers, sorted(config.parameter_shapes().items())))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def measure_speed(config: Architecture, device: Device, check: Callable[[], None] = lambda: None) -> MachineSpeed:
    """Takes some seconds; `check` is called before each step and may raise."""
    decode = decoding_speed(config, device, check)
    adapt = layered_speed(config, device, MODE, seconds=SECONDS, check=check)
    return MachineSpeed(decode, adapt, cuts_of(config, device.ledger.ceiling).layers, config.num_hidden_layers)


def decoding_speed(config: Architecture, device: Device, check: Callable[[], None] = lambda: None) -> float:
    """Tokens written per second, in the precision that a model of this size is read in."""
    cuts, precision = cuts_of(config, device.ledger.ceiling), automatic_precision(config.parameter_count)
    token = cuts.whole_seconds(lambda cut: _token_seconds(cut, device, precision, check))
    return 1.0 / max(token, 1e-9)


def _token_seconds(config: Architecture, device: Device, precision: str, check: Callable[[], None]) -> float:
    """The shortest time of a token after `CONTEXT` others.

    A whole model does not stay in the processor's cache between two tokens, a few layers might: something else is
    written in between.
    """
    elsewhere = np.zeros(CACHE_BYTES, np.uint8)
    model = stand_in_model(config, device)
    times: list[float] = []
    try:
        decoder = Decoder(model, precision=precision, context=CONTEXT + MOST_TOKENS + 1)
        try:
            check()
            decoder.read(np.arange(CONTEXT) % config.vocab_size)
            decoder.step(0)  # prepares kernels
            until = time.perf_counter() + SECONDS
            while len(times) < MOST_TOKENS and (len(times) < LEAST_TOKENS or time.perf_counter() < until):
                check()
                elsewhere += 1
                began = time.perf_counter()
                decoder.step(0)
                times.append(time.perf_counter() - began)
        finally:
            decoder.close()
    finally:
        model.close()
    return min(times)
