"""Gradients against the loss itself: in float32 one weight drowns in rounding, a direction does not."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

import numpy as np
import pytest

CHANGE = 4e-3  # of the loss, from one side to the other: ten thousand times its rounding, and still nearly straight
TOLERANCE = 1e-2


def assert_slope_is_gradient(
    loss: Callable[[], float], parameters: MutableMapping[str, np.ndarray], name: str, gradient: np.ndarray
) -> None:
    """The slope along the gradient, and along random weights with the gradient's signs, is what the gradient says."""
    original = parameters[name]
    random = np.random.default_rng(sum(name.encode()))
    for direction in (gradient, np.sign(gradient) * random.random(gradient.shape)):
        direction = (direction / np.linalg.norm(direction)).astype(np.float32)
        slope = float(np.sum(direction.astype(np.float64) * gradient))
        reach = CHANGE / 2 / slope
        parameters[name] = original + np.float32(reach) * direction
        above = loss()
        parameters[name] = original - np.float32(reach) * direction
        below = loss()
        parameters[name] = original
        assert (above - below) / (2 * reach) == pytest.approx(slope, rel=TOLERANCE), name
