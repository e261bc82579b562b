"""Mixtures of experts in files: GGUF as llama.cpp's granitemoe has it, Hugging Face, fewer bits, deltas."""

from __future__ import annotations

import gguf
import numpy as np
import pytest

import engine
from engine.checkpoints.combining.number_formats import PRECISIONS
from engine.checkpoints.combining.packed_models import PackedSource, open_packed, pack_model, packed_bytes
from engine.checkpoints.formats.gguf_export import write_gguf
from engine.checkpoints.formats.gguf_import import read_gguf
from engine.checkpoints.formats.hugging_face import write_folder
from engine.errors import CheckpointError
from engine.model.architectures.reading import config_from
from engine.model.files import FolderParameters, read_config
from tests.checkpoints.formats.gguf_samples import model, rewritten, written

MIXTURE = "granitemoehybrid with experts"
EXPERTS, INNER, SHARED, M = 5, 32, 96, 32
EXPERT_MATRICES = ("input_linear", "output_linear")


def test_names_shapes_and_keys_are_those_of_llama_cpp(tmp_path, tokenizer_path):
    path, _, parameters = written(tmp_path, tokenizer_path, MIXTURE)
    reader = gguf.GGUFReader(path)
    tensors = {tensor.name: np.array(tensor.data) for tensor in reader.tensors}
    shapes = {
        "ffn_gate_inp": (EXPERTS, M),
        "ffn_gate_exps": (EXPERTS, INNER, M), "ffn_up_exps": (EXPERTS, INNER, M), "ffn_down_exps": (EXPERTS, M, INNER),
        "ffn_gate_shexp": (SHARED, M), "ffn_up_shexp": (SHARED, M), "ffn_down_shexp": (M, SHARED),
    }  # fmt: skip
    assert {name.split(".")[2]: array.shape for name, array in tensors.items() if name.startswith("blk.1.ffn_")} == {
        **shapes,
        "ffn_norm": (M,),
    }
    joined = parameters["model.layers.1.block_sparse_moe.input_linear.weight"]
    assert np.array_equal(tensors["blk.1.ffn_gate_exps.weight"], joined[:, :INNER])
    assert np.array_equal(tensors["blk.1.ffn_up_exps.weight"], joined[:, INNER:])
    router = parameters["model.layers.1.block_sparse_moe.router.layer.weight"]
    assert np.array_equal(tensors["blk.1.ffn_gate_inp.weight"], router)
    keys = {name: field.contents() for name, field in reader.fields.items()}
    assert keys["general.architecture"] == "granitemoe"
    wanted = {
        "feed_forward_length": INNER, "expert_shared_feed_forward_length": SHARED, "expert_count": EXPERTS,
        "expert_used_count": 2,
    }  # fmt: skip
    assert {name: keys[f"granitemoe.{name}"] for name in wanted} == wanted


@pytest.mark.parametrize(("precision", "kind"), [("f16", "F16"), ("q8_0", "Q8_0"), ("q4_0", "Q4_0")])
def test_experts_take_the_precision_and_the_router_stays(tmp_path, tokenizer_path, precision, kind):
    path, _, parameters = written(tmp_path, tokenizer_path, MIXTURE, precision)
    kinds = {tensor.name: tensor.tensor_type.name for tensor in gguf.GGUFReader(path).tensors}
    assert kinds["blk.0.ffn_down_exps.weight"] == kinds["blk.0.ffn_gate_exps.weight"] == kind
    assert kinds["blk.0.ffn_gate_inp.weight"] == "F32"
    imported = read_gguf(path).parameters
    limit = {"f16": 1e-3, "q8_0": 0.01, "q4_0": 0.15}[precision]
    for name, array in parameters.items():
        found = np.asarray(imported[name], np.float32)
        assert found.shape == array.shape
        assert np.abs(found - array).max() <= limit * np.abs(array).max(), name


def test_a_mixture_without_positions_is_not_written(tmp_path, tokenizer_path):
    """llama.cpp's granitemoe rotates whatever the file says."""
    config, parameters = model(MIXTURE)
    keys = {**config.to_hugging_face(), "position_embedding_type": "nope"}
    with pytest.raises(CheckpointError, match="positions"):
        write_gguf(tmp_path / "m.gguf", config_from(keys), parameters, tokenizer_path)
    assert not (tmp_path / "m.gguf").exists()


def test_a_mixture_without_a_shared_mlp_is_refused(tmp_path, tokenizer_path):
    path, *_ = written(tmp_path, tokenizer_path, MIXTURE)
    keys = {"granitemoe.expert_shared_feed_forward_length": 0}
    with pytest.raises(CheckpointError, match="share no MLP"):
        read_gguf(rewritten(path, tmp_path / "other.gguf", keys=keys))


@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16"])
def test_a_folder_gives_the_model_back(tmp_path, precision):
    config, parameters = model(MIXTURE)
    write_folder(tmp_path / "model", config, parameters, None, precision)
    again = read_config(tmp_path / "model")
    assert again.experts == EXPERTS and again.expert_size == INNER
    stored = FolderParameters(tmp_path / "model", again)
    loaded = engine.load_model(tmp_path / "model", "cpu")
    try:
        for name, array in parameters.items():
            limit = {"float32": 0, "float16": 1e-3, "bfloat16": 8e-3}[precision]
            assert np.abs(loaded.parameters[name] - array).max() <= limit * np.abs(array).max(), name
            assert name in stored
    finally:
        loaded.close()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_precision_holds_the_experts(precision):
    config, parameters = model(MIXTURE)
    packed = pack_model(parameters, config, precision)
    assert packed.nbytes == packed_bytes(config, precision)
    source = PackedSource(parameters, config, precision)
    file = {name: source[name] for name in source}
    for name, array in file.items():
        assert tuple(source.described[name][1]) == array.shape
    again = open_packed(packed.tensors, packed.metadata, "a file")
    for name, array in parameters.items():
        assert again[name].shape == array.shape and np.array_equal(again[name], packed[name])
    worst = max(
        np.abs(packed[name] - array).max() / np.abs(array).max()
        for name, array in parameters.items()
        if array.ndim == 3
    )
    assert worst <= {"float32": 0, "float16": 1e-3, "bfloat16": 8e-3, "int8": 0.005, "q8_0": 0.01}.get(precision, 1.2)
    assert (worst > 0) == (precision != "float32")


def test_each_row_of_an_expert_has_a_scale_of_its_own():
    """A row of large numbers does not coarsen another expert's."""
    config, parameters = model(MIXTURE)
    name = "model.layers.0.block_sparse_moe.input_linear.weight"
    parameters[name] = parameters[name].copy()
    parameters[name][0] *= 1000
    packed = pack_model(parameters, config, "int8")[name]
    assert np.abs(packed[1] - parameters[name][1]).max() <= 0.005 * np.abs(parameters[name][1]).max()
