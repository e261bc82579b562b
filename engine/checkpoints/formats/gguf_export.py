"""GGUF, the file that llama.cpp, Ollama and LM Studio run: writing it.

Names and conversions are those that the blocks state. llama.cpp's `mamba` wants a bias on the convolution, none on
in_proj and out_proj, and an inner size of twice the model's. What is small and sensitive stays float32.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.checkpoints.formats.gguf_import import gguf_names
from engine.checkpoints.formats.gguf_vocabulary import FORMER_NAMES, OWN_KEYS, Vocabulary, read_vocabulary
from engine.checkpoints.formats.output import export_file
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.dense import DenseConfig
from engine.model.architectures.hybrids import ATTENTION, HybridConfig
from engine.model.architectures.mamba2 import Mamba2Config
from engine.model.config import ModelConfig

if TYPE_CHECKING:
    from gguf import GGMLQuantizationType, GGUFWriter

PRECISIONS = ("f32", "f16", "q8_0", "q4_0")
CONTEXT = 1 << 20  # a state-space model has no limit; llama.cpp's own converter writes this
BLOCK = 32  # numbers that share a scale in q8_0 and q4_0; a row has to be made of them


@dataclass(frozen=True)
class GgufReport:
    """What was written: bytes, the tensors that did not take the precision asked for, and what else to know."""

    nbytes: int
    other_types: dict[str, str]
    notes: tuple[str, ...]


def write_gguf(
    out: Path,
    config: Architecture,
    parameters: Mapping[str, np.ndarray],
    tokenizer: Path | None,
    precision: str = "f16",
    name: str = "",
    description: str = "",
) -> GgufReport:
    """A GGUF file at `out`; one tensor is in memory at a time."""
    _check(config, tokenizer, precision)
    assert tokenizer is not None
    vocabulary = read_vocabulary(tokenizer, config.vocab_size)
    from gguf import GGUFWriter

    tensors = list(_tensors(config))
    plan = {tensor.name: _stored_type(tensor, precision) for tensor in tensors}
    with export_file(out) as part:
        writer = GGUFWriter(part, config.gguf_architecture)
        try:
            _write_facts(writer, config, precision, name)
            if description:
                writer.add_description(description)
            _write_vocabulary(writer, vocabulary)
            for tensor in tensors:
                _describe(writer, tensor.name, tensor.shape, plan[tensor.name])
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_ti_data_to_file()
            for tensor in tensors:
                array = _converted(tensor, config, parameters)
                writer.write_tensor_data(_packed(tensor.name, array, plan[tensor.name]))
            writer.flush()
        finally:
            with contextlib.suppress(OSError):
                writer.close()
        nbytes = part.stat().st_size
    wanted = _type(precision)
    others = {
        tensor.name: plan[tensor.name].name.lower()
        for tensor in tensors
        if tensor.packs and plan[tensor.name] is not wanted
    }
    return GgufReport(nbytes, others, vocabulary.notes)


def _check(config: Architecture, tokenizer: Path | None, precision: str) -> None:
    instead = "Export a Hugging Face folder instead."
    if precision not in PRECISIONS:
        raise CheckpointError(f"GGUF cannot be written as {precision}.", f"Choose one of: {', '.join(PRECISIONS)}.")
    if not config.gguf_architecture:
        raise CheckpointError(f"llama.cpp does not compute {config.label}.", "Export it as a bundle or as a folder.")
    if homeless := [name for name, spec in config.specs.items() if not spec.gguf]:
        raise CheckpointError(f"llama.cpp does not compute {homeless[0]} of a {config.model_type} model.", instead)
    if config.gguf_architecture == "granitemoe" and not config.rope_theta:
        raise CheckpointError("llama.cpp computes no mixture of experts without positions.", instead)
    inner = config.intermediate_size if isinstance(config, ModelConfig) else getattr(config, "inner_size", 0)
    if config.gguf_architecture in ("mamba", "granitehybrid") and inner != 2 * config.hidden_size:
        raise CheckpointError(
            f"The model's inner size is {inner}; llama.cpp supports only twice the hidden size,"
            f" {2 * config.hidden_size}.",
            instead,
        )
    if tokenizer is None:
        raise CheckpointError("A GGUF file includes the tokenizer, and this checkpoint has none.", instead)


@dataclass(frozen=True)
class _Stored:
    """A tensor of the file, and the parameter that it is (part `part` of); `packs`: may be stored in fewer bits.

    `source` "": zeros, for the bias of a convolution that has none.  `factor`: of the numbers in the file.
    """

    name: str
    shape: tuple[int, ...]
    source: str
    packs: bool = False
    part: int = 0
    factor: float = 1.0


def _tensors(config: Architecture) -> Iterator[_Stored]:
    tables: dict[str, float] = {}
    if config.gguf_folds_factors:
        tables = {config.embedding_name: config.embedding_factor, config.head_name: config.logits_factor}
        if config.tie_word_embeddings:  # the file has a head all the same, as it has another factor
            spec = config.specs[config.embedding_name]
            yield _Stored("output.weight", spec.shape, config.embedding_name, True, factor=config.logits_factor)
    for source, spec in config.specs.items():
        names = gguf_names(source, config)
        rows, *rest = spec.shape
        if spec.is_stack:  # each expert's matrix is split, not the stack
            shape = (rows, rest[0] // len(names), rest[1])
        else:
            shape = spec.gguf_shape or (rows // len(names), *(size for size in rest if size > 1 or len(rest) == 1))
        for part, name in enumerate(names):
            yield _Stored(name, shape, source, spec.packs, part, tables.get(source, 1.0))
        if source.endswith("conv1d.weight") and source.removesuffix("weight") + "bias" not in config.specs:
            yield _Stored(names[0].removesuffix("weight") + "bias", (rows,), "")


def _converted(tensor: _Stored, config: Architecture, parameters: Mapping[str, np.ndarray]) -> np.ndarray:
    """A parameter as llama.cpp reads it, float32."""
    if not tensor.source:
        return np.zeros(tensor.shape, np.float32)
    array, convert = np.asarray(parameters[tensor.source], np.float32), config.specs[tensor.source].to_gguf
    if convert is not None:
        converted = convert(array)
        array = converted[tensor.part] if isinstance(converted, list) else converted
    if not np.isfinite(array).all():
        raise CheckpointError(f"{tensor.name} holds NaN or infinite values.", "Verify the checkpoint.")
    if tensor.factor != 1.0:
        array = array * np.float32(tensor.factor)
    return np.ascontiguousarray(array.reshape(tensor.shape))


def _type(precision: str) -> GGMLQuantizationType:
    from gguf import GGMLQuantizationType

    return GGMLQuantizationType[precision.upper()]


def _stored_type(tensor: _Stored, precision: str) -> GGMLQuantizationType:
    """Embedding and head are q8_0 in a q4_0 file: every token passes through them, and four bits cost most there."""
    if precision == "f32" or not tensor.packs:
        return _type("f32")
    if precision in ("q8_0", "q4_0") and tensor.shape[-1] % BLOCK:
        return _type("f16")
    if precision == "q4_0" and tensor.name in ("token_embd.weight", "output.weight"):
        return _type("q8_0")
    return _type(precision)


def _describe(writer: GGUFWriter, tensor: str, shape: tuple[int, ...], kind: GGMLQuantizationType) -> None:
    from gguf import GGML_QUANT_SIZES

    block, size = GGML_QUANT_SIZES[kind]
    nbytes = int(np.prod(shape, dtype=np.int64)) // block * size
    writer.add_tensor_info(tensor, shape, np.dtype(np.float32), nbytes, kind)


def _packed(tensor: str, array: np.ndarray, kind: GGMLQuantizationType) -> np.ndarray:
    from gguf.quants import quantize

    if kind.name == "F32":
        return array
    with np.errstate(over="ignore"):
        packed = array.astype(np.float16) if kind.name == "F16" else quantize(array, kind)
    if kind.name == "F16" and not np.isfinite(packed).all():
        raise CheckpointError(f"{tensor} holds values that float16 cannot represent.", "Export as f32.")
    return packed


def _write_facts(writer: GGUFWriter, config: Architecture, precision: str, name: str) -> None:
    from gguf import GGML_QUANT_VERSION, LlamaFileType

    if name:
        writer.add_name(name)
    if isinstance(config, ModelConfig):
        _write_mamba(writer, config)
    elif isinstance(config, Mamba2Config):
        _write_mamba2(writer, config)
    else:
        _write_dense(writer, config)
        if isinstance(config, HybridConfig):
            _write_hybrid(writer, config)
    writer.add_quantization_version(GGML_QUANT_VERSION)
    kind = "ALL_F32" if precision == "f32" else f"MOSTLY_{precision.upper()}"
    writer.add_file_type(LlamaFileType[kind])


def _write_mamba(writer: GGUFWriter, config: ModelConfig) -> None:
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(0)  # unused, but llama.cpp wants the key
    writer.add_head_count(0)  # the same
    writer.add_block_count(config.num_hidden_layers)
    writer.add_ssm_conv_kernel(config.conv_kernel)
    writer.add_ssm_inner_size(config.intermediate_size)
    writer.add_ssm_state_size(config.state_size)
    writer.add_ssm_time_step_rank(config.time_step_rank)
    writer.add_layer_norm_rms_eps(config.norm_epsilon)
    writer.add_ssm_dt_b_c_rms(False)


def _write_mamba2(writer: GGUFWriter, config: Mamba2Config) -> None:
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(0)  # as for Mamba-1
    writer.add_head_count(0)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_layer_norm_rms_eps(config.norm_epsilon)
    _write_mixer(writer, config.num_heads, config.head_dim, config.state_size, config.n_groups, config.conv_kernel)


def _write_hybrid(writer: GGUFWriter, config: HybridConfig) -> None:
    sizes = (config.mamba_n_heads, config.mamba_d_head, config.mamba_d_state, config.mamba_n_groups)
    _write_mixer(writer, *sizes, config.mamba_d_conv)


def _write_mixer(writer: GGUFWriter, heads: int, head_dim: int, state: int, groups: int, taps: int) -> None:
    writer.add_ssm_conv_kernel(taps)
    writer.add_ssm_inner_size(heads * head_dim)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(heads)  # llama.cpp's name for it
    writer.add_ssm_group_count(groups)


def _write_dense(writer: GGUFWriter, config: DenseConfig) -> None:
    from gguf import RopeScalingType

    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_layer_norm_rms_eps(config.norm_epsilon)
    writer.add_feed_forward_length(config.expert_size or config.intermediate_size)
    if config.experts:
        writer.add_expert_shared_feed_forward_length(config.intermediate_size)
        writer.add_expert_count(config.experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(_key_heads(config))
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    writer.add_rope_dimension_count(config.head_dim)
    if config.rope_theta:
        writer.add_rope_freq_base(config.rope_theta)
    if config.rope_factor != 1.0:
        writer.add_rope_scaling_type(RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(config.rope_factor)
    if config.gguf_architecture.startswith("granite"):
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
        writer.add_attention_scale(config.attention_multiplier or config.head_dim**-0.5)
        if not config.rope_theta:
            writer.add_rope_scaling_finetuned(False)  # granite's way to say: no positions


def _key_heads(config: DenseConfig) -> int | list[int]:
    """How many heads the keys have; where layers differ, of each layer, and none where it mixes by Mamba-2."""
    heads = config.num_key_value_heads
    kinds = config.layer_types[: config.num_hidden_layers] if isinstance(config, HybridConfig) else ()
    return [heads if kind == ATTENTION else 0 for kind in kinds] if kinds else heads


def _write_vocabulary(writer: GGUFWriter, vocabulary: Vocabulary) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(vocabulary.pre)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    for role, number in vocabulary.special.items():
        writer.add_uint32(f"tokenizer.ggml.{role}_token_id", number)
    if vocabulary.former_names:
        writer.add_array(f"{OWN_KEYS}{FORMER_NAMES}", vocabulary.former_names)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
