"""Folders in Hugging Face format: what comes in as it was, what is refused and how it is called."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.checkpoints.formats.hugging_face import FILES, read_folder, write_folder
from engine.errors import CheckpointError, CodecoilError
from engine.model.config import ModelConfig

FIXTURES = Path(__file__).parents[2] / "fixtures" / "transformers"


@pytest.fixture
def folder(tmp_path, config, parameters, tokenizer):
    write_folder(tmp_path / "model", config, parameters, tokenizer, card="# a card\n")
    return tmp_path / "model"


def rewrite(folder, change):
    """Store the tensors again after `change` has had its way with them."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def keys_of(folder):
    return json.loads((folder / "config.json").read_text())


def test_what_goes_out_comes_in(folder, config, parameters, tokenizer):
    assert sorted(os.listdir(folder)) == sorted(FILES)
    imported = read_folder(folder)
    assert imported.config.parameter_shapes() == config.parameter_shapes()
    assert list(imported.parameters) == list(config.parameter_shapes())
    assert all(imported.parameters[name].tobytes() == array.tobytes() for name, array in parameters.items())
    assert imported.tokenizer == tokenizer.read_bytes()
    assert imported.precision == "float32"
    keys = keys_of(folder)
    assert keys["model_type"] == "mamba" and keys["eos_token_id"] == 0 and keys["dtype"] == "float32"
    assert json.loads((folder / "generation_config.json").read_text())["eos_token_id"] == 0


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_fewer_bits_lose_only_rounding_and_only_where_allowed(tmp_path, config, parameters, precision):
    write_folder(tmp_path / "model", config, parameters, precision=precision)
    imported = read_folder(tmp_path / "model")
    assert imported.precision == precision
    assert "tokenizer" in " ".join(imported.notes)
    dtype = ml_dtypes.bfloat16 if precision == "bfloat16" else np.float16
    for name, array in parameters.items():
        expected = array.astype(dtype) if config.specs[name].packs else array
        assert imported.parameters[name].dtype == expected.dtype
        assert np.array_equal(imported.parameters[name], expected)


def test_what_float16_cannot_hold_is_refused_and_nothing_is_left(tmp_path, config, parameters):
    name = "backbone.layers.1.mixer.in_proj.weight"
    large = {**parameters, name: np.full_like(parameters[name], 1e6)}
    with pytest.raises(CheckpointError, match=f"{name} holds values that float16"):
        write_folder(tmp_path / "model", config, large, precision="float16")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("case", sorted(path.name for path in FIXTURES.iterdir()))
def test_folders_that_transformers_wrote(case):
    imported = read_folder(FIXTURES / case)
    for name, shape in imported.config.parameter_shapes().items():
        assert imported.parameters[name].shape == shape
    assert imported.precision == {"sharded_bf16": "bfloat16", "float16": "float16"}.get(case, "float32")


def test_both_spellings_of_the_embedding(folder, parameters):
    rewrite(folder, lambda t: t.__setitem__("backbone.embedding.weight", t.pop("backbone.embeddings.weight")))
    imported = read_folder(folder)
    assert np.array_equal(imported.parameters["backbone.embeddings.weight"], parameters["backbone.embeddings.weight"])
    rewrite(folder, lambda t: t.__setitem__("backbone.embeddings.weight", t["backbone.embedding.weight"]))
    with pytest.raises(CheckpointError, match="twice"):
        read_folder(folder)


def test_a_head_beside_a_tied_embedding(folder, parameters):
    embedding = parameters["backbone.embeddings.weight"]
    rewrite(folder, lambda t: t.__setitem__("lm_head.weight", embedding.copy()))
    assert len(read_folder(folder).notes) == 1
    rewrite(folder, lambda t: t.__setitem__("lm_head.weight", embedding + 1))
    imported = read_folder(folder)
    assert "head" in imported.notes[1] and "lm_head.weight" not in imported.parameters
    with pytest.raises(KeyError):
        imported.parameters["lm_head.weight"]


def test_a_head_of_its_own(tmp_path, export_check):
    config = export_check.small_config(tie_word_embeddings=False)
    parameters = export_check.small_parameters(config, 1)
    write_folder(tmp_path / "model", config, parameters)
    assert np.array_equal(read_folder(tmp_path / "model").parameters["lm_head.weight"], parameters["lm_head.weight"])


