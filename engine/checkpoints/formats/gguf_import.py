"""GGUF files in: what llama.cpp, LM Studio and Ollama run, with its tokenizer.

    header ─▶ keys of a config.json ─▶ configuration ─▶ every parameter by its GGUF name, checked ─▶ dequantised by rows

The `gguf` library knows the quantised types; names and conversions are those that the blocks state.
What would change the result and is not computed here is refused by name, before anything is copied.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.checkpoints.formats.gguf_header import MAGIC, read_header
from engine.checkpoints.formats.gguf_vocabulary import OWN_KEYS, description_from
from engine.checkpoints.formats.imported import Imported, check_finite, tokenizer_content
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.corpus.tokens.tokenizer_trial import try_tokenizer
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.files import config_from_keys
from engine.model.selection import layer_of
from engine.safe_reading import DAMAGED
from engine.tensor_file import TensorSource, piece_rows

PLAIN = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
READABLE = frozenset(
    [*PLAIN, "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K", "IQ4_NL", "IQ4_XS"]
)
ARCHITECTURES = (
    "llama", "qwen2", "qwen3", "granite", "granitemoe", "granitehybrid", "falcon-h1", "mamba", "mamba2"
)  # fmt: skip
ELSEWHERE = "Choose a model of another kind, or import it as a Hugging Face folder."


def is_gguf(path: Path) -> bool:
    """Whether a file starts with the magic bytes of GGUF."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_gguf(path: Path, tokenizer: Path | None = None) -> Imported:
    """A GGUF file as a model; `tokenizer`: one to use instead of its own."""
    file = GgufFile(path)
    with _kinds_as_expected(path):
        config = config_from_keys(file.config_keys(), str(path))
    parameters = GgufParameters(file, config)
    if tokenizer is not None:
        content = tokenizer_content(tokenizer, config.vocab_size)
    else:
        with _kinds_as_expected(path):
            description = description_from(file.tokenizer_keys(), str(path))
        try_tokenizer(Tokenizer(description, str(path)))
        content = (json.dumps(description, ensure_ascii=False, indent=1) + "\n").encode()
    notes = [f"Imported from {path.name}: {file.architecture}, {parameters.kinds}."]
    if parameters.precision == "float16" and parameters.is_quantised:
        notes.append("Its quantised weights are kept in float16, which loses far less than the quantisation has.")
    if file.architecture == "falcon-h1" and config.tie_word_embeddings:
        notes.append("The file has no head, and the scores of its table have another factor: a wrong temperature.")
    return Imported(config, parameters, content, parameters.precision, str(path), tuple(notes))


