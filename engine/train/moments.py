"""AdamW's moments by parameter name: a run can then go on on a device that lays its memory out in another way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.devices import Device
from engine.graph.tensor import Slab
from engine.model.trained import TrainedSet


def read_moments(device: Device, trained: TrainedSet) -> dict[str, np.ndarray]:
    """Both moments of everything trained, as vectors: "first.<name>" and "second.<name>"."""
    parts: dict[str, list[np.ndarray]] = {}
    for order, gradients, moments in _slabs(trained):
        flat = device.read(moments.flat())
        for tensor in gradients.tensors:
            start = tensor.offset // 4
            parts.setdefault(f"{order}.{tensor.name}", []).append(flat[start : start + tensor.size])
    return {name: blocks[0].copy() if len(blocks) == 1 else np.concatenate(blocks) for name, blocks in parts.items()}


def write_moments(device: Device, trained: TrainedSet, moments: dict[str, np.ndarray]) -> None:
    """Put back what `read_moments` gave, on this device or on another."""
    taken = dict.fromkeys(moments, 0)
    for order, gradients, slab in _slabs(trained):
        flat = np.zeros(slab.nbytes // 4, np.float32)
        for tensor in gradients.tensors:
            name, start = f"{order}.{tensor.name}", tensor.offset // 4
            flat[start : start + tensor.size] = moments[name][taken[name] : taken[name] + tensor.size]
            taken[name] += tensor.size
        device.write(slab.flat(), flat)


def moment_sizes(trained: TrainedSet) -> dict[str, int]:
    """How long each vector of `read_moments` is."""
    sizes: dict[str, int] = {}
    for order, gradients, _ in _slabs(trained):
        for tensor in gradients.tensors:
            name = f"{order}.{tensor.name}"
            sizes[name] = sizes.get(name, 0) + tensor.size
    return sizes


def _slabs(trained: TrainedSet) -> Iterator[tuple[str, Slab, Slab]]:
    """Which moment, the gradients that give the layout, and the slab; a moment's slab is laid out as its gradient's."""
    for order, slabs in (("first", trained.first_slabs), ("second", trained.second_slabs)):
        for gradients, slab in zip(trained.gradient_slabs, slabs, strict=True):
            yield order, gradients, slab
