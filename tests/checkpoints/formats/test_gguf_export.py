"""GGUF files, read back with gguf's own reader: names, shapes, metadata, and values within what the type can hold."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from gguf import GGUFReader, GGUFValueType
from gguf.quants import dequantize

from engine.checkpoints.formats.gguf_export import PRECISIONS, write_gguf
from engine.checkpoints.formats.gguf_vocabulary import CONTROL, NORMAL, UNUSED, USER_DEFINED, read_vocabulary
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError

# The largest error of a number, as a share of the largest one in its block (f16: of itself). Scales are float16.
ERRORS = {"F32": 1e-6, "F16": 2.0**-11, "Q8_0": 0.501 / 127 + 2.0**-11, "Q4_0": 1.001 / 8 + 2.0**-11}


def read_back(path):
    reader = GGUFReader(path)
    return reader, {tensor.name: tensor for tensor in reader.tensors}


def value(reader, key):
    field = reader.fields[key]
    if field.types[0] is GGUFValueType.ARRAY:
        items = [field.parts[i] for i in field.data]
        return [bytes(part).decode() if field.types[1] is GGUFValueType.STRING else int(part[0]) for part in items]
    part = field.parts[field.data[0]]
    return bytes(part).decode() if field.types[0] is GGUFValueType.STRING else part[0].item()


def numbers(tensor):
    return dequantize(tensor.data, tensor.tensor_type).reshape(tuple(map(int, tensor.shape))[::-1])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_written_can_be_read(tmp_path, config, parameters, tokenizer, precision):
    report = write_gguf(tmp_path / "m.gguf", config, parameters, tokenizer, precision, "small")
    assert report.nbytes == (tmp_path / "m.gguf").stat().st_size
    _, tensors = read_back(tmp_path / "m.gguf")
    expected = {
        "token_embd.weight": parameters["backbone.embeddings.weight"],
        "output_norm.weight": parameters["backbone.norm_f.weight"],
    }
    for layer in range(config.num_hidden_layers):
        own = {k.split(".", 3)[3]: v for k, v in parameters.items() if k.startswith(f"backbone.layers.{layer}.")}
        expected |= {
            f"blk.{layer}.attn_norm.weight": own["norm.weight"],
            f"blk.{layer}.ssm_in.weight": own["mixer.in_proj.weight"],
            f"blk.{layer}.ssm_conv1d.weight": own["mixer.conv1d.weight"][:, 0],
            f"blk.{layer}.ssm_conv1d.bias": own["mixer.conv1d.bias"],
            f"blk.{layer}.ssm_x.weight": own["mixer.x_proj.weight"],
            f"blk.{layer}.ssm_dt.weight": own["mixer.dt_proj.weight"],
            f"blk.{layer}.ssm_dt.bias": own["mixer.dt_proj.bias"],
            f"blk.{layer}.ssm_a": -np.exp(own["mixer.A_log"]),
            f"blk.{layer}.ssm_d": own["mixer.D"],
            f"blk.{layer}.ssm_out.weight": own["mixer.out_proj.weight"],
        }
    assert tensors.keys() == expected.keys()
    for name, array in expected.items():
        kind = tensors[name].tensor_type.name
        reduced = name.endswith(("_in.weight", "_x.weight", "_dt.weight", "_out.weight", "token_embd.weight"))
        assert (kind == "F32") == (precision == "f32" or not reduced), name
        found = numbers(tensors[name])
        assert found.shape == array.shape, name
        assert largest_share(found, array, kind) <= ERRORS[kind], name


def largest_share(found, array, kind):
    width = 32 if kind.startswith("Q") else 1
    error, size = (np.abs(a).reshape(-1, width).max(1) for a in (found - array, array))
    return (error / np.maximum(size, 1e-30)).max()


def test_types_by_tensor(tmp_path, config, parameters, tokenizer):
    report = write_gguf(tmp_path / "m.gguf", config, parameters, tokenizer, "q4_0")
    _, tensors = read_back(tmp_path / "m.gguf")
    kinds = {name: tensor.tensor_type.name for name, tensor in tensors.items()}
    assert kinds["token_embd.weight"] == "Q8_0"
    assert kinds["blk.0.ssm_in.weight"] == kinds["blk.0.ssm_out.weight"] == kinds["blk.0.ssm_x.weight"] == "Q4_0"
    assert kinds["blk.0.ssm_dt.weight"] == "F16"  # rows of 4 numbers are no blocks of 32
    assert kinds["blk.0.ssm_conv1d.weight"] == kinds["blk.0.ssm_a"] == kinds["output_norm.weight"] == "F32"
    assert report.other_types["blk.0.ssm_dt.weight"] == "f16"


def test_metadata(tmp_path, config, parameters, tokenizer):
    write_gguf(tmp_path / "m.gguf", config, parameters, tokenizer, "q8_0", "a name")
    reader, _ = read_back(tmp_path / "m.gguf")
    expected = {
        "general.architecture": "mamba",
        "general.name": "a name",
        "general.file_type": 7,
        "mamba.context_length": 1 << 20,
        "mamba.embedding_length": 64,
        "mamba.block_count": 3,
        "mamba.ssm.conv_kernel": 4,
        "mamba.ssm.inner_size": 128,
        "mamba.ssm.state_size": 16,
        "mamba.ssm.time_step_rank": 4,
        "mamba.attention.layer_norm_rms_epsilon": pytest.approx(1e-5),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "superbpe",
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
    }
    assert {key: value(reader, key) for key in expected} == expected
    ours = Tokenizer.load(tokenizer)
    tokens, types = value(reader, "tokenizer.ggml.tokens"), value(reader, "tokenizer.ggml.token_type")
    assert len(tokens) == len(types) == config.vocab_size == len(set(tokens))
    assert tokens[: ours.vocab_size] == [ours.token(i) for i in range(ours.vocab_size)]
    special = {ours.special.fim_prefix, ours.special.fim_suffix, ours.special.fim_middle}
    assert special == {value(reader, f"tokenizer.ggml.fim_{name}_token_id") for name in ("pre", "suf", "mid")}
    assert all(types[i] == (CONTROL if i in ours.special_ids else NORMAL) for i in range(ours.vocab_size))
    assert set(types[ours.vocab_size :]) == {UNUSED}
    merges = value(reader, "tokenizer.ggml.merges")
    assert all(len(merge.split(" ")) == 2 and merge.replace(" ", "") in tokens for merge in merges)


def test_a_head_of_its_own_and_no_bias_of_the_convolution(tmp_path, export_check, tokenizer):
    config = export_check.small_config(tie_word_embeddings=False, use_conv_bias=False)
    parameters = export_check.small_parameters(config, 5)
    write_gguf(tmp_path / "m.gguf", config, parameters, tokenizer, "f32")
    _, tensors = read_back(tmp_path / "m.gguf")
    assert np.array_equal(numbers(tensors["output.weight"]), parameters["lm_head.weight"])
    assert not tensors["blk.2.ssm_conv1d.bias"].data.any()


def test_what_llama_cpp_does_not_compute_is_refused_by_name(tmp_path, export_check, config, parameters, tokenizer):
    out = tmp_path / "m.gguf"
    biased = export_check.small_config(use_bias=True)
    with pytest.raises(CheckpointError, match=r"in_proj\.bias"):
        write_gguf(out, biased, export_check.small_parameters(biased, 0), tokenizer)
    wide = export_check.small_config(expand=3)
    with pytest.raises(CheckpointError, match=r"inner size is 192; .* 128"):
        write_gguf(out, wide, export_check.small_parameters(wide, 0), tokenizer)
    with pytest.raises(CheckpointError, match="has none"):
        write_gguf(out, config, parameters, None)
    with pytest.raises(CheckpointError, match="cannot be written as q2_k"):
        write_gguf(out, config, parameters, tokenizer, "q2_k")
    large = {**parameters, "backbone.embeddings.weight": parameters["backbone.embeddings.weight"] * 1e9}
    with pytest.raises(CheckpointError, match=r"token_embd.weight holds values that float16"):
        write_gguf(out, config, large, tokenizer, "f16")
    assert os.listdir(tmp_path) == []


def test_the_file_is_replaced_at_once(tmp_path, config, parameters, tokenizer):
    out = tmp_path / "m.gguf"
    out.write_bytes(b"old")
    broken = {name: array for name, array in parameters.items() if name != "backbone.norm_f.weight"}
    with pytest.raises(KeyError):
        write_gguf(out, config, broken, tokenizer)
    assert out.read_bytes() == b"old" and os.listdir(tmp_path) == ["m.gguf"]
    write_gguf(out, config, parameters, tokenizer)
    first = out.read_bytes()
    write_gguf(out, config, parameters, tokenizer)
    assert out.read_bytes() == first


def described(pre_tokenizer, added=()):
    """A tokenizer.json of single bytes."""
    from engine.corpus.tokens.byte_alphabet import CHARACTER_OF_BYTE

    vocab = {character: number for number, character in enumerate(CHARACTER_OF_BYTE)} | {"ab": 258, "cd": 259}
    return {
        "model": {"type": "BPE", "vocab": vocab, "merges": [["a", "b"], ["c", "d"]]},
        "pre_tokenizer": pre_tokenizer,
        "added_tokens": [{"id": 256, "content": "<|endoftext|>", "special": True}, *added],
    }


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


@pytest.mark.parametrize(
    ("step", "pre", "notes"),
    [
        (BYTES, "gpt-2", 0),
        ({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTES]}, "starcoder", 0),
        ({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": False}, BYTES]}, "gpt-2", 1),
    ],
)
def test_rules_of_published_tokenizers_have_names(tmp_path, step, pre, notes):
    path = tmp_path / "tokenizer.json"
    added = {"id": 260, "content": "print", "special": False}
    path.write_text(json.dumps(described(step, [added])))
    vocabulary = read_vocabulary(path, 264)
    assert (vocabulary.pre, len(vocabulary.notes)) == (pre, notes)
    assert vocabulary.types[260] == USER_DEFINED and vocabulary.tokens[260] == "print"
    assert [vocabulary.types[i] for i in (0, 256, 257, 263)] == [NORMAL, CONTROL, UNUSED, UNUSED]
    assert vocabulary.merges == ["a b", "c d"]
    with pytest.raises(CheckpointError, match="has ids up to 260; the model has 260"):
        read_vocabulary(path, 260)
