"""Mamba-2: layers of one mixer each, in the words of Hugging Face or of the original repository (state-spaces)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from engine.errors import ConfigError
from engine.model.architectures.architecture import Architecture, need_whole, require
from engine.model.blocks.block import Block
from engine.model.blocks.mamba2 import NO_LIMIT, Mamba2
from engine.model.config import MAMBA_DESCRIPTIVE_KEYS, from_legacy

DESCRIPTIVE = (MAMBA_DESCRIPTIVE_KEYS - {"time_step_min", "time_step_max", "time_step_floor"}) | {
    "chunk_size",
    "time_step_rank",
    "norm_before_gate",
}
STATE_SPACES = {"d_state": ("state_size", 128), "headdim": ("head_dim", 64), "ngroups": ("n_groups", 1)}
STATE_SPACES |= {"d_conv": ("conv_kernel", 4), "expand": ("expand", 2)}


@dataclass(frozen=True)
class Mamba2Config(Architecture):
    """Sizes and options; 0 for `num_heads`: as many as the inner width has room for."""

    hidden_size: int = 256
    num_hidden_layers: int = 6
    vocab_size: int = 8192
    num_heads: int = 0
    head_dim: int = 64
    state_size: int = 128
    n_groups: int = 1
    conv_kernel: int = 4
    expand: int = 2
    use_bias: bool = False
    use_conv_bias: bool = True
    layer_norm_epsilon: float = 1e-5
    time_step_limit: tuple[float, float] = (0.0, NO_LIMIT)
    time_step_min: float = 0.001
    time_step_max: float = 0.1
    time_step_floor: float = 1e-4
    tie_word_embeddings: bool = True
    described: dict[str, Any] = field(default_factory=dict)

    model_type = "mamba2"
    label = "Mamba-2 (state space duality)"
    gguf_architecture = "mamba2"
    embedding_name = "backbone.embeddings.weight"
    norm_name = "backbone.norm_f.weight"

    def __post_init__(self) -> None:
        sizes = ("hidden_size", "num_hidden_layers", "vocab_size", "head_dim", "state_size", "n_groups", "conv_kernel")
        for name in (*sizes, "expand"):
            need_whole(name, getattr(self, name), 1)
        need_whole("num_heads", self.num_heads, 0)
        object.__setattr__(self, "num_heads", self.num_heads or self.expand * self.hidden_size // self.head_dim)
        if self.num_heads * self.head_dim != self.expand * self.hidden_size:
            sizes = f"{self.num_heads} heads of {self.head_dim} channels"
            raise ConfigError(f"{sizes} do not make up {self.expand} times the hidden size.")
        check_mixer(self.num_heads, self.n_groups, self.layer_norm_epsilon)
        object.__setattr__(self, "time_step_limit", step_limits(self.time_step_limit))
        if not 0 < self.time_step_min <= self.time_step_max < math.inf:
            raise ConfigError("time_step_min and time_step_max must be positive and in order.")

    @classmethod
    def from_hugging_face(cls, keys: dict[str, Any]) -> Mamba2Config:
        """Read the keys of a `config.json`; refuse, by name, what this engine does not compute."""
        keys = _from_state_spaces(dict(keys))
        require(keys, "model_type", "mamba2")
        require(keys, "hidden_act", "silu", "swish")
        require(keys, "rms_norm", True)
        names = {f.name for f in fields(cls)} - {"described"}
        unknown = sorted(set(keys) - names - DESCRIPTIVE)
        if unknown:
            raise ConfigError(
                "The configuration has keys that this engine does not know and that may change the result: "
                f"{', '.join(unknown)}."
            )
        keys.setdefault("tie_word_embeddings", False)  # the default of transformers, which says nothing then
        described = {key: value for key, value in keys.items() if key in DESCRIPTIVE}
        return cls(**{key: value for key, value in keys.items() if key in names}, described=described)

    def to_hugging_face(self) -> dict[str, Any]:
        """The keys of a `config.json` that transformers reads back to the same model."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "described"}
        if self.time_step_limit == (0.0, NO_LIMIT):  # what transformers takes for granted, and JSON cannot say
            del own["time_step_limit"]
        fixed = {"model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"], "hidden_act": "silu"}
        return {**self.described, **fixed, **own}

    @property
    def norm_epsilon(self) -> float:
        return self.layer_norm_epsilon

    def layer_prefix(self, layer: int) -> str:
        return f"backbone.layers.{layer}."

    def blocks(self, layer: int) -> tuple[Block, ...]:
        return (
            Mamba2(
                self.hidden_size, self.num_heads, self.head_dim, self.state_size, self.n_groups, self.conv_kernel,
                self.layer_norm_epsilon, self.num_hidden_layers, self.use_bias, self.use_conv_bias,
                limits=self.time_step_limit,
                time_steps=(self.time_step_min, self.time_step_max, self.time_step_floor),
            ),
        )  # fmt: skip


def check_mixer(heads: int, groups: int, epsilon: float) -> None:
    """Refuse heads that do not share their groups evenly, and an epsilon that is none."""
    if heads < 1 or heads % groups:
        raise ConfigError(f"{heads} heads cannot share {groups} groups evenly.")
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < 1:
        raise ConfigError(f"The epsilon of the norms is {epsilon!r}; it must lie between 0 and 1.")


def step_limits(limits: Any) -> tuple[float, float]:
    """`time_step_limit` as two numbers that every device can hold; transformers writes infinity as an object."""
    lowest, highest = (float(limit["__float__"] if isinstance(limit, dict) else limit) for limit in limits)
    if not 0 <= lowest < highest:
        raise ConfigError(f"time_step_limit is {list(limits)}; it must be two numbers in order, none below zero.")
    return lowest, min(highest, NO_LIMIT)


def is_state_spaces(keys: dict[str, Any]) -> bool:
    """Whether the keys of a `config.json` are those of the original repository, for Mamba-2."""
    inner = keys.get("ssm_cfg")
    return "model_type" not in keys and isinstance(inner, dict) and inner.get("layer") == "Mamba2"


def _from_state_spaces(keys: dict[str, Any]) -> dict[str, Any]:
    if not is_state_spaces(keys):
        return keys
    inner = {name: value for name, value in keys.pop("ssm_cfg").items() if name != "layer"}
    for name, (own, usual) in STATE_SPACES.items():
        keys[own] = inner.pop(name, usual)
    if inner:
        raise ConfigError(f"ssm_cfg has keys that this engine does not know: {', '.join(sorted(inner))}.")
    require(keys, "d_intermediate", 0)
    require(keys, "attn_layer_idx", [])
    keys.pop("attn_cfg", None)
    keys["tie_word_embeddings"] = keys.pop("tie_embeddings", True)
    return from_legacy(keys) | {"model_type": "mamba2"}
