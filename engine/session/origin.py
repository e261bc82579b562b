"""The checkpoint that a run starts from, as a model; and back, as a delta on the full checkpoint below it.

Deltas do not pile up: a run that starts from a delta is saved as one delta on the same full checkpoint. Low-rank pairs
of the same rank are trained further; others are merged into the weights for the run, and combined with the new ones
when it is saved. If a delta has parts that no training mode makes, the result is saved as a full model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.checkpoints.store.delta import Delta, DeltaPart, apply_delta, make_delta
from engine.checkpoints.store.store import CheckpointStore, Manifest
from engine.devices import Device
from engine.model.architectures.architecture import Architecture
from engine.model.initialise import initial_adapter
from engine.model.model import Model
from engine.model.modes import ADAPTER_MODES
from engine.model.selection import adapter_names, adapter_shapes, storage_for
from engine.model.storage import Storage
from engine.train.options import TrainingOptions


class TrainedModel(Protocol):
    """What a result is read from: a model, or what another program has trained."""

    @property
    def parameters(self) -> Mapping[str, np.ndarray]: ...

    @property
    def adapters(self) -> Mapping[str, np.ndarray]: ...

    @property
    def storage(self) -> Storage: ...


@dataclass(frozen=True)
class Origin:
    """`base` is what a run starts from, `root` the full checkpoint below it, `before` the delta between them."""

    base: Manifest
    root: Manifest
    config: Architecture
    before: Delta | None  # None if it is not one delta of parts that a training mode makes

    @classmethod
    def of(cls, store: CheckpointStore, base: Manifest) -> Origin:
        chain = store.lineage(base.id)
        config, root = store.config(base.id), chain[-1]
        if len(chain) == 1:
            return cls(base, root, config, Delta(()))
        if len(chain) > 2:
            return cls(base, root, config, None)
        stored = store.load_delta(base.id)
        tensors = {key: np.array(stored.tensors[key]) for part in stored.parts for key in part.keys}
        before = Delta(stored.parts, tensors) if all(_is_usual(part, config) for part in stored.parts) else None
        return cls(base, root, config, before)

    def continues_pairs(self, options: TrainingOptions) -> bool:
        """Whether the low-rank pairs of the base are trained further."""
        if options.mode not in ADAPTER_MODES or self.before is None:
            return False
        found = {key: self.before.tensors[key].shape for part in self._pairs() for key in (part.down, part.up)}
        return sorted(found.values()) == sorted(adapter_shapes(self.config, options.rank).values())

    def open_model(
        self, store: CheckpointStore, device: Device, options: TrainingOptions, token_ids: np.ndarray | None = None
    ) -> Model:
        """The model of the base, with its pairs attached if they are trained further.

        As far as it is not trained, it is kept in the `base_precision` of `options`. `token_ids`: tokens whose
        embedding rows are trained besides.
        """
        pairs = self._pairs() if self.continues_pairs(options) else []
        model = Model(self.config, device, storage_for(self.config, options.mode, options.base_precision, token_ids))
        try:
            with store.load_parameters(self.base.id, pairs=not pairs) as parameters:
                model.parameters.fill(parameters)
            if pairs:
                self._attach(model, pairs, options)
        except BaseException:
            model.close()
            raise
        return model

    def first_pairs(self, options: TrainingOptions) -> dict[str, np.ndarray]:
        """The low-rank pairs by name as a run begins: those of the base, or new ones that change nothing yet."""
        pairs = self._pairs() if self.continues_pairs(options) else []
        if not pairs:
            shapes = adapter_shapes(self.config, options.rank)
            return {name: initial_adapter(name, shape, options.seed) for name, shape in shapes.items()}
        return self._values(pairs)

    def delta(self, model: TrainedModel, options: TrainingOptions, token_ids: np.ndarray | None) -> Delta | None:
        """The difference between the root and the trained model; None if it is to be saved as a full model."""
        if options.mode == "full" or self.before is None:
            return None
        if token_ids is not None:
            token_ids = np.union1d(token_ids, self.trained_tokens)
        new = make_delta(options.mode, self.config, model.parameters, model.adapters, token_ids=token_ids)
        pairs = self._pairs()
        if options.mode in ADAPTER_MODES and pairs and not self.continues_pairs(options):
            new = _with_pairs(new, pairs, self.before.tensors)
        replaced = {(part.kind, part.parameter) for part in new.parts}
        kept = [part for part in self.before.parts if (part.kind, part.parameter) not in replaced]
        tensors = {key: self.before.tensors[key] for part in kept for key in part.keys}
        return Delta((*kept, *new.parts), {**tensors, **new.tensors})

    def whole(self, model: TrainedModel, store: CheckpointStore) -> dict[str, np.ndarray]:
        """Every parameter of the trained model, low-rank pairs merged in.

        What the model keeps packed comes from the base: it was not trained, and its rounding is not part of the result.
        """
        packed = model.storage.packed(self.config)
        with store.load_parameters(self.base.id) as base:
            parameters = {
                name: np.array(base[name]) if name in packed else model.parameters[name] for name in model.parameters
            }
        if not model.adapters:
            return parameters
        pairs = make_delta("lora", self.config, parameters, model.adapters)
        return dict(apply_delta(parameters.items(), pairs.parts, pairs.tensors))

    def _pairs(self) -> list[DeltaPart]:
        return [part for part in self.before.parts if part.kind == "low_rank"] if self.before else []

    @property
    def trained_tokens(self) -> np.ndarray:
        """The ids of the tokens whose embedding rows were trained before."""
        if self.before is None:
            return np.empty(0, np.int32)
        keys = [part.index for part in self.before.parts if part.kind == "indexed_rows"]
        return np.concatenate([np.empty(0, np.int32), *(self.before.tensors[key] for key in keys)])

    def _attach(self, model: Model, pairs: list[DeltaPart], options: TrainingOptions) -> None:
        adapters = model.attach_adapters(options.rank, seed=options.seed)
        for name, array in self._values(pairs).items():
            adapters[name] = array

    def _values(self, pairs: list[DeltaPart]) -> dict[str, np.ndarray]:
        """By the names of adapters, at scale 1."""
        found = {}
        for part in pairs:
            down, up = adapter_names(part.parameter)
            found[down] = np.asarray(self.before.tensors[part.down])
            found[up] = np.float32(part.scale) * self.before.tensors[part.up]
        return found


def _is_usual(part: DeltaPart, config: Architecture) -> bool:
    """Whether a training mode makes such a part."""
    if part.kind == "rows":
        spec = config.specs.get(part.parameter)
        return spec is not None and (part.first, part.last) in spec.trained_by.values()
    if part.kind == "indexed_rows":
        return part.parameter == config.embedding_name
    return adapter_names(part.parameter)[0] in adapter_shapes(config, 1)


def _with_pairs(new: Delta, pairs: list[DeltaPart], tensors: dict[str, np.ndarray]) -> Delta:
    """The pairs of `new` and the earlier ones concatenated: their sum, at the sum of their ranks."""
    merged = dict(new.tensors)
    for part in pairs:
        down, up = adapter_names(part.parameter)
        merged[down] = np.concatenate([tensors[part.down], merged[down]])
        merged[up] = np.concatenate([np.float32(part.scale) * tensors[part.up], merged[up]], axis=1)
    return Delta(new.parts, merged)
