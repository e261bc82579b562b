"""GGUF, the file that llama.cpp, Ollama and LM Studio run: export only.

llama.cpp's `mamba` wants A as -exp(A_log), the convolution without its middle dimension and with a bias, no biases on
in_proj and out_proj, and an inner size of twice the model's. Norms, A, D, biases and the convolution stay float32.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.checkpoints.formats.gguf_vocabulary import Vocabulary, read_vocabulary
from engine.checkpoints.formats.output import export_file
from engine.errors import CheckpointError
from engine.model.config import ModelConfig

if TYPE_CHECKING:
    from gguf import GGMLQuantizationType, GGUFWriter

PRECISIONS = ("f32", "f16", "q8_0", "q4_0")
CONTEXT = 1 << 20  # a state-space model has no limit; llama.cpp's own converter writes this
BLOCK = 32  # numbers that share a scale in q8_0 and q4_0; a row has to be made of them
LAYER_NAMES = {
    "norm.weight": "attn_norm.weight",
    "mixer.in_proj.weight": "ssm_in.weight",
    "mixer.conv1d.weight": "ssm_conv1d.weight",
    "mixer.conv1d.bias": "ssm_conv1d.bias",
    "mixer.x_proj.weight": "ssm_x.weight",
    "mixer.dt_proj.weight": "ssm_dt.weight",
    "mixer.dt_proj.bias": "ssm_dt.bias",
    "mixer.A_log": "ssm_a",
    "mixer.D": "ssm_d",
    "mixer.out_proj.weight": "ssm_out.weight",
}
OTHER_NAMES = {
    "backbone.embeddings.weight": "token_embd.weight",
    "backbone.norm_f.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
# What is stored in fewer bits. dt_proj's rows are short, often no whole blocks; then float16 takes its place.
REDUCED = ("token_embd.weight", "output.weight", "ssm_in.weight", "ssm_x.weight", "ssm_dt.weight", "ssm_out.weight")


@dataclass(frozen=True)
class GgufReport:
    """What was written: bytes, the tensors that did not take the precision asked for, and what else to know."""

    nbytes: int
    other_types: dict[str, str]
    notes: tuple[str, ...]


def write_gguf(
    out: Path,
    config: ModelConfig,
    parameters: Mapping[str, np.ndarray],
    tokenizer: Path | None,
    precision: str = "f16",
    name: str = "",
) -> GgufReport:
    """A GGUF file at `out`; one tensor is in memory at a time."""
    _check(config, tokenizer, precision)
    assert tokenizer is not None
    vocabulary = read_vocabulary(tokenizer, config.vocab_size)
    from gguf import GGUFWriter

    plan = {tensor: _stored_type(tensor, shape, precision) for tensor, shape, _ in _tensors(config)}
    with export_file(out) as part:
        writer = GGUFWriter(part, "mamba")
        try:
            _write_facts(writer, config, precision, name)
            _write_vocabulary(writer, vocabulary)
            for tensor, shape, _ in _tensors(config):
                _describe(writer, tensor, shape, plan[tensor])
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_ti_data_to_file()
            for tensor, shape, source in _tensors(config):
                array = _converted(tensor, shape, parameters[source] if source else None)
                writer.write_tensor_data(_packed(tensor, array, plan[tensor]))
            writer.flush()
        finally:
            with contextlib.suppress(OSError):
                writer.close()
        nbytes = part.stat().st_size
    wanted = _type(precision)
    others = {
        tensor: kind.name.lower() for tensor, kind in plan.items() if tensor.endswith(REDUCED) and kind is not wanted
    }
    return GgufReport(nbytes, others, vocabulary.notes)


def _check(config: ModelConfig, tokenizer: Path | None, precision: str) -> None:
    instead = "Export a Hugging Face folder instead."
    if precision not in PRECISIONS:
        raise CheckpointError(f"GGUF cannot be written as {precision}.", f"Choose one of: {', '.join(PRECISIONS)}.")
    if config.use_bias:
        raise CheckpointError(
            "The model has biases on in_proj and out_proj, which llama.cpp does not support.", instead
        )
    if config.intermediate_size != 2 * config.hidden_size:
        raise CheckpointError(
            f"The model's inner size is {config.intermediate_size}; llama.cpp supports only twice the hidden size,"
            f" {2 * config.hidden_size}.",
            instead,
        )
    if tokenizer is None:
        raise CheckpointError("A GGUF file includes the tokenizer, and this checkpoint has none.", instead)


def _tensors(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Name and shape in the file, and our parameter: "" for the zero bias of a convolution that has none."""
    for source, shape in config.parameter_shapes().items():
        if source in OTHER_NAMES:
            yield OTHER_NAMES[source], shape, source
            continue
        _, _, layer, inner = source.split(".", 3)
        if inner == "mixer.conv1d.weight":
            yield f"blk.{layer}.{LAYER_NAMES[inner]}", (shape[0], shape[2]), source
            if not config.use_conv_bias:
                yield f"blk.{layer}.ssm_conv1d.bias", (shape[0],), ""
        else:
            yield f"blk.{layer}.{LAYER_NAMES[inner]}", shape, source


def _converted(tensor: str, shape: tuple[int, ...], array: np.ndarray | None) -> np.ndarray:
    """A parameter as llama.cpp reads it, float32."""
    if array is None:
        return np.zeros(shape, np.float32)
    array = np.asarray(array, np.float32)
    if tensor.endswith(".ssm_a"):  # in float64, so that every machine rounds to the same bits
        with np.errstate(over="ignore"):
            array = -np.exp(array, dtype=np.float64).astype(np.float32)
    if not np.isfinite(array).all():
        raise CheckpointError(f"{tensor} holds NaN or infinite values.", "Verify the checkpoint.")
    return np.ascontiguousarray(array.reshape(shape))


def _type(precision: str) -> GGMLQuantizationType:
    from gguf import GGMLQuantizationType

    return GGMLQuantizationType[precision.upper()]


def _stored_type(tensor: str, shape: tuple[int, ...], precision: str) -> GGMLQuantizationType:
    """Embedding and head are q8_0 in a q4_0 file: every token passes through them, and four bits cost most there."""
    if precision == "f32" or not tensor.endswith(REDUCED):
        return _type("f32")
    if precision in ("q8_0", "q4_0") and shape[-1] % BLOCK:
        return _type("f16")
    if precision == "q4_0" and tensor in ("token_embd.weight", "output.weight"):
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


def _write_facts(writer: GGUFWriter, config: ModelConfig, precision: str, name: str) -> None:
    from gguf import GGML_QUANT_VERSION, LlamaFileType

    if name:
        writer.add_name(name)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(0)  # unused, but llama.cpp wants the key
    writer.add_head_count(0)  # the same
    writer.add_block_count(config.num_hidden_layers)
    writer.add_ssm_conv_kernel(config.conv_kernel)
    writer.add_ssm_inner_size(config.intermediate_size)
    writer.add_ssm_state_size(config.state_size)
    writer.add_ssm_time_step_rank(config.time_step_rank)
    writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
    writer.add_ssm_dt_b_c_rms(False)
    writer.add_quantization_version(GGML_QUANT_VERSION)
    kind = "ALL_F32" if precision == "f32" else f"MOSTLY_{precision.upper()}"
    writer.add_file_type(LlamaFileType[kind])


def _write_vocabulary(writer: GGUFWriter, vocabulary: Vocabulary) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(vocabulary.pre)
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    for role, number in vocabulary.special.items():
        writer.add_uint32(f"tokenizer.ggml.{role}_token_id", number)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
