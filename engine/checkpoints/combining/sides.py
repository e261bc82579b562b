"""One of two models to be compared or merged, and whether the two fit together: same shape, same tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from engine.checkpoints.store.manifest import Manifest
from engine.checkpoints.store.reading import StoreReader
from engine.corpus.tokens.tokenizer import digest_of
from engine.corpus.tokens.tokenizer_files import read_description
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture

# Options of a model that only say how it was initialised.
NOT_COMPUTED = ("described", "time_step_min", "time_step_max", "time_step_floor")
BEGINNINGS = ("base", "import")  # modes whose weights training begins with
MOST_PARENTS = 64


@dataclass(frozen=True)
class Side:
    """One of two models: its name for messages, and what is known of it.

    `tokenizer` identifies the tokenizer (its digest) and `origin` the weights that training
    began with; "" if unknown.
    """

    name: str
    config: Architecture
    parameters: Mapping[str, np.ndarray] = field(repr=False)
    tokenizer: str = ""
    origin: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)


def side_of(store: StoreReader, which: str) -> Side:
    """A checkpoint of the store.  Its parameters are mapped files."""
    manifest = store.get(which)
    parameters = store.load_parameters(manifest.id)
    return Side(
        name=manifest.name,
        config=parameters.config,
        parameters=parameters,
        tokenizer=_tokenizer(store, manifest),
        origin=_origin(store, manifest),
        options=manifest.options,
        metrics=manifest.metrics,
    )


def _tokenizer(store: StoreReader, manifest: Manifest) -> str:
    """The digest of its tokenizer, or of that of its base: the same whatever control tokens are called."""
    path = store.tokenizer_path(manifest.id)
    return "" if path is None else digest_of(read_description(path))


def _origin(store: StoreReader, manifest: Manifest) -> str:
    """The hash of the weights that training began with: of the base, or of a full model's parent; "" if unknown."""
    for _ in range(MOST_PARENTS):
        manifest = store.lineage(manifest.id)[-1]
        if manifest.mode in BEGINNINGS:
            return manifest.weights_sha256
        if not manifest.parents:
            return ""
        try:
            manifest = store.get(manifest.parents[0])
        except CheckpointError:
            return ""  # the parent has been deleted
    return ""


def refuse_unlike(first: Side, second: Side, what: str) -> None:
    """Raise unless both have the same shape and tokenizer; `what`: "compared" or "merged"."""
    same_kind = first.config.model_type == second.config.model_type
    names = [f.name for f in fields(first.config) if f.name not in NOT_COMPUTED] if same_kind else ["model_type"]
    differing = [
        f"{name} ({getattr(first.config, name)} and {getattr(second.config, name)})"
        for name in names
        if getattr(first.config, name) != getattr(second.config, name)
    ]
    if differing:
        raise CheckpointError(
            f"{first.name} and {second.name} cannot be {what}: they differ in {', '.join(differing)}.",
            "Choose two checkpoints of the same model.",
        )
    if first.tokenizer and second.tokenizer and first.tokenizer != second.tokenizer:
        raise CheckpointError(
            f"{first.name} and {second.name} cannot be {what}: their tokenizers differ "
            f"({first.tokenizer[:12]} and {second.tokenizer[:12]}), so the same row stands for different tokens.",
            "Choose two checkpoints with the same tokenizer.",
        )
    for side in (first, second):
        present = set(side.parameters)
        if missing := [name for name in side.config.parameter_shapes() if name not in present]:
            raise CheckpointError(f"{side.name} has no {missing[0]}.", "It is damaged: verify it.")
