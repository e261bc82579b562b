"""Which configuration class reads a `config.json`."""

from __future__ import annotations

from typing import Any

from engine.errors import ConfigError
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.dense import CLASSES, DenseConfig
from engine.model.architectures.hybrids import MAMBA, FalconConfig, HybridConfig, layer_kinds
from engine.model.architectures.mamba2 import Mamba2Config, is_state_spaces
from engine.model.architectures.own import OwnConfig
from engine.model.config import ModelConfig


def config_from(keys: dict[str, Any]) -> Architecture:
    """The configuration that the keys of a `config.json` describe; what cannot be computed is refused by name."""
    kind = keys.get("model_type", ModelConfig.model_type)
    if kind == Mamba2Config.model_type or is_state_spaces(keys):
        return Mamba2Config.from_hugging_face(keys)
    if kind == OwnConfig.model_type:
        return OwnConfig.from_hugging_face(keys)
    if kind == "falcon_h1":
        return FalconConfig.from_hugging_face(keys)
    if kind == "granitemoehybrid" and MAMBA in layer_kinds(keys):
        return HybridConfig.from_hugging_face(keys)
    if kind == ModelConfig.model_type:
        return ModelConfig.from_hugging_face(keys)
    if kind in CLASSES:
        return DenseConfig.from_hugging_face(keys)
    known = ", ".join((ModelConfig.model_type, Mamba2Config.model_type, *CLASSES))
    raise ConfigError(
        f"model_type is {kind!r}; this engine computes: {known}.", "Choose a model of one of these kinds."
    )
