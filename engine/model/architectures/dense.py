"""Dense decoders: llama, qwen2, qwen3, granite, and granitemoehybrid whose layers all attend.

One configuration class: the families differ in switches and multipliers only.  A key that would change the result and
that this engine does not compute is refused by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.errors import ConfigError
from engine.model.architectures.architecture import DESCRIPTIVE_KEYS, Architecture, need_whole, require
from engine.model.blocks.attention import Attention
from engine.model.blocks.block import Block
from engine.model.blocks.gated_mlp import GatedMlp
from engine.model.blocks.mixture import Mixture

SIZES = ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads", "intermediate_size")
CLASSES = {
    "llama": "LlamaForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "granite": "GraniteForCausalLM",
    "granitemoehybrid": "GraniteMoeHybridForCausalLM",
    "falcon_h1": "FalconH1ForCausalLM",
}
MULTIPLIERS = ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
GRANITE = ("granite", "granitemoehybrid")
# Of the hybrid's configuration, without meaning where no layer is a mixer
UNUSED_HERE = frozenset(
    [
        "mamba_n_heads",
        "mamba_d_head",
        "mamba_d_state",
        "mamba_n_groups",
        "mamba_d_conv",
        "mamba_expand",
        "mamba_conv_bias",
        "mamba_proj_bias",
        "mamba_chunk_size",
        "normalization_function",
        "time_step_limit",
        "time_step_min",
        "time_step_max",
        "attention_dropout",
        "max_window_layers",
        "sliding_window",
    ]
)


@dataclass(frozen=True)
class DenseConfig(Architecture):
    """Sizes and switches.  `attention_multiplier` 0: by the width of a head; `rope_theta` 0: no positions.

    With experts, `intermediate_size` is the width of the MLP that they share, `expert_size` that of each of them;
    `router_aux_loss_coef` 0: no load-balancing term.
    """

    model_type: str
    hidden_size: int
    num_hidden_layers: int
    vocab_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    rope_factor: float = 1.0
    max_position_embeddings: int = 2048
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    output_bias: bool = False
    head_norm: bool = False
    embedding_multiplier: float = 1.0
    attention_multiplier: float = 0.0
    residual_multiplier: float = 1.0
    logits_scaling: float = 1.0
    num_local_experts: int = 0
    num_experts_per_tok: int = 0
    expert_size: int = 0
    router_aux_loss_coef: float = 0.0
    described: dict[str, Any] = field(default_factory=dict)

    embedding_name = "model.embed_tokens.weight"
    norm_name = "model.norm.weight"

    def __post_init__(self) -> None:
        for name in (*SIZES, "num_key_value_heads", "head_dim", "max_position_embeddings"):
            need_whole(name, getattr(self, name), 1)
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"{self.num_attention_heads} heads cannot share {self.num_key_value_heads} key heads evenly.",
            )
        if self.head_dim % 2:
            raise ConfigError(f"head_dim is {self.head_dim}; rotary positions need an even number.")
        if not 0 < self.rms_norm_eps < 1:
            raise ConfigError(f"rms_norm_eps is {self.rms_norm_eps!r}; it must lie between 0 and 1.")
        if self.output_bias and self.residual_multiplier != 1.0:
            raise ConfigError("This engine does not multiply the bias of an output projection.")
        if self.num_local_experts:
            for name in ("num_local_experts", "num_experts_per_tok", "expert_size"):
                need_whole(name, getattr(self, name), 1)
            if self.num_experts_per_tok > self.num_local_experts:
                raise ConfigError(
                    f"A token cannot go to {self.num_experts_per_tok} of {self.num_local_experts} experts."
                )
        for name in ("rope_theta", "rope_factor", "router_aux_loss_coef", *MULTIPLIERS):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                raise ConfigError(f"{name} is {value!r}; it must be a positive number.")

    # ---- what the architecture states

    @property
    def label(self) -> str:
        return f"{self.model_type} (dense decoder)"

    @property
    def experts(self) -> int:
        return self.num_local_experts

    @property
    def balance_factor(self) -> float:
        return self.router_aux_loss_coef

    @property
    def gguf_architecture(self) -> str:
        if self.experts:
            return "granitemoe"
        return "granite" if self.model_type in GRANITE else self.model_type

    @property
    def norm_epsilon(self) -> float:
        return self.rms_norm_eps

    @property
    def embedding_factor(self) -> float:
        return self.embedding_multiplier

    @property
    def logits_factor(self) -> float:
        return 1.0 / self.logits_scaling

    def layer_prefix(self, layer: int) -> str:
        return f"model.layers.{layer}."

    def blocks(self, layer: int) -> tuple[Block, ...]:
        m, epsilon, residual = self.hidden_size, self.rms_norm_eps, self.residual_multiplier
        attention = Attention(
            m, self.num_attention_heads, self.num_key_value_heads, self.head_dim, epsilon,
            self.attention_multiplier or self.head_dim**-0.5, residual, self.attention_bias, self.output_bias,
            self.head_norm, rotates=self.rope_theta > 0, pairs=self.model_type in ("llama", *GRANITE),
        )  # fmt: skip
        return attention, self._mlp()

    def _mlp(self) -> Block:
        m, f, epsilon, residual = self.hidden_size, self.intermediate_size, self.rms_norm_eps, self.residual_multiplier
        if self.experts:
            return Mixture(m, f, self.expert_size, self.experts, self.num_experts_per_tok, epsilon, residual)
        return GatedMlp(m, f, epsilon, residual, joined=self.model_type == "granitemoehybrid")

    def rotations(self, positions: np.ndarray) -> np.ndarray | None:
        return rotations(positions, self.head_dim, self.rope_theta, self.rope_factor) if self.rope_theta else None

    # ---- config.json

    @classmethod
    def from_hugging_face(cls, keys: dict[str, Any]) -> DenseConfig:
        """Read the keys of a `config.json`; refuse, by name, what this engine does not compute."""
        original, keys = dict(keys), dict(keys)
        kind = keys.pop("model_type")
        for name in (*SIZES, "num_key_value_heads"):
            if name != "intermediate_size" and name not in keys and name != "num_key_value_heads":
                raise ConfigError(f"config.json has no {name}.")
        _refuse_what_is_not_computed(keys, kind)
        heads = keys.pop("num_attention_heads")
        need_whole("num_attention_heads", heads, 1)
        mixture = _mixture(keys) if kind == "granitemoehybrid" else {}
        inner = keys.pop("shared_intermediate_size" if kind == "granitemoehybrid" else "intermediate_size", None)
        theta, factor = _rope(keys)
        if kind == "granitemoehybrid" and keys.pop("position_embedding_type", "nope") != "rope":
            theta = 0.0
        bias = bool(keys.pop("attention_bias", False))
        own = {
            "model_type": kind,
            "num_attention_heads": heads,
            "num_key_value_heads": keys.pop("num_key_value_heads", None) or heads,
            "head_dim": keys.pop("head_dim", None) or keys["hidden_size"] // heads,
            "intermediate_size": inner,
            "rope_theta": theta,
            "rope_factor": factor,
            "attention_bias": bias or kind == "qwen2",
            "output_bias": bias and kind != "qwen2",
            "head_norm": kind == "qwen3",
            **mixture,
        }
        if kind in GRANITE:
            own["attention_multiplier"] = 1.0  # where the file says nothing
        for name in (*MULTIPLIERS, "rms_norm_eps", "max_position_embeddings", "tie_word_embeddings"):
            if name in keys:
                own[name] = keys.pop(name)
        own |= {name: keys.pop(name) for name in ("hidden_size", "num_hidden_layers", "vocab_size")}
        unknown = sorted(set(keys) - DESCRIPTIVE_KEYS - UNUSED_HERE)
        if unknown:
            raise ConfigError(
                "The configuration has keys that this engine does not know and that may change the result: "
                f"{', '.join(unknown)}."
            )
        return cls(**own, described=original)

    def to_hugging_face(self) -> dict[str, Any]:
        return {**self.described, "model_type": self.model_type, "architectures": [CLASSES[self.model_type]]}


def rotations(positions: np.ndarray, head_dim: int, theta: float, factor: float = 1.0) -> np.ndarray:
    """Cosines and sines (len(positions), head_dim) of rotary positions, which are divided by `factor`."""
    half = head_dim // 2
    inverse = float(theta) ** -(np.arange(half, dtype=np.float64) / half)
    angles = np.asarray(positions, np.float64)[:, None] / factor * inverse
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def _refuse_what_is_not_computed(keys: dict[str, Any], kind: str) -> None:
    require(keys, "hidden_act", "silu", "swish")
    require(keys, "mlp_bias", False, None)
    require(keys, "use_sliding_window", False, None)
    require(keys, "pretraining_tp", 1, None)
    if kind != "granitemoehybrid":
        require(keys, "num_local_experts", 0, None)
    layer_types = keys.pop("layer_types", None) or keys.pop("layers_block_type", None) or []
    if other := sorted(set(map(str, layer_types)) - {"attention", "full_attention"}):
        raise ConfigError(f"layer_types has {', '.join(other)}; this engine computes only attention in such a model.")
    if kind not in GRANITE:
        for name in MULTIPLIERS:
            require(keys, name, 1.0, None)


def _mixture(keys: dict[str, Any]) -> dict[str, Any]:
    """Experts, how many a token goes to, their width, and the factor of the load-balancing term, if training has it."""
    experts, chosen = keys.pop("num_local_experts", None) or 0, keys.pop("num_experts_per_tok", None)
    size, factor = keys.pop("intermediate_size", None), keys.pop("router_aux_loss_coef", None) or 0.0
    if not (keys.pop("output_router_logits", None) and experts):
        factor = 0.0
    if not experts:
        return {}
    return {
        "num_local_experts": experts, "num_experts_per_tok": chosen, "expert_size": size, "router_aux_loss_coef": factor
    }  # fmt: skip


def _rope(keys: dict[str, Any]) -> tuple[float, float]:
    """Base and linear factor of the rotary positions, in either spelling of transformers."""
    parameters = keys.pop("rope_parameters", None) or {}
    scaling = keys.pop("rope_scaling", None) or {}
    given = {**scaling, **parameters}
    theta = given.pop("rope_theta", None) or keys.pop("rope_theta", None) or 10_000.0
    keys.pop("rope_theta", None)
    kind = given.pop("rope_type", None) or given.pop("type", None) or "default"
    given.pop("type", None)
    factor = given.pop("factor", 1.0) if kind == "linear" else 1.0
    if kind not in ("default", "linear"):
        raise ConfigError(f"rope_scaling is {kind!r}; this engine computes only 'linear' scaling.")
    if given.pop("partial_rotary_factor", 1.0) != 1.0 or keys.pop("partial_rotary_factor", 1.0) != 1.0:
        raise ConfigError("partial_rotary_factor is not 1; this engine rotates whole heads.")
    return theta, factor
