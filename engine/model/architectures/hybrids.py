"""Hybrids of Mamba-2 and attention: granitemoehybrid without experts, and falcon_h1.

Granite's layers are of either kind, each with a gated MLP behind it; Falcon's have both kinds beside each other. A key
that would change the result and that this engine does not compute is refused by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from engine.errors import ConfigError
from engine.model.architectures.architecture import need_whole, require
from engine.model.architectures.dense import DenseConfig
from engine.model.architectures.mamba2 import check_mixer, step_limits
from engine.model.blocks.attention import NORM, Attention
from engine.model.blocks.block import Block
from engine.model.blocks.gated_mlp import GatedMlp
from engine.model.blocks.mamba2 import NO_LIMIT, Factors, Mamba2
from engine.model.blocks.parallel import ParallelMixers

MAMBA, ATTENTION = "mamba", "attention"
OTHER_WORDS = {"linear_attention": MAMBA, "full_attention": ATTENTION}
SIZES = ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv")
NO_MEANING = ("mamba_chunk_size", "mamba_expand", "time_step_min", "time_step_max", "time_step_floor")
PARTS = (1.0, 1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class HybridConfig(DenseConfig):
    """granitemoehybrid: the sizes of a dense decoder and those of its Mamba-2 mixers, in the words of Hugging Face."""

    mamba_n_heads: int
    mamba_d_head: int
    mamba_d_state: int
    mamba_n_groups: int = 1
    mamba_d_conv: int = 4
    mamba_conv_bias: bool = True
    mamba_bias: bool = False
    time_step_limit: tuple[float, float] = (0.0, NO_LIMIT)
    layer_types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in SIZES:
            need_whole(name, getattr(self, name), 1)
        check_mixer(self.mamba_n_heads, self.mamba_n_groups, self.rms_norm_eps)
        self._check_layers()
        mamba, attention = self.output_factors
        if (self.mamba_bias and mamba != 1.0) or (self.output_bias and attention != 1.0):
            raise ConfigError("This engine does not multiply the bias of an output projection.")

    def _check_layers(self) -> None:
        if len(self.layer_types) < self.num_hidden_layers:
            raise ConfigError(f"layer_types names {len(self.layer_types)} of {self.num_hidden_layers} layers.")

    @property
    def label(self) -> str:
        return f"{self.model_type} (Mamba-2 and attention)"

    @property
    def gguf_architecture(self) -> str:
        return "granitehybrid"

    @property
    def output_factors(self) -> tuple[float, float]:
        """What the outputs of the Mamba-2 mixers and of attention are multiplied by."""
        return self.residual_multiplier, self.residual_multiplier

    @property
    def inner_size(self) -> int:
        """Channels of a mixer."""
        return self.mamba_n_heads * self.mamba_d_head

    def blocks(self, layer: int) -> tuple[Block, ...]:
        attention, mlp = super().blocks(layer)
        return (attention if self.layer_types[layer] == ATTENTION else self._mixer(), mlp)

    def _mixer(self, factors: Factors | None = None, gated_norm: bool = True) -> Mamba2:
        return Mamba2(
            self.hidden_size, self.mamba_n_heads, self.mamba_d_head, self.mamba_d_state, self.mamba_n_groups,
            self.mamba_d_conv, self.rms_norm_eps, self.num_hidden_layers, self.mamba_bias, self.mamba_conv_bias,
            gated_norm, self.time_step_limit, factors=factors or Factors(output=self.residual_multiplier),
            name="mamba", norm=NORM,
        )  # fmt: skip

    @classmethod
    def from_hugging_face(cls, keys: dict[str, Any]) -> HybridConfig:
        """Read the keys of a `config.json`; refuse, by name, what this engine does not compute."""
        rest = dict(keys)
        sizes = _mixer_keys(rest, rest.get("mamba_expand", 2) * rest.get("hidden_size", 0))
        kinds = layer_kinds(keys)
        rest.pop("layers_block_type", None)
        dense = DenseConfig.from_hugging_face(rest | {"layer_types": []})
        return cls(**vars(dense) | {"described": dict(keys)}, **sizes, layer_types=kinds)


@dataclass(frozen=True, kw_only=True)
class FalconConfig(HybridConfig):
    """falcon_h1: both mixers in every layer, and a factor at every place."""

    lm_head_multiplier: float = 1.0
    key_multiplier: float = 1.0
    attention_in_multiplier: float = 1.0
    attention_out_multiplier: float = 1.0
    ssm_in_multiplier: float = 1.0
    ssm_out_multiplier: float = 1.0
    ssm_multipliers: tuple[float, float, float, float, float] = PARTS
    mlp_multipliers: tuple[float, float] = (1.0, 1.0)
    mamba_rms_norm: bool = False

    norm_name = "model.final_layernorm.weight"
    gguf_folds_factors = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in FACTORS:
            if not math.isfinite(getattr(self, name)):
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be a number.")
        for name, count in (("ssm_multipliers", 5), ("mlp_multipliers", 2)):
            values = tuple(map(float, getattr(self, name)))
            object.__setattr__(self, name, values)
            if len(values) != count or not all(map(math.isfinite, values)):
                raise ConfigError(f"{name} is {values}; it must be {count} numbers.")
        if self.attention_bias and self.key_multiplier != 1.0:
            raise ConfigError("This engine does not multiply the bias of the keys.")

    def _check_layers(self) -> None:
        """They are all alike."""

    @property
    def gguf_architecture(self) -> str:
        return "falcon-h1"

    @property
    def logits_factor(self) -> float:
        return self.lm_head_multiplier

    @property
    def output_factors(self) -> tuple[float, float]:
        return self.ssm_out_multiplier, self.attention_out_multiplier

    def blocks(self, layer: int) -> tuple[Block, ...]:
        m, epsilon = self.hidden_size, self.rms_norm_eps
        mamba = self._mixer(
            Factors(self.ssm_in_multiplier, self.ssm_multipliers, self.ssm_out_multiplier, folded=True),
            self.mamba_rms_norm,
        )
        attention = Attention(
            m, self.num_attention_heads, self.num_key_value_heads, self.head_dim, epsilon, self.head_dim**-0.5,
            self.attention_out_multiplier, self.attention_bias, self.output_bias,
            input_factor=self.attention_in_multiplier, key_factor=self.key_multiplier, folded=True,
        )  # fmt: skip
        gate, down = self.mlp_multipliers
        mlp = GatedMlp(
            m, self.intermediate_size, epsilon, down, gate=gate, norm="pre_ff_layernorm", name="feed_forward",
            folded=True,
        )  # fmt: skip
        return ParallelMixers(mamba, attention), mlp

    @classmethod
    def from_hugging_face(cls, keys: dict[str, Any]) -> FalconConfig:
        """Read the keys of a `config.json`; refuse, by name, what this engine does not compute."""
        rest = dict(keys)
        inner = rest.pop("mamba_d_ssm", None) or rest.get("mamba_expand", 2) * rest.get("hidden_size", 0)
        own = _mixer_keys(rest, inner)
        own["mamba_bias"] = _agreed(rest, own["mamba_bias"])
        own |= {name: rest.pop(name) for name in (*FACTORS, *LISTS, "mamba_rms_norm") if rest.get(name) is not None}
        if own.get("mamba_rms_norm"):
            require(rest, "mamba_norm_before_gate", False)
        embedding = rest.pop("embedding_multiplier", 1.0)
        ignored = ("mamba_norm_before_gate", "num_logits_to_keep", "layers_block_type", "layer_types", *LISTS)
        for name in ignored:
            rest.pop(name, None)
        dense = DenseConfig.from_hugging_face({"rms_norm_eps": 1e-5, **rest, "model_type": "llama"})
        changed = {"model_type": "falcon_h1", "embedding_multiplier": embedding, "described": dict(keys)}
        return cls(**vars(dense) | changed, **own)


LISTS = ("ssm_multipliers", "mlp_multipliers")
FACTORS = (
    "lm_head_multiplier",
    "key_multiplier",
    "attention_in_multiplier",
    "attention_out_multiplier",
    "ssm_in_multiplier",
    "ssm_out_multiplier",
)


def layer_kinds(keys: dict[str, Any]) -> tuple[str, ...]:
    """Of each layer of a granitemoehybrid `config.json`, whether it mixes by "mamba" or by "attention"."""
    words = keys.get("layer_types") or keys.get("layers_block_type") or [MAMBA] * keys.get("num_hidden_layers", 0)
    kinds = tuple(OTHER_WORDS.get(str(word), str(word)) for word in words)
    if other := sorted(set(kinds) - {MAMBA, ATTENTION}):
        raise ConfigError(f"layer_types has {', '.join(other)}; this engine computes only {MAMBA} and {ATTENTION}.")
    if len(kinds) != keys.get("num_hidden_layers"):
        raise ConfigError(f"layer_types names {len(kinds)} of {keys.get('num_hidden_layers')} layers.")
    return kinds


def _mixer_keys(keys: dict[str, Any], inner: int) -> dict[str, Any]:
    """Take the keys of the mixers out of `keys`.  inner: channels of a mixer."""
    usual = {"mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_d_state": 256, "mamba_n_groups": 1, "mamba_d_conv": 4}
    own = {name: keys.pop(name, default) for name, default in usual.items()}
    need_whole("mamba_n_heads", own["mamba_n_heads"], 1)
    if own["mamba_d_head"] == "auto":
        own["mamba_d_head"] = inner // own["mamba_n_heads"]
    if own["mamba_n_heads"] * own["mamba_d_head"] != inner:
        raise ConfigError(
            f"{own['mamba_n_heads']} heads of {own['mamba_d_head']} channels do not make up a mixer of {inner}."
        )
    own["time_step_limit"] = step_limits(keys.pop("time_step_limit", None) or (0.0, NO_LIMIT))
    own["mamba_conv_bias"] = bool(keys.pop("mamba_conv_bias", True))
    own["mamba_bias"] = bool(keys.pop("mamba_proj_bias", False))
    for name in NO_MEANING:
        keys.pop(name, None)
    return own


def _agreed(keys: dict[str, Any], bias: bool) -> bool:
    """Falcon says twice whether the projections have biases: that of the input here, that of the output there."""
    other = bool(keys.pop("projectors_bias", bias))
    if other != bias:
        raise ConfigError(f"mamba_proj_bias is {bias} but projectors_bias is {other}; this engine wants them equal.")
    return bias
