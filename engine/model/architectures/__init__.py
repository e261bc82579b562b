"""Architectures: one configuration class a family, found by the `model_type` of a `config.json`.

architecture   what all of them have: names, blocks, parameters by name
dense          llama, qwen2, qwen3, granite, granitemoehybrid with attention only
(Mamba-1 is `engine.model.config.ModelConfig`)
"""

from __future__ import annotations

from typing import Any

from engine.errors import ConfigError
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.dense import CLASSES, DenseConfig
from engine.model.config import ModelConfig


def config_from(keys: dict[str, Any]) -> Architecture:
    """The configuration that the keys of a `config.json` describe; what cannot be computed is refused by name."""
    kind = keys.get("model_type", ModelConfig.model_type)
    if kind == ModelConfig.model_type:
        return ModelConfig.from_hugging_face(keys)
    if kind in CLASSES:
        return DenseConfig.from_hugging_face(keys)
    known = ", ".join((ModelConfig.model_type, *CLASSES))
    raise ConfigError(
        f"model_type is {kind!r}; this engine computes: {known}.", "Choose a model of one of these kinds."
    )
