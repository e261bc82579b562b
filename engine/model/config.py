"""The shape of a Mamba-1 model, in the words of Hugging Face's `config.json`.

Options that exist in the wild are honoured. A key that would change the result and that this engine does not compute
is refused by name; keys that only describe are kept and written back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from engine.errors import ConfigError
from engine.model.architectures.architecture import DESCRIPTIVE_KEYS, Architecture, need_whole, require
from engine.model.blocks.block import Block
from engine.model.blocks.mamba1 import Mamba1

# Keys of Mamba that change nothing in what the model computes, besides those of every architecture.
MAMBA_DESCRIPTIVE_KEYS = DESCRIPTIVE_KEYS | {
    "use_mambapy",
    "use_associative_scan",
    "residual_in_fp32",
    "rescale_prenorm_residual",
    "time_step_min",
    "time_step_max",
    "time_step_floor",
    "time_step_scale",
    "time_step_init_scheme",
    "fused_add_norm",
    "pad_vocab_size_multiple",
}
LEGACY_KEYS = {"d_model": "hidden_size", "n_layer": "num_hidden_layers", "d_inner": "intermediate_size"}
LEGACY_SSM_KEYS = {"d_state": "state_size", "d_conv": "conv_kernel", "expand": "expand", "dt_rank": "time_step_rank"}


@dataclass(frozen=True)
class ModelConfig(Architecture):
    """Sizes and options; 0 for `intermediate_size` or `time_step_rank` means: computed from the others."""

    hidden_size: int = 256
    num_hidden_layers: int = 6
    vocab_size: int = 8192
    state_size: int = 16
    conv_kernel: int = 4
    expand: int = 2
    intermediate_size: int = 0
    time_step_rank: int = 0
    use_bias: bool = False
    use_conv_bias: bool = True
    layer_norm_epsilon: float = 1e-5
    tie_word_embeddings: bool = True
    time_step_min: float = 0.001
    time_step_max: float = 0.1
    time_step_floor: float = 1e-4
    described: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("hidden_size", "num_hidden_layers", "vocab_size", "state_size", "conv_kernel", "expand"):
            need_whole(name, getattr(self, name), 1)
        for name in ("intermediate_size", "time_step_rank"):
            need_whole(name, getattr(self, name), 0)
        if not (isinstance(self.layer_norm_epsilon, int | float) and 0 < self.layer_norm_epsilon < 1):
            raise ConfigError(f"layer_norm_epsilon is {self.layer_norm_epsilon!r}; it must lie between 0 and 1.")
        for name in ("use_bias", "use_conv_bias", "tie_word_embeddings"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be true or false.")
        for name in ("time_step_min", "time_step_max", "time_step_floor"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
                raise ConfigError(f"{name} is {str(value)[:40]}; it must be a finite number.")
        if not 0 < self.time_step_min <= self.time_step_max:
            raise ConfigError(
                f"time_step_min and time_step_max are {self.time_step_min!r} and {self.time_step_max!r}; "
                "they must be positive and in order."
            )
        object.__setattr__(self, "intermediate_size", self.intermediate_size or self.expand * self.hidden_size)
        object.__setattr__(self, "time_step_rank", self.time_step_rank or math.ceil(self.hidden_size / 16))

    @classmethod
    def from_hugging_face(cls, keys: dict[str, Any]) -> ModelConfig:
        """Read the keys of a `config.json`; refuse, by name, what this engine does not compute."""
        keys = from_legacy(dict(keys))
        require(keys, "model_type", "mamba")
        require(keys, "hidden_act", "silu", "swish")
        require(keys, "rms_norm", True)
        require(keys, "num_heads", None)
        if keys.get("time_step_rank") == "auto":
            keys["time_step_rank"] = 0
        names = {f.name for f in fields(cls)} - {"described"}
        unknown = sorted(set(keys) - names - MAMBA_DESCRIPTIVE_KEYS)
        if unknown:
            raise ConfigError(
                "The configuration has keys that this engine does not know and that may change the result: "
                f"{', '.join(unknown)}.",
                "Only Mamba-1 models in Hugging Face format can be used.",
            )
        described = {key: value for key, value in keys.items() if key in MAMBA_DESCRIPTIVE_KEYS - names}
        return cls(**{key: value for key, value in keys.items() if key in names}, described=described)

    def to_hugging_face(self) -> dict[str, Any]:
        """The keys of a `config.json` that transformers reads back to the same model."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "described"}
        fixed = {"model_type": "mamba", "architectures": ["MambaForCausalLM"], "hidden_act": "silu"}
        return {**self.described, **fixed, **own}

    # ---- what the architecture states

    model_type = "mamba"
    label = "Mamba-1 (selective state space)"
    gguf_architecture = "mamba"
    embedding_name = "backbone.embeddings.weight"
    norm_name = "backbone.norm_f.weight"

    @property
    def norm_epsilon(self) -> float:
        return self.layer_norm_epsilon

    def layer_prefix(self, layer: int) -> str:
        return f"backbone.layers.{layer}."

    def blocks(self, layer: int) -> tuple[Block, ...]:
        return (
            Mamba1(
                self.hidden_size, self.intermediate_size, self.state_size, self.conv_kernel, self.time_step_rank,
                self.layer_norm_epsilon, self.use_bias, self.use_conv_bias, self.num_hidden_layers,
                (self.time_step_min, self.time_step_max, self.time_step_floor),
            ),
        )  # fmt: skip


PRESETS = {
    "nano": {"hidden_size": 128, "num_hidden_layers": 4},
    "small": {"hidden_size": 256, "num_hidden_layers": 6},
    "medium": {"hidden_size": 512, "num_hidden_layers": 8},
    "large": {"hidden_size": 768, "num_hidden_layers": 12},
}


def preset(name: str, vocab_size: int = 8192) -> ModelConfig:
    """A configuration by its size name."""
    if name not in PRESETS:
        raise ConfigError(f"There is no size {name!r}.", f"Choose one of: {', '.join(PRESETS)}.")
    return ModelConfig(vocab_size=vocab_size, **PRESETS[name])


def from_legacy(keys: dict[str, Any]) -> dict[str, Any]:
    """Translate the keys of the original Mamba repository, where they stand alone or beside the newer ones."""
    for old, new in LEGACY_KEYS.items():
        if old in keys:
            value = keys.pop(old)
            if keys.setdefault(new, value) != value:
                raise ConfigError(f"{old} is {value!r} but {new} is {keys[new]!r}; they must agree.")
    inner = keys.pop("ssm_cfg", None) or {}
    if not isinstance(inner, dict):
        raise ConfigError(f"ssm_cfg is {inner!r}; it must be an object.")
    unknown = sorted(set(inner) - set(LEGACY_SSM_KEYS))
    if unknown:
        raise ConfigError(
            f"ssm_cfg has keys that this engine does not know: {', '.join(unknown)}.", "Only Mamba-1 can be used."
        )
    for old, new in LEGACY_SSM_KEYS.items():
        if old in inner and keys.setdefault(new, inner[old]) != inner[old]:
            raise ConfigError(f"{old} in ssm_cfg is {inner[old]!r} but {new} is {keys[new]!r}; they must agree.")
    if "pad_vocab_size_multiple" in keys and "vocab_size" in keys and "model_type" not in keys:
        multiple = keys["pad_vocab_size_multiple"]
        need_whole("pad_vocab_size_multiple", multiple, 1)
        need_whole("vocab_size", keys["vocab_size"], 1)
        keys["vocab_size"] = -(-keys["vocab_size"] // multiple) * multiple
    return keys
