"""Hybrids of our own: layers of Mamba-1, Mamba-2 and attention over a window, in any order, to be trained from scratch.

Only this engine reads them: neither transformers nor llama.cpp knows such a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from engine.errors import ConfigError
from engine.model.architectures.architecture import DESCRIPTIVE_KEYS, Architecture, need_whole
from engine.model.architectures.dense import rotations
from engine.model.architectures.mamba2 import check_mixer
from engine.model.blocks.attention import Attention
from engine.model.blocks.block import Block
from engine.model.blocks.gated_mlp import GatedMlp
from engine.model.blocks.mamba1 import Mamba1
from engine.model.blocks.mamba2 import TIME_STEPS, Mamba2

KINDS = ("mamba", "mamba2", "attention")


@dataclass(frozen=True)
class OwnConfig(Architecture):
    """`layer_types`: one of KINDS for each layer, taken in turns where there are fewer than layers.

    `state_size` belongs to Mamba-1, `mamba2_state_size` and `mamba2_head_dim` to Mamba-2.  `window`: how many tokens
    attention sees, itself included; 0 for all.  `intermediate_size`: of a gated MLP behind every mixer; 0 for none.
    """

    hidden_size: int = 256
    num_hidden_layers: int = 6
    vocab_size: int = 8192
    layer_types: tuple[str, ...] = ("mamba", "mamba", "attention")
    expand: int = 2
    conv_kernel: int = 4
    state_size: int = 16
    mamba2_state_size: int = 64
    mamba2_head_dim: int = 64
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    window: int = 256
    rope_theta: float = 10_000.0
    max_position_embeddings: int = 32_768
    intermediate_size: int = 0
    layer_norm_epsilon: float = 1e-5
    tie_word_embeddings: bool = True
    described: dict[str, Any] = field(default_factory=dict)

    model_type = "codecoil_hybrid"
    label = "Mamba and attention (Codecoil's own)"
    gguf_architecture = ""
    embedding_name = "backbone.embeddings.weight"
    norm_name = "backbone.norm_f.weight"

    def __post_init__(self) -> None:
        object.__setattr__(self, "layer_types", tuple(self.layer_types))
        if not self.layer_types or set(self.layer_types) - set(KINDS):
            raise ConfigError(f"layer_types is {self.layer_types!r}; every layer must be one of {', '.join(KINDS)}.")
        sizes = {f.name for f in fields(self) if isinstance(f.default, int) and not isinstance(f.default, bool)}
        for name in sizes:
            need_whole(name, getattr(self, name), 0 if name in ("window", "intermediate_size") else 1)
        if self.num_attention_heads % self.num_key_value_heads or self.head_dim % 2:
            raise ConfigError("Heads must share their key heads evenly, and have an even number of channels.")
        if self.expand * self.hidden_size % self.mamba2_head_dim:
            raise ConfigError(f"Heads of {self.mamba2_head_dim} channels do not make up {self.expand} times the width.")
        check_mixer(self.expand * self.hidden_size // self.mamba2_head_dim, 1, self.layer_norm_epsilon)
        if not self.rope_theta > 0:
            raise ConfigError(f"rope_theta is {self.rope_theta!r}; it must be a positive number.")

    @classmethod
    def from_hugging_face(cls, keys: dict[str, Any]) -> OwnConfig:
        """Read the keys of a `config.json`, which `to_hugging_face` has written."""
        names = {f.name for f in fields(cls)} - {"described"}
        if unknown := sorted(set(keys) - names - DESCRIPTIVE_KEYS - {"model_type"}):
            raise ConfigError(f"The configuration has keys that this engine does not know: {', '.join(unknown)}.")
        described = {name: value for name, value in keys.items() if name in DESCRIPTIVE_KEYS}
        return cls(**{name: value for name, value in keys.items() if name in names}, described=described)

    def to_hugging_face(self) -> dict[str, Any]:
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "described"}
        return {**self.described, **own, "layer_types": list(self.layer_types), "model_type": self.model_type}

    @property
    def norm_epsilon(self) -> float:
        return self.layer_norm_epsilon

    @property
    def attention_window(self) -> int:
        return self.window

    def layer_prefix(self, layer: int) -> str:
        return f"backbone.layers.{layer}."

    def blocks(self, layer: int) -> tuple[Block, ...]:
        m, epsilon, depth, inner = self.hidden_size, self.norm_epsilon, self.num_hidden_layers, self._inner
        mixer: Block
        match self.layer_types[layer % len(self.layer_types)]:
            case "mamba":
                mixer = Mamba1(
                    m, inner, self.state_size, self.conv_kernel, -(-m // 16), epsilon, bias=False, conv_bias=True,
                    depth=depth, time_steps=TIME_STEPS,
                )  # fmt: skip
            case "mamba2":
                heads = inner // self.mamba2_head_dim
                mixer = Mamba2(
                    m, heads, self.mamba2_head_dim, self.mamba2_state_size, 1, self.conv_kernel, epsilon, depth
                )
            case _:
                mixer = Attention(
                    m, self.num_attention_heads, self.num_key_value_heads, self.head_dim, epsilon, self.head_dim**-0.5
                )
        return (mixer, GatedMlp(m, self.intermediate_size, epsilon)) if self.intermediate_size else (mixer,)

    @property
    def _inner(self) -> int:
        return self.expand * self.hidden_size

    def rotations(self, positions: np.ndarray) -> np.ndarray | None:
        return rotations(positions, self.head_dim, self.rope_theta)
