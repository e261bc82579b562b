"""GGUF files in: every architecture comes back as it was written, quantised types, and what is refused."""

from __future__ import annotations

import json
import math

import gguf
import numpy as np
import pytest

from engine.checkpoints.formats.gguf_export import write_gguf
from engine.checkpoints.formats.gguf_import import is_gguf, read_gguf
from engine.checkpoints.formats.gguf_vocabulary import SPLITTING, description_from
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError
from tests.checkpoints.formats.gguf_samples import MODELS, model, rewritten, written


@pytest.mark.parametrize("name", MODELS)
def test_what_was_written_comes_back_bit_for_bit(tmp_path, tokenizer_path, name):
    path, config, parameters = written(tmp_path, tokenizer_path, name)
    imported = read_gguf(path)
    sizes = {key: value for key, value in vars(config).items() if key not in ("described", "specs")}
    assert {key: getattr(imported.config, key) for key in sizes} == sizes
    assert imported.precision == "float32"
    for parameter, array in parameters.items():
        limit = 1e-6 if parameter.endswith("A_log") else 0
        assert np.abs(imported.parameters[parameter] - array).max() <= limit, parameter
        assert np.array_equal(np.concatenate([*imported.parameters.pieces(parameter)]), imported.parameters[parameter])


def test_queries_and_keys_are_turned_for_llama_and_not_for_qwen(tmp_path, tokenizer_path):
    for name, turned in (("llama", True), ("qwen2", False)):
        path, _, parameters = written(tmp_path, tokenizer_path, name)
        tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
        for part in "qkv":
            stored = np.array(tensors[f"blk.0.attn_{part}.weight"].data)
            own = parameters[f"model.layers.0.self_attn.{part}_proj.weight"]
            assert np.array_equal(stored, own) is not (turned and part != "v")


def test_the_store_takes_it_and_gives_the_model_back(tmp_path, tokenizer_path):
    path, config, parameters = written(tmp_path, tokenizer_path, "qwen2", "f16")
    store = CheckpointStore(tmp_path / "store")
    manifest = import_checkpoint(store, path, "coder")
    assert import_checkpoint(store, path, "coder").id == manifest.id  # known again
    assert store.verify(manifest.id) == []
    assert store.config(manifest.id).num_key_value_heads == config.num_key_value_heads
    with store.load_parameters(manifest.id) as loaded:
        for name, array in parameters.items():
            assert np.allclose(np.asarray(loaded[name], np.float32), array, atol=1e-3), name


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16"])
def test_quantised_types_are_read_as_the_library_reads_them(tmp_path, tokenizer_path, kind):
    path, _, parameters = written(tmp_path, tokenizer_path, "qwen2")
    stored = gguf.GGMLQuantizationType[kind]
    quantised = rewritten(path, tmp_path / "quantised.gguf", lambda name, array: stored if "ffn_up" in name else None)
    own = parameters["model.layers.1.mlp.up_proj.weight"]
    wanted = gguf.quants.dequantize(gguf.quants.quantize(own, stored), stored)
    found = read_gguf(quantised).parameters["model.layers.1.mlp.up_proj.weight"]
    assert np.array_equal(np.asarray(found, np.float32), wanted) and not np.array_equal(wanted, own)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"keys": {"general.architecture": "bert"}}, "bert"),
        ({"keys": {"tokenizer.ggml.model": "llama"}}, "'llama'"),
        ({"keys": {"tokenizer.ggml.pre": "something-new"}}, "something-new"),
        ({"keys": {"llama.rope.dimension_count": 4}}, "rotates 4"),
        ({"keys": {"llama.attention.head_count": 3}}, "attn_q|evenly|head"),
        ({"keys": {"llama.attention.head_count": 0}}, "another kind"),
        ({"keys": {"tokenizer.ggml.merges": [1, 2]}}, "another kind"),
        ({"leave": ("blk.1.ffn_up.weight",)}, "blk.1.ffn_up.weight"),
        ({"more": {"blk.0.attn_sinks.weight": np.ones(4, np.float32)}}, "attn_sinks"),
        ({"more": {"rope_freqs.weight": np.ones(4, np.float32)}}, "by frequency"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(tmp_path, tokenizer_path, change, match):
    path, *_ = written(tmp_path, tokenizer_path)
    with pytest.raises(CheckpointError, match=match):
        read_gguf(rewritten(path, tmp_path / "changed.gguf", **change))


def test_a_damaged_file_is_refused_and_costs_no_memory(tmp_path, tokenizer_path):
    path, *_ = written(tmp_path, tokenizer_path)
    content = path.read_bytes()
    for size in (4, 12, 40, 1000, len(content) // 2):
        damaged = tmp_path / "damaged.gguf"
        damaged.write_bytes(content[:size])
        assert is_gguf(damaged)
        with pytest.raises(CheckpointError):
            read_gguf(damaged)
    huge = tmp_path / "huge.gguf"
    huge.write_bytes(content[:8] + (1 << 60).to_bytes(8, "little") + content[16:])  # so many tensors
    with pytest.raises(CheckpointError):
        read_gguf(huge)


def test_weights_that_are_not_finite_are_refused_when_they_are_read(tmp_path, tokenizer_path):
    config, parameters = model("llama")
    parameters["model.norm.weight"] = np.full_like(parameters["model.norm.weight"], 1.0)
    path = tmp_path / "model.gguf"
    write_gguf(path, config, parameters, tokenizer_path, "f32")
    content = bytearray(path.read_bytes())
    at = content.find(np.ones(32, np.float32).tobytes())
    content[at : at + 4] = np.float32(math.nan).tobytes()
    path.write_bytes(content)
    imported = read_gguf(path)
    with pytest.raises(CheckpointError, match="NaN"):
        for name in imported.parameters:
            imported.parameters[name]


@pytest.mark.parametrize("pre", SPLITTING)
def test_every_rule_of_splitting_gives_texts_back(tokenizer_path, pre):
    description = json.loads(tokenizer_path.read_text())
    vocab = description["model"]["vocab"]
    tokens = sorted(vocab, key=vocab.get)
    keys = {
        "model": "gpt2",
        "pre": pre,
        "tokens": tokens,
        "token_type": [3 if token.startswith("<|") else 1 for token in tokens],
        "merges": [" ".join(merge) for merge in description["model"]["merges"]],
    }
    tokenizer = Tokenizer(description_from(keys, "a file"), "a file")
    text = "def naïve(x1234):\n\treturn  {'a': 3.14}  # 中文 👩‍💻\r\n"
    assert tokenizer.decode(tokenizer.encode(text)) == text
