"""Whether two models can be compared or merged: same shape, same tokenizer.  What is not is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from engine.errors import CheckpointError
from engine.model.config import ModelConfig

# Options of a model that only say how it was initialised.
NOT_COMPUTED = ("described", "time_step_min", "time_step_max", "time_step_floor")


@dataclass(frozen=True)
class Side:
    """One of two models: its name for complaints, and what is known of it.

    `tokenizer` identifies the tokenizer (its digest or the hash of its file) and `origin` the weights that training
    began with; "" where that is not known.
    """

    name: str
    config: ModelConfig
    parameters: Mapping[str, np.ndarray] = field(repr=False)
    tokenizer: str = ""
    origin: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)


def refuse_unlike(first: Side, second: Side, what: str) -> None:
    """Raise unless both have the same shape and tokenizer; `what`: "compared" or "merged"."""
    names = [f.name for f in fields(ModelConfig) if f.name not in NOT_COMPUTED]
    differing = [
        f"{name} ({getattr(first.config, name)} and {getattr(second.config, name)})"
        for name in names
        if getattr(first.config, name) != getattr(second.config, name)
    ]
    if differing:
        raise CheckpointError(
            f"{first.name} and {second.name} cannot be {what}: they differ in {', '.join(differing)}.",
            "Choose two checkpoints of one model.",
        )
    if first.tokenizer and second.tokenizer and first.tokenizer != second.tokenizer:
        raise CheckpointError(
            f"{first.name} and {second.name} cannot be {what}: their tokenizers differ "
            f"({first.tokenizer[:12]} and {second.tokenizer[:12]}), so the same row stands for another token.",
            "Choose two checkpoints with one tokenizer.",
        )
    missing = [
        (side.name, name)
        for side in (first, second)
        for name in side.config.parameter_shapes()
        if name not in side.parameters
    ]
    if missing:
        raise CheckpointError(f"{missing[0][0]} has no {missing[0][1]}.", "It is damaged: verify it.")
