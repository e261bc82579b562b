"""Codecoil's engine."""

from engine.devices import open_device
from engine.model.config import ModelConfig
from engine.model.model import Model, create_model, load_model

__all__ = ["Model", "ModelConfig", "create_model", "load_model", "open_device"]
