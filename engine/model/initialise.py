"""First weights of a new model, as the original Mamba code draws them.  transformers draws some of them otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from engine.model.config import ModelConfig


def initial_parameters(config: ModelConfig, seed: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Every parameter by name, one at a time, so that a large model is never held twice."""
    for index, (name, shape) in enumerate(config.parameter_shapes().items()):
        random = np.random.default_rng(
            (seed, index)
        )  # by position: a tensor's values do not depend on the others' sizes
        yield name, _draw(name, shape, config, random).astype(np.float32)


def _draw(name: str, shape: tuple[int, ...], config: ModelConfig, random: np.random.Generator) -> np.ndarray:
    def uniform(bound: float) -> np.ndarray:
        return random.uniform(-bound, bound, shape)

    if name.endswith(("embeddings.weight", "lm_head.weight")):
        return random.normal(0.0, 0.02, shape)
    if ".norm" in name or name.endswith(".D"):
        return np.ones(shape)
    if name.endswith("A_log"):
        return np.broadcast_to(np.log(np.arange(1, shape[1] + 1)), shape)
    if name.endswith("dt_proj.weight"):
        return uniform(config.time_step_rank**-0.5)
    if name.endswith("dt_proj.bias"):
        low, high = math.log(config.time_step_min), math.log(config.time_step_max)
        dt = np.maximum(np.exp(random.uniform(low, high, shape)), config.time_step_floor)
        return dt + np.log(-np.expm1(-dt))  # softplus gives dt back
    if ".conv1d." in name:
        return uniform(config.conv_kernel**-0.5)
    fan_in = {"in_proj": config.hidden_size, "x_proj": config.intermediate_size, "out_proj": config.intermediate_size}
    (bound,) = (width**-0.5 for part, width in fan_in.items() if f".{part}." in name)
    return uniform(bound / math.sqrt(config.num_hidden_layers) if name.endswith("out_proj.weight") else bound)


def initial_adapter(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """`up` starts at zero, so that an adapter changes nothing until it is trained; `down` with unit gain."""
    if name.endswith("lora_B.weight"):
        return np.zeros(shape, np.float32)
    random = np.random.default_rng((seed, *name.encode()))
    return random.normal(0.0, shape[1] ** -0.5, shape).astype(np.float32)
