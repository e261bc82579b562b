"""How a batch is split so that training stays under the memory ceiling.

First the micro-batch is made smaller, which costs almost no time; if a single window does not fit, the base is kept in
fewer bits; only then are layers recomputed in the backward pass instead of stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from engine.devices import Device
from engine.graph.tensor import Kind
from engine.model.architectures.architecture import Architecture
from engine.model.blueprint import estimate_training
from engine.model.storage import AUTO, PRECISIONS
from engine.train.options import TrainingOptions

Estimate = Callable[["Fit"], dict[Kind, int]]


@dataclass(frozen=True)
class Fit:
    """Windows computed at once, parts per batch, and layers to recompute."""

    micro_batch: int
    micro_batches: int
    recompute: int = 0


def choices(options: TrainingOptions, layers: int) -> list[Fit]:
    """Every way to split a batch, from the fastest to the one that takes the least memory."""
    b = options.batch_size
    sizes = [options.micro_batch] if options.micro_batch else [size for size in range(b, 0, -1) if b % size == 0]
    least = min(options.recompute, layers)
    found = [Fit(size, b // size, least) for size in sizes]
    return found + [Fit(sizes[-1], b // sizes[-1], more) for more in range(least + 1, layers + 1)]


def fitting(options: TrainingOptions, layers: int, estimate: Estimate, room: int) -> Fit:
    """The fastest choice whose estimate is at most `room` bytes; if there is none, the smallest, and the allocation
    will say what is missing."""
    ways = choices(options, layers)
    low, high = 0, len(ways) - 1  # memory falls along the list
    while low < high:
        middle = (low + high) // 2
        if sum(estimate(ways[middle]).values()) <= room:
            high = middle
        else:
            low = middle + 1
    return ways[low]


def run_estimate(
    config: Architecture,
    device: Device,
    options: TrainingOptions,
    precision: str,
    token_ids: np.ndarray | None = None,
    measured_rows: int = 0,
) -> Estimate:
    """What a run would hold, by its split, before there is a model; the base is kept in `precision`.

    `token_ids`: whose rows mode "vocabulary" trains.  `measured_rows`: windows of held-out code measured at once.
    """
    more = {"token_ids": token_ids, "measured_rows": measured_rows, "precision": precision}

    @cache  # a plan asks for the same split again, and a large model takes a second
    def estimate(fit: Fit) -> dict[Kind, int]:
        shape = (fit.micro_batch, options.sequence_length, fit.micro_batches, options.rank)
        return estimate_training(config, device, options.mode, *shape, recompute=fit.recompute, **more)

    return estimate


def base_precision(options: TrainingOptions, layers: int, estimates: Callable[[str], Estimate], room: int) -> str:
    """The precision in which the base is kept: the one that was chosen, or the widest with which the smallest part of a
    batch fits into `room` bytes with no more layers recomputed than was asked for; the narrowest if none does.

    `estimates`: by precision.
    """
    if options.base_precision != AUTO:
        return options.base_precision
    if options.mode == "full":
        return "float32"
    least = min(options.recompute, layers)
    smallest = [fit for fit in choices(options, layers) if fit.recompute == least][-1]
    fits = (precision for precision in PRECISIONS if sum(estimates(precision)(smallest).values()) <= room)
    return next(fits, PRECISIONS[-1])


def smaller(fit: Fit, options: TrainingOptions, layers: int) -> Fit | None:
    """The next choice that takes less memory: about half the micro-batch, or half of the layers more recomputed."""
    b = options.batch_size
    for size in range(fit.micro_batch // 2, 0, -1):
        if b % size == 0:
            return Fit(size, b // size, fit.recompute)
    if fit.recompute < layers:
        return Fit(fit.micro_batch, fit.micro_batches, min(layers, fit.recompute + max(1, layers // 2)))
    return None
