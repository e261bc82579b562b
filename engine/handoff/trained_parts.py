"""Which parameters are trained, as run.json says it to train.py, and what a result of it must hold.

whole   a parameter                            rows   rows first..last-1 of one, or those in an index
pair    low-rank matrices beside a weight: by PEFT, or where that refuses, added to the weight itself
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.checkpoints.formats.adapter import REFUSED_BY_PEFT
from engine.model.architectures.architecture import Architecture
from engine.model.modes import ADAPTER_MODES
from engine.model.selection import adapter_names, adapter_shapes, selected_rows
from engine.train.options import TrainingOptions

Shape = tuple[int, ...]


@dataclass(frozen=True)
class TrainedParts:
    """`parts`: for run.json.  `shapes`: of a result's tensors.  `without_decay`: those that weight decay spares."""

    parts: tuple[dict[str, Any], ...]
    shapes: dict[str, Shape]
    without_decay: tuple[str, ...]


def row_tensors(config: Architecture) -> tuple[str, str]:
    """What the trained embedding rows and their numbers are called."""
    return f"{config.embedding_name}.rows", f"{config.embedding_name}.index"


def trained_parts(config: Architecture, options: TrainingOptions, token_ids: np.ndarray | None) -> TrainedParts:
    """What `options` train, and the embedding rows of `token_ids` besides."""
    parts: list[dict[str, Any]] = []
    shapes: dict[str, Shape] = {}
    still: list[str] = []
    for name, (first, last) in selected_rows(config, options.mode, {}).items():
        spec = config.specs[name]
        whole = (first, last) == (0, spec.shape[0])
        rows = {} if whole else {"first": first, "last": last}
        parts.append({"kind": "whole" if whole else "rows", "parameter": name, "tensor": name, **rows})
        shapes[name] = (last - first, *spec.shape[1:])
        if not spec.decays:
            still.append(name)
    if options.mode in ADAPTER_MODES:
        found = adapter_shapes(config, options.rank)
        refused = REFUSED_BY_PEFT.get(config.model_type, "")
        for name, spec in config.specs.items():
            if spec.adapted:
                down, up = adapter_names(name)
                peft = name.removesuffix(".weight").rpartition(".")[2] != refused
                parts.append({"kind": "pair", "parameter": name, "down": down, "up": up, "peft": peft})
                shapes |= {down: found[down], up: found[up]}
    if token_ids is not None:
        tensor, index = row_tensors(config)
        parts.append({"kind": "rows", "parameter": config.embedding_name, "tensor": tensor, "index": index})
        shapes[tensor] = (len(token_ids), config.hidden_size)
    return TrainedParts(tuple(parts), shapes, tuple(still))


def start_tensors(
    config: Architecture, pairs: Mapping[str, np.ndarray], token_ids: np.ndarray | None
) -> dict[str, np.ndarray]:
    """start.safetensors: low-rank pairs as the run begins, and which embedding rows are trained."""
    index = {} if token_ids is None else {row_tensors(config)[1]: np.asarray(token_ids, np.int32)}
    return {name: np.ascontiguousarray(array, np.float32) for name, array in pairs.items()} | index