@contextlib.contextmanager
def _kinds_as_expected(path: Path) -> Iterator[None]:
    """A key of the wrong type, or a model without heads, is an error message instead of a traceback."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError) as error:
        raise CheckpointError(f"{path} has a key of another kind than GGUF has there: {error}.", DAMAGED) from error


class GgufFile:
    """The header of a file: keys and tensors, mapped."""

    def __init__(self, path: Path) -> None:
        header = read_header(path)
        self.path, self.keys, self.tensors, self.data = path, header.keys, header.tensors, header.data
        self.architecture = str(self.keys.get("general.architecture", ""))
        if self.architecture not in ARCHITECTURES:
            raise CheckpointError(
                f"{path.name} is a {self.architecture or 'nameless'} model; Codecoil computes "
                f"{', '.join(ARCHITECTURES)} from GGUF.",
                ELSEWHERE,
            )

    def key(self, name: str, default: Any = None) -> Any:
        """A key of the architecture ("block_count"); lists with one value throughout count as that value."""
        value = self.keys.get(f"{self.architecture}.{name}", default)
        if isinstance(value, list):
            values = set(value)
            if len(values) != 1:
                raise CheckpointError(
                    f"{self.path.name}: {self.architecture}.{name} differs from layer to layer.", ELSEWHERE
                )
            (value,) = values
        return value

    def need(self, name: str) -> Any:
        value = self.key(name)
        if value is None:
            raise CheckpointError(f"{self.path.name} has no key {self.architecture}.{name}.", DAMAGED)
        return value

    def config_keys(self) -> dict[str, Any]:
        """The keys of a `config.json` that say the same."""
        table = self.tensors.get("token_embd.weight")
        if table is None or len(table.shape) != 2:
            raise CheckpointError(f"{self.path.name} has no token_embd.weight.", DAMAGED)
        common = {
            "hidden_size": int(self.need("embedding_length")),
            "num_hidden_layers": int(self.need("block_count")),
            "vocab_size": int(table.shape[1]),  # GGUF lists dimensions from the innermost on
            "tie_word_embeddings": "output.weight" not in self.tensors,
        }
        if "rope_freqs.weight" in self.tensors:
            raise CheckpointError(f"{self.path.name} scales its rotary positions by frequency.", ELSEWHERE)
        sharing = self.architecture in ("granitemoe", "granitehybrid")
        if self.key("expert_count", 0) and not (sharing and self.key("expert_shared_feed_forward_length", 0)):
            raise CheckpointError(f"{self.path.name} is a mixture of experts that share no MLP.", ELSEWHERE)
        if self.architecture == "mamba":
            return common | self._mamba_keys()
        if self.architecture == "mamba2":
            return common | self._mamba2_keys(common)
        return common | self._dense_keys(common)

    def _mamba_keys(self) -> dict[str, Any]:
        return {
            "model_type": "mamba",
            "conv_kernel": int(self.need("ssm.conv_kernel")),
            "intermediate_size": int(self.need("ssm.inner_size")),
            "state_size": int(self.need("ssm.state_size")),
            "time_step_rank": int(self.need("ssm.time_step_rank")),
            "layer_norm_epsilon": _short(self.need("attention.layer_norm_rms_epsilon")),
            "use_conv_bias": True,
        }

    def _mamba2_keys(self, common: dict[str, Any]) -> dict[str, Any]:
        heads, inner = int(self.need("ssm.time_step_rank")), int(self.need("ssm.inner_size"))
        return {
            "model_type": "mamba2",
            "num_heads": heads,
            "head_dim": inner // heads,
            "expand": inner // common["hidden_size"],
            "state_size": int(self.need("ssm.state_size")),
            "n_groups": int(self.need("ssm.group_count")),
            "conv_kernel": int(self.need("ssm.conv_kernel")),
            "layer_norm_epsilon": _short(self.need("attention.layer_norm_rms_epsilon")),
        }

    def _mixer_keys(self) -> dict[str, Any]:
        """Of the Mamba-2 mixers of a hybrid."""
        heads, inner = int(self.need("ssm.time_step_rank")), int(self.need("ssm.inner_size"))
        return {
            "mamba_n_heads": heads,
            "mamba_d_head": inner // heads,
            "mamba_d_state": int(self.need("ssm.state_size")),
            "mamba_n_groups": int(self.need("ssm.group_count")),
            "mamba_d_conv": int(self.need("ssm.conv_kernel")),
            "mamba_conv_bias": any(name.endswith("ssm_conv1d.bias") for name in self.tensors),
        }

    def _layer_kinds(self, layers: int) -> list[str]:
        """A layer without heads of keys mixes by Mamba-2."""
        counts = self.keys.get(f"{self.architecture}.attention.head_count_kv")
        if not isinstance(counts, list) or len(counts) != layers:
            counts = [counts] * layers
        return ["attention" if count else "mamba" for count in counts]

    def _key_heads(self, heads: int) -> int:
        """How many heads the keys have, where they have any."""
        counts = self.keys.get(f"{self.architecture}.attention.head_count_kv", heads)
        if self.architecture == "granitehybrid" and isinstance(counts, list):
            (count,) = {count for count in counts if count} or {0}
            return int(count)
        return int(self.key("attention.head_count_kv", heads))

    def _dense_keys(self, common: dict[str, Any]) -> dict[str, Any]:
        heads = int(self.need("attention.head_count"))
        key_heads = self._key_heads(heads)
        if not key_heads:
            raise CheckpointError(f"{self.path.name} has layers without attention.", ELSEWHERE)
        keys: dict[str, Any] = {
            "model_type": self.architecture,
            "num_attention_heads": heads,
            "num_key_value_heads": key_heads,
            "head_dim": int(self.key("attention.key_length", common["hidden_size"] // heads)),
            "rms_norm_eps": _short(self.need("attention.layer_norm_rms_epsilon")),
            "rope_theta": _short(self.key("rope.freq_base", 10_000.0)),
            "max_position_embeddings": int(self.key("context_length", 2048)),
        }
        inner = int(self.need("feed_forward_length"))
        rotated = int(self.key("rope.dimension_count", keys["head_dim"]))
        if rotated != keys["head_dim"]:
            raise CheckpointError(f"{self.path.name} rotates {rotated} of {keys['head_dim']} channels.", ELSEWHERE)
        scaling = self.key("rope.scaling.type", "none")
        if scaling == "linear":
            keys["rope_scaling"] = {"rope_type": "linear", "factor": _short(self.need("rope.scaling.factor"))}
        elif scaling != "none":
            raise CheckpointError(f"{self.path.name} scales its rotary positions by {scaling}.", ELSEWHERE)
        if self.architecture == "llama":
            keys["attention_bias"] = "blk.0.attn_q.bias" in self.tensors
        if self.architecture == "falcon-h1":  # its factors are in the weights
            normed = "blk.0.ssm_norm.weight" in self.tensors
            own = {"model_type": "falcon_h1", "mamba_rms_norm": normed, "mamba_norm_before_gate": not normed}
            own["mamba_d_ssm"] = int(self.need("ssm.inner_size"))
            return keys | own | self._mixer_keys() | {"intermediate_size": inner}
        if self.architecture.startswith("granite"):
            keys |= {
                "embedding_multiplier": _short(self.key("embedding_scale", 1.0)),
                "attention_multiplier": _short(self.key("attention.scale", 0.0)),
                "residual_multiplier": _short(self.key("residual_scale", 1.0)),
                "logits_scaling": _short(self.key("logit_scale", 1.0)),
            }
            # granite's way to say: no positions.  llama.cpp's granitemoe always has them.
            turns = self.architecture == "granitemoe" or self.key("rope.scaling.finetuned", True) is not False
            experts, layers = int(self.key("expert_count", 0)), common["num_hidden_layers"]
            kinds = {"layer_types": ["attention"] * layers}
            if hybrid := self.architecture == "granitehybrid":
                expand = int(self.need("ssm.inner_size")) // common["hidden_size"]
                kinds = self._mixer_keys() | {"layer_types": self._layer_kinds(layers), "mamba_expand": expand}
            if hybrid or experts or not turns:
                return keys | {
                    "model_type": "granitemoehybrid",
                    "intermediate_size": inner,
                    "shared_intermediate_size": int(self.key("expert_shared_feed_forward_length", inner)),
                    "position_embedding_type": "rope" if turns else "nope",
                    "num_local_experts": experts,
                    "num_experts_per_tok": int(self.key("expert_used_count", 0)),
                    **kinds,
                }
        return keys | {"intermediate_size": inner}

    def tokenizer_keys(self) -> dict[str, Any]:
        """The `tokenizer.ggml` keys, and our own about the tokenizer."""
        return {
            name.removeprefix(start): value
            for start in ("tokenizer.ggml.", OWN_KEYS)
            for name, value in self.keys.items()
            if name.startswith(start)
        }


class GgufParameters(TensorSource):
    """Parameters by our names, float32 or as stored where that is a plain type.  All is checked on opening."""

    def __init__(self, file: GgufFile, config: Architecture) -> None:
        self._file, self._config = file, config
        self._stored = {name: gguf_names(name, config) for name in config.specs}
        self._check_names()
        types = {file.tensors[stored].tensor_type.name for names in self._stored.values() for stored in names}
        if unreadable := sorted(types - READABLE):
            raise CheckpointError(
                f"{file.path.name} holds weights as {', '.join(unreadable)}.",
                f"Known are {', '.join(sorted(READABLE))}.",
            )
        self._check_shapes()
        large = {
            file.tensors[stored].tensor_type.name
            for name, names in self._stored.items()
            if config.specs[name].packs
            for stored in names
        }
        self.kinds = ", ".join(sorted(large)).lower()
        self.is_quantised = bool(large - PLAIN.keys())
        self.precision = PLAIN[large.pop()] if len(large) == 1 and not self.is_quantised else "float32"
        if self.is_quantised:
            self.precision = "float16"

    def _check_names(self) -> None:
        wanted = {stored for names in self._stored.values() for stored in names}
        missing, extra = sorted(wanted - self._file.tensors.keys()), sorted(self._file.tensors.keys() - wanted)
        for what, names in (("lacks", missing), ("has tensors that are not supported", extra)):
            if names:
                more = f" and {len(names) - 5} more" if len(names) > 5 else ""
                raise CheckpointError(f"{self._file.path.name} {what}: {', '.join(names[:5])}{more}.", ELSEWHERE)

    def _check_shapes(self) -> None:
        for name, names in self._stored.items():
            shape = self._config.specs[name].shape
            found = sum(math.prod(map(int, self._file.tensors[stored].shape)) for stored in names)
            row = int(self._file.tensors[names[0]].shape[0])
            if found != math.prod(shape) or (len(shape) == 2 and row != shape[1]):
                raise CheckpointError(f"{self._file.path.name}: {names[0]} does not have the shape {shape}.", DAMAGED)

    def __getitem__(self, name: str) -> np.ndarray:
        spec = self._config.specs[name]
        arrays = [self._rows(stored) for stored in self._stored[name]]
        array = spec.from_gguf(arrays if len(arrays) > 1 else arrays[0]) if spec.from_gguf else arrays[0]
        return check_finite(np.ascontiguousarray(array).reshape(spec.shape), name, self._file.path.name)

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        spec = self._config.specs[name]
        if spec.from_gguf is not None or len(spec.shape) != 2:
            yield self[name]
            return
        (stored,) = self._stored[name]
        step = piece_rows(4 * spec.shape[1])
        for first in range(0, spec.shape[0], step):
            yield check_finite(self._rows(stored, first, first + step), name, self._file.path.name)

    def _rows(self, stored: str, first: int = 0, last: int | None = None) -> np.ndarray:
        """Rows of a tensor, float32 or as they are stored."""
        from gguf.quants import dequantize

        data, kind = self._file.data(stored)[first:last], self._file.tensors[stored].tensor_type
        return np.asarray(data) if kind.name in ("F32", "F16") else dequantize(data, kind)

    def __contains__(self, name: object) -> bool:  # Mapping's own would read the tensor
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def gguf_names(name: str, config: Architecture) -> list[str]:
    """Where a parameter is in a GGUF file: one tensor, or two that make it up."""
    layer, gguf = layer_of(name), config.specs[name].gguf
    if not gguf:
        raise CheckpointError(f"{name} has no place in a GGUF file.", ELSEWHERE)
    return [part if layer is None else f"blk.{layer}.{part}" for part in gguf.split("|")]


def _short(number: Any) -> float:
    """A float32 as the number that was meant: 1e-5, not 9.999999747378752e-06."""
    return float(str(np.float32(number)))
