"""Matrices that are hard on a number format, and small models to pack, compare and merge."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.checkpoints.combining.sides import Side
from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters

# Rows of in_proj, x_proj, out_proj and the embedding are whole blocks; those of dt_proj (2) are not.
CONFIG = ModelConfig(hidden_size=32, num_hidden_layers=2, vocab_size=61)
LAYER = "backbone.layers.0.mixer"
EXTREMES = np.float32([0.0, -0.0, 1e-45, -1e-45, 1.2e-38, 3e-8, -6e-8, 1e-5, 65504.0, -65520.0, 3e38, -3.4028235e38])


def parameters(seed: int = 0, noise: float = 0.0) -> dict[str, np.ndarray]:
    """Those of a small model; `noise` moves every one of them."""
    random = np.random.default_rng(seed + 1)
    return {
        name: array + np.float32(noise) * random.standard_normal(array.shape, np.float32)
        for name, array in initial_parameters(CONFIG, 0)
    }


def side(name: str = "one", noise: float = 0.0, seed: int = 0, **known) -> Side:
    return Side(name, CONFIG, parameters(seed, noise), **known)


def matrix(rows: int, columns: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return np.float32(scale) * np.random.default_rng(seed).standard_normal((rows, columns), np.float32)


@st.composite
def matrices(draw, largest: float = 3e4, columns: tuple[int, ...] = (32, 64, 96)) -> np.ndarray:
    """Finite float32 (rows, columns): any bits, a few whole numbers, or normal numbers with some extreme ones."""
    shape = (draw(st.integers(1, 4)), draw(st.sampled_from(columns)))
    largest = float(np.float32(largest))
    kind = draw(st.sampled_from(["bits", "whole", "normal", "tiny"]))
    if kind == "bits":
        elements = st.floats(-largest, largest, width=32)
        return draw(arrays(np.float32, shape, elements=elements, fill=st.sampled_from([0.0, -0.0, 1.0])))
    if kind == "whole":
        elements = st.integers(-9, 9).map(float)
        unit = draw(st.sampled_from([1.0, 0.5, 3.0, 0.1, 2.0**-24, 2.0**-20]))
        return np.float32(unit) * draw(arrays(np.float32, shape, elements=elements))
    values = matrix(*shape, seed=draw(st.integers(0, 999)), scale=1.0 if kind == "normal" else 1e-7)
    values = values * np.float32(draw(st.sampled_from([1.0, 1e-3, 100.0])))
    extreme = draw(st.sampled_from(EXTREMES[np.abs(EXTREMES) <= largest].tolist()))
    values[draw(st.integers(0, shape[0] - 1)), draw(st.integers(0, shape[1] - 1))] = extreme
    return values