def test_shards(folder, parameters):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    half = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, own in half.items():
        save_file({name: tensors[name] for name in own}, folder / file)
    index = {"weight_map": {name: file for file, own in half.items() for name in own}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    imported = read_folder(folder)
    assert all(np.array_equal(imported.parameters[name], array) for name, array in parameters.items())
    (folder / "two.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"two\.safetensors cannot be read"):
        read_folder(folder)
    for hostile in ("../two.safetensors", "/etc/passwd", "..\\two.safetensors", "a\0b.safetensors", "model.bin"):
        index["weight_map"][names[0]] = hostile
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(CheckpointError, match="names files that cannot be parts"):
            read_folder(folder)


def test_a_wrong_shape_is_named_with_both_shapes(folder):
    name = "backbone.layers.2.mixer.x_proj.weight"
    rewrite(folder, lambda t: t.__setitem__(name, t[name][:-1].copy()))
    with pytest.raises(CheckpointError, match=rf"{name} has shape \(35, 128\); config.json wants \(36, 128\)"):
        read_folder(folder)


def test_names_that_are_missing_or_too_many(folder):
    rewrite(folder, lambda t: t.update({"surplus": t.pop("backbone.norm_f.weight")}))
    with pytest.raises(CheckpointError, match=r"missing: backbone\.norm_f\.weight; unexpected: surplus"):
        read_folder(folder)


def test_types_that_are_not_read(folder):
    name = "backbone.layers.0.mixer.D"
    rewrite(folder, lambda t: t.__setitem__(name, t[name].astype(np.float64)))
    with pytest.raises(CheckpointError, match=f"{name} is stored as F64"):
        read_folder(folder)


def test_numbers_that_are_not_finite(folder):
    name = "backbone.layers.0.mixer.D"
    rewrite(folder, lambda t: t[name].__setitem__(3, np.nan))
    imported = read_folder(folder)
    with pytest.raises(CheckpointError, match=f"{name} holds 1 "):
        imported.parameters[name]


def test_a_lying_header_is_refused_before_anything_is_read(folder):
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + data[8:])
    with pytest.raises(CheckpointError, match="claims a header"):
        read_folder(folder)
    (folder / "model.safetensors").write_bytes(data[:-100])
    with pytest.raises(CheckpointError, match="cut off"):
        read_folder(folder)


def test_pickles_are_never_read(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"holds no model\.safetensors"):
        read_folder(folder)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"model_type": "mamba2"}', "[" * 100_000, '{"model_type": "mamba", "hidden_size": 1e99}']
)
def test_configurations_that_are_none(folder, text):
    (folder / "config.json").write_text(text)
    with pytest.raises(CodecoilError):
        read_folder(folder)


def test_a_tokenizer_that_does_not_fit(folder, tmp_path, export_check):
    small = ModelConfig(hidden_size=64, num_hidden_layers=1, vocab_size=300)
    write_folder(tmp_path / "small", small, export_check.small_parameters(small, 0))
    (tmp_path / "small" / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    with pytest.raises(CheckpointError, match=r"has ids up to 312; the model has 300 entries"):
        read_folder(tmp_path / "small")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_cache_made_of_links_can_be_imported(folder, tmp_path, parameters):
    linked = tmp_path / "snapshot"
    linked.mkdir()
    for file in folder.iterdir():
        (linked / file.name).symlink_to(file)
    imported = read_folder(linked)
    assert np.array_equal(imported.parameters["backbone.norm_f.weight"], parameters["backbone.norm_f.weight"])
    assert imported.tokenizer is not None


def test_an_export_can_be_repeated_but_replaces_nothing_else(folder, config, parameters, tokenizer):
    before = (folder / "model.safetensors").read_bytes()
    write_folder(folder, config, {**parameters, "backbone.norm_f.weight": parameters["backbone.norm_f.weight"] + 1})
    assert (folder / "model.safetensors").read_bytes() != before
    assert not (folder / "tokenizer.json").exists()
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match=r"holds 'thesis.txt'"):
        write_folder(folder, config, parameters, tokenizer)
    assert (folder / "thesis.txt").read_text() == "mine"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
