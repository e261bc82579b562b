"""Mamba-2 and its hybrids as GGUF: shapes and keys as llama.cpp wants them, and Falcon's factors in the weights."""

from __future__ import annotations

import gguf
import numpy as np
import pytest

from engine.checkpoints.formats.gguf_export import write_gguf
from engine.checkpoints.formats.gguf_import import read_gguf
from engine.devices import open_device
from engine.errors import CheckpointError
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters
from engine.model.model import Model
from tests.checkpoints.formats.gguf_samples import *  # noqa: F403  (a fixture)
from tests.checkpoints.formats.gguf_samples import MODELS, SIZES, written

FACTORS = {
    "embedding_multiplier": 2.5, "lm_head_multiplier": 0.4, "key_multiplier": 0.6, "attention_in_multiplier": 1.3,
    "attention_out_multiplier": 0.7, "ssm_in_multiplier": 0.8, "ssm_out_multiplier": 1.4,
    "ssm_multipliers": [0.7, 1.2, 0.9, 1.1, 0.5], "mlp_multipliers": [0.9, 0.6],
}  # fmt: skip


def tensors_of(path):
    """Shapes by name, innermost dimension first, as llama.cpp lists them."""
    return {tensor.name: tuple(map(int, tensor.shape)) for tensor in gguf.GGUFReader(path).tensors}


def logits_of(config, parameters, ids):
    device = open_device("cpu")
    model = Model(config, device)
    try:
        model.parameters.fill(parameters)
        return model.logits(ids)
    finally:
        model.close()
        device.close()


@pytest.mark.parametrize("name", ["mamba2", "granitemoehybrid"])
def test_shapes_are_those_that_llama_cpp_asks_for(tmp_path, tokenizer_path, name):
    path, config, parameters = written(tmp_path, tokenizer_path, name)
    block, shapes = next(iter(config.blocks(0))), tensors_of(path)
    mixed, width = block.d + 2 * block.g * block.n, 2 * block.d + 2 * block.g * block.n + block.h
    assert shapes["blk.0.ssm_in.weight"] == (block.m, width)
    assert shapes["blk.0.ssm_conv1d.weight"] == (block.k, mixed)
    assert shapes["blk.0.ssm_a"] == shapes["blk.0.ssm_d"] == (1, block.h)
    assert shapes["blk.0.ssm_norm.weight"] == (block.d // block.g, block.g)
    assert shapes["blk.0.ssm_dt.bias"] == (block.h,)
    stored = {tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors}
    (A_log,) = (array for key, array in parameters.items() if ".0." in key and key.endswith("A_log"))
    assert np.allclose(stored["blk.0.ssm_a"].ravel(), -np.exp(A_log), rtol=1e-6)


def test_layers_of_mamba_have_no_heads_of_keys(tmp_path, tokenizer_path):
    path, _, _ = written(tmp_path, tokenizer_path, "granitemoehybrid")
    reader = gguf.GGUFReader(path)
    assert reader.fields["granitehybrid.attention.head_count_kv"].contents() == [0, 2, 0]
    assert reader.fields["granitehybrid.rope.scaling.finetuned"].contents() is False
    assert reader.fields["granitehybrid.ssm.time_step_rank"].contents() == 4
    assert "blk.1.ssm_in.weight" not in tensors_of(path)
    assert "blk.0.attn_q.weight" not in tensors_of(path)


@pytest.mark.parametrize("tied", [True, False])
def test_the_factors_of_falcon_are_in_the_weights_of_the_file(tmp_path, tokenizer_path, tied):
    """The file computes the same without any factor, and has a head in any case."""
    keys = {"model_type": "falcon_h1", **SIZES, **MODELS["falcon_h1"], **FACTORS, "tie_word_embeddings": tied}
    config = config_from(keys)
    parameters = dict(initial_parameters(config, seed=4))
    path = tmp_path / "falcon.gguf"
    write_gguf(path, config, parameters, tokenizer_path, "f32")
    imported = read_gguf(path)
    assert not imported.config.tie_word_embeddings
    assert imported.config.embedding_factor == imported.config.logits_factor == imported.config.key_multiplier == 1
    assert "blk.0.ffn_norm" in tensors_of(path)
    ids = np.random.default_rng(0).integers(0, 300, (2, 70))
    meant = logits_of(config, parameters, ids)
    assert np.abs(logits_of(imported.config, imported.parameters, ids) - meant).max() <= 1e-5 * np.abs(meant).max()


def test_a_falcon_without_a_head_says_so(tmp_path, tokenizer_path):
    path, _, _ = written(tmp_path, tokenizer_path, "falcon_h1")
    assert not any("head" in note for note in read_gguf(path).notes)
    bare = rewritten(path, tmp_path / "bare.gguf", leave=("output.weight",))  # noqa: F405
    assert any("head" in note for note in read_gguf(bare).notes)


def test_an_inner_size_that_llama_cpp_does_not_compute_is_refused(tmp_path, tokenizer_path):
    keys = {"model_type": "granitemoehybrid", **SIZES, **MODELS["granitemoehybrid"], "mamba_n_heads": 3}
    config = config_from(keys | {"hidden_size": 48, "mamba_expand": 1, "num_attention_heads": 2})
    with pytest.raises(CheckpointError, match="twice the hidden size"):
        write_gguf(tmp_path / "x.gguf", config, dict(initial_parameters(config, seed=1)), tokenizer_path, "f32")
