"""Launch of the cross-entropy loss, which leaves its gradient in place of the logits."""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, flat_grid, pack
from engine.devices.webgpu.launches.operands import Views, start, whole
from engine.graph.kernels import Scalars


def cross_entropy(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    logits, targets, losses, scalars = views
    rows, width = logits.shape
    parameters = pack(
        *(rows, width, bool(numbers["want_gradient"]), logits.stride),
        *(start(logits), whole(targets), whole(losses), start(scalars) + Scalars.GRADIENT_SCALE),
    )
    return [Launch("cross_entropy", views, parameters, flat_grid(rows))]


LAUNCHES = {"cross_entropy": cross_entropy}
