"""The precision in which a decoder reads a model's weights if none was chosen.

Measured with `tests/benchmarks/decode.py` and `tests/benchmarks/decode_precision.py` on two cores: a small model's
weights stay in the cache, and 16 bits are fastest (half the bytes, and cheaper to unpack than 8 bits); a large one's
are read from memory for every token, and 8 bits win. 16 bits lose nothing that can be measured, 8 bits 0.0003 nats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engine.generate.options import AUTO, PRECISION
from engine.model.storage import narrower

if TYPE_CHECKING:
    from engine.model.architectures.architecture import Architecture
    from engine.model.model import Model

LARGE_MODEL = 50_000_000  # weights, from which 8 bits are faster


def weight_count(model: Model) -> int:
    return sum(math.prod(parameter.shape) for parameter in model.network.parameters.values())


def kept_precision(wanted: str, config: Architecture) -> str:
    """In which precision a model is kept that is only decoded at `wanted`.

    A large one is kept in what it is decoded in: float32 beside it would take two to four times as much memory again.
    """
    PRECISION.check("precision", wanted)
    if config.parameter_count < LARGE_MODEL:
        return "float32"
    return "int8" if wanted == AUTO else wanted


def decode_precision(wanted: str, model: Model) -> str:
    """What `wanted` means for a model: itself, or for AUTO the fastest that loses nothing that matters.

    A model that is kept packed is read as it is kept, unless fewer bits are wanted.
    """
    PRECISION.check("precision", wanted)
    kept = model.storage.precision
    if wanted != AUTO:
        return narrower(wanted, kept)
    if kept != "float32":
        return kept
    return automatic_precision(weight_count(model))


def automatic_precision(weights: int) -> str:
    """The fastest for a model of so many weights."""
    return "int8" if weights >= LARGE_MODEL else "float16"
