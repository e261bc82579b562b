"""A model without memory: where every parameter would live, what a mode would train, and what that would cost.

A model on a device is built from one; an estimate needs nothing else, so it can be given before a byte is allocated.
"""

from __future__ import annotations

import math

import numpy as np

from engine.devices.interface import Device
from engine.errors import InputError, MemoryCeilingError
from engine.graph.parameters import LowRankPair
from engine.graph.plan import shared_arena
from engine.graph.tensor import Kind, Slab
from engine.model.architectures.architecture import Architecture
from engine.model.layout import ParameterLayout
from engine.model.modes import ADAPTER_MODES
from engine.model.network import Network
from engine.model.selection import (
    DEFAULT_RANK,
    adapter_names,
    adapter_shapes,
    selected_rows,
    selected_tokens,
    storage_for,
)
from engine.model.step import loss_program, step_programs
from engine.model.storage import Storage
from engine.model.trained import TrainedSet
from engine.option_info import check_number


class Blueprint:
    """The parameters of a configuration laid out for a device, with or without adapters."""

    def __init__(self, config: Architecture, device: Device, storage: Storage | None = None) -> None:
        self.config, self.storage = config, storage or Storage()
        self._most = device.limits.max_binding_bytes
        shapes = config.parameter_shapes()
        still = [name for name, spec in config.specs.items() if not spec.decays]
        packed, tables = self.storage.packed(config), (config.embedding_name, config.head_name)
        self.layout = ParameterLayout(
            shapes, self._most, still=still, packed=packed, precision=self.storage.precision, tables=tables
        )
        for name, parameter in self.layout.parameters.items():
            if len(parameter.blocks) > 1 and name not in tables:
                raise MemoryCeilingError(
                    f"{name} needs {4 * math.prod(parameter.shape) / 2**20:.1f} MiB in one piece; "
                    f"this device binds at most {self._most / 2**20:.1f} MiB.",
                    "Use a smaller model or the CPU device.",
                )
        self.adapter_layout: ParameterLayout | None = None
        self.network = Network(config, {name: self.layout.parameters[name] for name in shapes})

    @property
    def slabs(self) -> list[Slab]:
        """All memory for weights."""
        layouts = (self.layout, self.adapter_layout) if self.adapter_layout else (self.layout,)
        return [slab for layout in layouts for slab in (*layout.slabs, *layout.packed_slabs)]

    def clear(self) -> None:
        """Forget the memory, which was given back."""
        self.drop_adapters()
        self.layout.slabs.clear()
        self.layout.packed_slabs.clear()

    def add_adapters(self, rank: int, scale: float) -> ParameterLayout:
        """Low-rank pairs on the large matrices of every layer."""
        if self.adapter_layout is not None:
            raise InputError("The model has adapters already.", "Merge or discard them first.")
        check_number("The adapters' rank", rank, 1, self.config.hidden_size, whole=True)
        self.adapter_layout = ParameterLayout(adapter_shapes(self.config, rank), self._most, "adapter parameters")
        pairs = self.adapter_layout.parameters
        for weight in self.network.parameters:
            down, up = adapter_names(weight)
            if down in pairs:
                self.network.adapters[weight] = LowRankPair(pairs[down], pairs[up], scale)
        return self.adapter_layout

    def drop_adapters(self) -> None:
        """Forget the low-rank pairs."""
        self.adapter_layout = None
        self.network.adapters.clear()

    def trained_set(self, mode: str, token_ids: np.ndarray | None = None) -> TrainedSet:
        """Gradients and moments (not allocated) for what `mode` trains.

        `token_ids`: tokens whose embedding rows are trained besides; mode "vocabulary" needs them.
        """
        adapters = self.adapter_layout
        shapes = {name: p.shape for name, p in adapters.parameters.items()} if adapters else {}
        layouts = [self.layout, adapters] if adapters else [self.layout]
        rows = selected_rows(self.config, mode, shapes)
        tokens = selected_tokens(self.config, mode, token_ids)
        indexed = {} if tokens is None else {self.config.embedding_name: tokens}
        for name in (*rows, *indexed):
            if name in self.storage.packed(self.config):
                raise InputError(
                    f"Mode {mode} trains {name} itself, which this model keeps in {self.storage.precision}.",
                    "Load the model in float32, or train it by lora.",
                )
        return TrainedSet(layouts, rows, indexed)

    def estimate(
        self,
        device: Device,
        mode: str,
        batch: int,
        length: int,
        micro_batches: int = 1,
        *,
        token_ids: np.ndarray | None = None,
        recompute: int = 0,
        measured_rows: int = 0,
    ) -> dict[Kind, int]:
        """Bytes by kind that training would hold, weights included, from the same plan that would allocate them.

        `measured_rows`: windows of held-out code that are measured at once; the memory for that is kept beside.
        """
        trained = self.trained_set(mode, token_ids)
        programs = step_programs(self.network, device, trained, batch, length, micro_batches, recompute)
        _, by_kind = shared_arena([device.plan(program) for program in programs.values()])
        if measured_rows:
            _, measuring = shared_arena([device.plan(loss_program(self.network, device, measured_rows, length))])
            by_kind = {kind: by_kind.get(kind, 0) + measuring.get(kind, 0) for kind in {**by_kind, **measuring}}
        for slab in (*self.slabs, *trained.slabs):
            by_kind[slab.kind] = by_kind.get(slab.kind, 0) + slab.nbytes
        return by_kind


def estimate_training(
    config: Architecture,
    device: Device,
    mode: str,
    batch: int,
    length: int,
    micro_batches: int = 1,
    rank: int = DEFAULT_RANK,
    *,
    token_ids: np.ndarray | None = None,
    recompute: int = 0,
    measured_rows: int = 0,
    precision: str = "float32",
) -> dict[Kind, int]:
    """Bytes by kind that training `config` by `mode` would hold on `device`; nothing is allocated.

    `measured_rows`: windows of held-out code that are measured at once, 0 if none are. `precision`: in which the large
    matrices are kept that are not trained.
    """
    blueprint = Blueprint(config, device, storage_for(config, mode, precision, token_ids))
    if mode in ADAPTER_MODES:
        blueprint.add_adapters(rank, 1.0)
    more = {"token_ids": token_ids, "recompute": recompute, "measured_rows": measured_rows}
    return blueprint.estimate(device, mode, batch, length, micro_batches, **more)
