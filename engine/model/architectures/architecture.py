"""What every architecture has: sizes, the names of its tables, and blocks for each layer.

A configuration class describes one family, in the words of its `config.json`.  Parameters, shapes and everything that
is asked of a parameter by name follow from the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from engine.errors import ConfigError
from engine.model.blocks.block import Block, ParameterSpec, normal, ones

FIRST_EMBEDDING = 0.02  # deviation of the first weights of embedding and head
# Keys that change nothing in what a model computes: training-time, bookkeeping and generation settings.
DESCRIPTIVE_KEYS = frozenset(
    [
        "architectures",
        "_name_or_path",
        "transformers_version",
        "dtype",
        "torch_dtype",
        "use_cache",
        "initializer_range",
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "unk_token_id",
        "sep_token_id",
        "cls_token_id",
        "mask_token_id",
        "return_dict",
        "output_hidden_states",
        "output_attentions",
        "torchscript",
        "id2label",
        "label2id",
        "problem_type",
        "num_labels",
        "task_specific_params",
        "tokenizer_class",
        "prefix",
        "finetuning_task",
        "chunk_size_feed_forward",
        "max_length",
        "min_length",
        "do_sample",
        "temperature",
        "top_k",
        "top_p",
        "repetition_penalty",
        "is_encoder_decoder",
        "is_decoder",
        "license",
        "model_max_length",
        "auto_map",
    ]
)


class Architecture:
    """Base of the configuration classes, which are frozen dataclasses with these fields at least:
    `vocab_size`, `hidden_size`, `num_hidden_layers`, `intermediate_size`, `tie_word_embeddings`, `described`.
    """

    model_type: str
    label: str  # for people
    gguf_architecture: str
    embedding_name: str
    norm_name: str
    head_name = "lm_head.weight"
    embedding_factor: float = 1.0
    logits_factor: float = 1.0
    layer_types: tuple[str, ...] = ()  # the kind of each layer, in turns; none where all are alike
    attention_window: int = 0  # tokens that attention sees, itself included; 0 for all of the document
    gguf_folds_factors = False  # whether a GGUF file holds tables that are multiplied by these two
    experts: int = 0  # of a mixture
    balance_factor: float = 0.0  # of the load-balancing term that training adds to the loss

    # ---- what a family states

    def blocks(self, layer: int) -> tuple[Block, ...]:
        """The blocks of a layer, in order."""
        raise TypeError(f"{type(self).__name__} states no blocks")

    def layer_prefix(self, layer: int) -> str:
        """What the names of a layer's parameters begin with."""
        raise TypeError(f"{type(self).__name__} states no prefix")

    @property
    def norm_epsilon(self) -> float:
        raise TypeError(f"{type(self).__name__} states no epsilon")

    def to_hugging_face(self) -> dict[str, Any]:
        """The keys of a `config.json` that transformers reads back to the same model."""
        raise TypeError(f"{type(self).__name__} states no keys")

    def rotations(self, positions: np.ndarray) -> np.ndarray | None:
        """Cosines and sines (len(positions), width) of rotary positions; None where there are none."""
        return None

    # ---- what follows

    def layers(self) -> Iterator[tuple[int, str, Block]]:
        """Every block with its layer and its prefix, in order."""
        for layer in range(self.num_hidden_layers):
            for block in self.blocks(layer):
                yield layer, self.layer_prefix(layer), block

    @cached_property
    def specs(self) -> dict[str, ParameterSpec]:
        """Every parameter by its Hugging Face name, in the order of the checkpoint."""
        v, m = self.vocab_size, self.hidden_size
        table = {"shape": (v, m), "draw": normal(FIRST_EMBEDDING), "packs": True}
        specs = {
            self.embedding_name: ParameterSpec(
                self.embedding_name, **table, gguf="token_embd.weight", label="embedding"
            )
        }
        for _, prefix, block in self.layers():
            specs.update({prefix + spec.name: spec for spec in block.parameters()})
        specs[self.norm_name] = ParameterSpec(
            self.norm_name, (m,), ones, decays=False, gguf="output_norm.weight", label="final norm"
        )
        if not self.tie_word_embeddings:
            specs[self.head_name] = ParameterSpec(self.head_name, **table, gguf="output.weight", label="head")
        return specs

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Every parameter's shape by its Hugging Face name, in the order of the checkpoint."""
        return {name: spec.shape for name, spec in self.specs.items()}

    @property
    def parameter_count(self) -> int:
        return sum(math.prod(shape) for shape in self.parameter_shapes().values())

    @cached_property
    def large_matrices(self) -> frozenset[str]:
        """The names of nearly all weights: the matrices that get low-rank pairs, experts, embedding and head."""
        adapted = {name for name, spec in self.specs.items() if spec.adapted or spec.is_stack}
        return frozenset(adapted | {self.embedding_name, self.head_name} & self.specs.keys())

    def with_layers(self, layers: Sequence[int]) -> Architecture:
        """The same widths with only these of the layers, in this order."""
        types = self.layer_types
        kinds = {"layer_types": tuple(types[layer % len(types)] for layer in layers)} if types else {}
        return replace(self, num_hidden_layers=len(layers), **kinds)

    @property
    def attends(self) -> bool:
        """Whether any block looks at other tokens by attention."""
        return any(block.attends for _, _, block in self.layers())

    @property
    def modes(self) -> frozenset[str]:
        """The modes of few parameters that this model can be trained by."""
        return frozenset(mode for spec in self.specs.values() for mode in spec.trained_by)


def require(keys: dict[str, Any], name: str, *allowed: Any) -> None:
    """Drop `name` from keys if its value is one that this engine computes, else refuse it."""
    value = keys.pop(name, allowed[0])
    if value not in allowed:
        raise ConfigError(f"{name} is {value!r}; this engine computes only {' or '.join(map(repr, allowed))}.")


def need_whole(name: str, value: Any, lowest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number of at least {max(lowest, 1)}.")
