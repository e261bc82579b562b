"""First weights of a new model, as its blocks draw them (Mamba-1: as the original code does)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.model.architectures.architecture import Architecture


def initial_parameters(config: Architecture, seed: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Every parameter by name, one at a time, so that a large model is never held twice."""
    for index, (name, spec) in enumerate(config.specs.items()):
        random = np.random.default_rng((seed, index))  # by position: values do not depend on the others' sizes
        yield name, spec.draw(random, spec.shape).astype(np.float32)


def initial_adapter(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """`up` starts at zero, so that an adapter changes nothing until it is trained; `down` with unit gain."""
    if name.endswith("lora_B.weight"):
        return np.zeros(shape, np.float32)
    random = np.random.default_rng((seed, *name.encode()))
    return random.normal(0.0, shape[1] ** -0.5, shape).astype(np.float32)
