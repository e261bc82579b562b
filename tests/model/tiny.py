"""Tiny models, batches for them, and how arrays are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import engine
from engine.devices import Device
from engine.model.model import Model

TINY = {"hidden_size": 20, "num_hidden_layers": 2, "vocab_size": 53}
# Every option that adds a tensor, and no size that is a multiple of a tile.
ODD = {
    "hidden_size": 17,
    "num_hidden_layers": 2,
    "vocab_size": 43,
    "state_size": 5,
    "conv_kernel": 3,
    "expand": 3,
    "use_bias": True,
    "tie_word_embeddings": False,
}
SMALLEST_SCALE = 1e-6  # below it a tensor counts as zero: at length 1 some gradients are exactly that


def batch(b: int, l: int, vocabulary: int = TINY["vocab_size"], seed: int = 0) -> np.ndarray:
    """Token ids (b, l)."""
    return np.random.default_rng(seed).integers(0, vocabulary, (b, l))


@contextmanager
def open_model(device: Device, config: dict[str, Any] = TINY, seed: int = 0) -> Iterator[Model]:
    """A model whose parameters are all moved off their first values, so that no gradient is next to zero."""
    model = engine.create_model(config, seed, device)
    try:
        random = np.random.default_rng(seed)
        for name, array in model.parameters.items():
            longer_time_steps = 3.0 if name.endswith("dt_proj.bias") else 0.0
            noise = 0.2 * random.standard_normal(array.shape, np.float32)
            model.parameters[name] = array + noise + longer_time_steps
        yield model
    finally:
        model.close()


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest element of what is expected."""
    assert found.shape == expected.shape
    difference = np.abs(found.astype(np.float64) - expected).max()
    return float(difference / max(np.abs(expected).max(), SMALLEST_SCALE))


def assert_close(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], limit: float) -> None:
    """Every tensor by name, none missing and none too many."""
    assert found.keys() == expected.keys()
    errors = {name: relative_error(found[name], expected[name]) for name in expected}
    too_far = {name: error for name, error in errors.items() if not error <= limit}  # `not <=`: NaN is too far as well
    assert not too_far, f"more than {limit:g} away: {too_far}"


def same_bytes(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    """Whether two sets of tensors are bit for bit the same."""
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)
