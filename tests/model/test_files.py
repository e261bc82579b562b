"""Model folders: written and read again, and every way in which one can be broken."""

import json
import shutil
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import engine
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError
from engine.model.config import ModelConfig
from tests.model.stored import CONFIGURATIONS, ROOT, ROUNDED
from tests.model.tiny import ODD, TINY, batch, open_model, same_bytes

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
NORM = "backbone.layers.1.norm.weight"


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "odd"])
def test_save_load_and_save_again(config, device, tmp_path):
    with open_model(device, config) as model:
        ids = batch(2, 9, config["vocab_size"])
        logits, parameters = model.logits(ids), dict(model.parameters)
        model.save(tmp_path / "first")
    again = engine.load_model(tmp_path / "first", device)
    assert same_bytes(dict(again.parameters), parameters)
    assert again.config.parameter_shapes() == model.config.parameter_shapes()
    assert again.logits(ids).tobytes() == logits.tobytes()
    again.save(tmp_path / "second")
    for name in ("config.json", WEIGHTS):
        assert (tmp_path / "second" / name).read_bytes() == (tmp_path / "first" / name).read_bytes()
    again.close()


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_folder_of_transformers_comes_back_with_the_same_tensors(configuration, cpu, tmp_path):
    model = engine.load_model(ROOT / configuration, cpu)
    model.save(tmp_path)
    model.close()
    assert same_bytes(load_file(tmp_path / WEIGHTS), load_file(ROOT / configuration / WEIGHTS))
    before, after = (json.loads((folder / "config.json").read_text()) for folder in (ROOT / configuration, tmp_path))
    assert after == before


@pytest.mark.parametrize("folder", ROUNDED)
def test_a_rounded_folder_is_saved_as_float32(folder, cpu, tmp_path):
    model = engine.load_model(ROOT / folder, cpu)
    model.save(tmp_path)
    model.close()
    assert {array.dtype for array in load_file(tmp_path / WEIGHTS).values()} == {np.dtype(np.float32)}
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "float32"
    plain = load_file(ROOT / "plain" / WEIGHTS)
    for name, array in load_file(tmp_path / WEIGHTS).items():
        np.testing.assert_allclose(array, plain[name], rtol=2**-8, atol=2**-24)


def test_the_older_key_for_the_type_does_not_contradict_the_new_one(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_config(folder, lambda keys: keys.pop("dtype") and keys.update(torch_dtype="float16"))
    model = engine.load_model(folder, cpu)
    model.save(tmp_path / "saved")
    model.close()
    keys = json.loads((tmp_path / "saved" / "config.json").read_text())
    assert {keys[key] for key in ("dtype", "torch_dtype") if key in keys} == {"float32"}


def test_the_spelling_of_the_original_repository_is_understood(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_tensors(folder, lambda t: t.update({"backbone.embedding.weight": t.pop("backbone.embeddings.weight")}))
    model, plain = engine.load_model(folder, cpu), engine.load_model(ROOT / "plain", cpu)
    assert same_bytes(dict(model.parameters), dict(plain.parameters))


def test_a_tied_model_may_store_its_head_too(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_tensors(folder, lambda t: t.update({"lm_head.weight": t["backbone.embeddings.weight"]}))
    assert "lm_head.weight" not in engine.load_model(folder, cpu).parameters


# ---- broken folders


def copy_of(configuration, tmp_path):
    return shutil.copytree(ROOT / configuration, tmp_path / "model")


def change_tensors(folder, change, name=WEIGHTS):
    tensors = load_file(folder / name)
    change(tensors)
    save_file(tensors, folder / name, {"format": "pt"})


def change_config(folder, change):
    keys = json.loads((folder / "config.json").read_text())
    change(keys)
    (folder / "config.json").write_text(json.dumps(keys))


def refused(folder, device, match):
    """Loading fails with a typed error that has a remedy, and holds no memory afterwards; importing does the same."""
    held = device.ledger.total
    with pytest.raises(CheckpointError, match=match) as caught:
        engine.load_model(folder, device)
    assert caught.value.message
    assert caught.value.remedy
    assert device.ledger.total == held
    store = CheckpointStore(folder.parent / "store")
    with pytest.raises(CheckpointError) as imported:
        import_checkpoint(store, folder)
    assert imported.value.message == caught.value.message or not folder.exists()
    assert store.list() == []


def test_a_missing_tensor_is_named(device, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_tensors(folder, lambda t: t.pop(NORM))
    refused(folder, device, rf"missing: {NORM}")


def test_an_extra_tensor_is_named(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_tensors(folder, lambda t: t.update({"backbone.layers.0.mixer.rotary": np.ones(3, np.float32)}))
    refused(folder, cpu, r"unexpected: backbone\.layers\.0\.mixer\.rotary")


def test_a_misshapen_tensor_is_named_with_both_shapes(device, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_tensors(folder, lambda t: t.update({NORM: np.ones(25, np.float32)}))
    refused(folder, device, rf"{NORM} has shape \(25,\); config.json wants \(24,\)")


def test_a_tensor_of_another_type_is_named(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_tensors(folder, lambda t: t.update({NORM: t[NORM].astype(np.float64)}))
    refused(folder, cpu, rf"{NORM} is stored as F64")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_numbers_that_are_not_finite_are_counted_and_named(dtype, value, cpu, tmp_path):
    def spoil(tensors):
        tensors[NORM] = tensors[NORM].astype(dtype)
        tensors[NORM][:3] = value

    folder = copy_of("plain", tmp_path)
    change_tensors(folder, spoil)
    refused(folder, cpu, rf"{NORM} holds 3 ")


def test_not_finite_bfloat16_is_found(cpu, tmp_path):
    folder = copy_of("sharded_bf16", tmp_path)
    shard = json.loads((folder / INDEX).read_text())["weight_map"][NORM]
    change_tensors(folder, lambda t: t[NORM].__setitem__(5, np.nan), shard)
    refused(folder, cpu, rf"{NORM} holds 1 ")


@pytest.mark.parametrize("keep", [0, 4, 100, 5000])
def test_a_truncated_file_is_named(keep, cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    content = (folder / WEIGHTS).read_bytes()
    assert keep < len(content)
    (folder / WEIGHTS).write_bytes(content[:keep])
    refused(folder, cpu, WEIGHTS)


def test_a_missing_shard_is_named(cpu, tmp_path):
    folder = copy_of("sharded_bf16", tmp_path)
    (folder / "model-00002-of-00003.safetensors").unlink()
    refused(folder, cpu, "model-00002-of-00003.safetensors cannot be read")


@pytest.mark.parametrize("outside", ["../elsewhere.safetensors", "/etc/passwd", "part/../../x.safetensors", ".."])
def test_an_index_that_names_a_file_outside_its_folder_is_refused(outside, cpu, tmp_path):
    folder = copy_of("sharded_bf16", tmp_path)
    shutil.copy(ROOT / "plain" / WEIGHTS, tmp_path / "elsewhere.safetensors")
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"][NORM] = outside
    (folder / INDEX).write_text(json.dumps(index))
    refused(folder, cpu, "model.safetensors.index.json")


@pytest.mark.parametrize("text", ["[]", "{", '{"weight_map": []}', '{"weight_map": {"a": 3}}', "{}"])
def test_an_index_of_another_kind_is_refused(text, cpu, tmp_path):
    folder = copy_of("sharded_bf16", tmp_path)
    (folder / INDEX).write_text(text)
    refused(folder, cpu, "model")


def test_a_folder_without_weights_says_what_is_missing(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    refused(folder, cpu, r"holds no model\.safetensors.*pickled \.bin files are never read")


def test_a_folder_without_a_configuration_is_refused(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    (folder / "config.json").unlink()
    refused(folder, cpu, r"config\.json cannot be read")
    refused(tmp_path / "nowhere", cpu, r"config\.json cannot be read")


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "\x00", "[" * 100_000])
def test_a_configuration_that_is_no_object_is_refused(text, cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    (folder / "config.json").write_text(text)
    refused(folder, cpu, r"config\.json")


def test_a_configuration_in_another_encoding_is_refused(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    (folder / "config.json").write_bytes(b"\xff\xfe{}")
    refused(folder, cpu, r"config\.json is not valid JSON")


@pytest.mark.parametrize(
    "change", [{"num_hidden_layers": 1_000_000}, {"hidden_size": 1 << 40}, {"vocab_size": 1 << 40}]
)
def test_a_model_of_impossible_size_is_refused_before_its_list_of_parameters_is_made(
    change, cpu, tmp_path, monkeypatch
):
    folder = copy_of("plain", tmp_path)
    change_config(folder, lambda keys: keys.update(change))

    def never(_):
        raise AssertionError("the list of parameters was made")

    monkeypatch.setattr(ModelConfig, "parameter_shapes", never)
    refused(folder, cpu, r"config\.json")


def test_sizes_that_the_weights_do_not_have_are_refused_before_anything_is_allocated(cpu, tmp_path, monkeypatch):
    folder = copy_of("plain", tmp_path)
    change_config(folder, lambda keys: keys.update(vocab_size=1 << 30))
    monkeypatch.setattr(type(cpu), "allocate", lambda *_: pytest.fail("memory was allocated"))
    refused(folder, cpu, "backbone.embeddings.weight has shape")


@pytest.mark.parametrize("key", ["time_step_max", "initializer_range", "layer_norm_epsilon"])
@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_a_number_beyond_every_float_is_refused(key, number, cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    change_config(folder, lambda keys: keys.update({key: "NUMBER"}))
    text = (folder / "config.json").read_text().replace('"NUMBER"', number)
    (folder / "config.json").write_text(text)
    refused(folder, cpu, r"config\.json")


def test_large_tensors_are_loaded_in_pieces(device, tmp_path, monkeypatch):
    """Every type, and blocks of rows whose borders are not those of the pieces."""
    monkeypatch.setattr("engine.tensor_file.PIECE", 1 << 9)
    for configuration in (*CONFIGURATIONS, *ROUNDED):
        model = engine.load_model(ROOT / configuration, device)
        monkeypatch.setattr("engine.tensor_file.PIECE", 1 << 20)
        whole = engine.load_model(ROOT / configuration, device)
        monkeypatch.setattr("engine.tensor_file.PIECE", 1 << 9)
        assert same_bytes(dict(model.parameters), dict(whole.parameters))
        model.close()
        whole.close()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=lambda dtype: dtype.__name__)
def test_loading_holds_little_beyond_the_weights(dtype, cpu, tmp_path, monkeypatch):
    """It peaked at several times the file where one tensor was most of it, past the ceiling."""
    config = ModelConfig(hidden_size=32, num_hidden_layers=1, vocab_size=1 << 18, state_size=4)
    arrays = {name: np.ones(shape, dtype) for name, shape in config.parameter_shapes().items()}
    save_file(arrays, tmp_path / WEIGHTS, {"format": "pt"})
    (tmp_path / "config.json").write_text(json.dumps(config.to_hugging_face()))
    monkeypatch.setattr("engine.tensor_file.PIECE", 1 << 16)
    engine.load_model(ROOT / "plain", cpu).close()  # compiles what is needed
    tracemalloc.start()
    try:
        model = engine.load_model(tmp_path, cpu)
        beyond = tracemalloc.get_traced_memory()[1] - cpu.ledger.total
        model.close()
    finally:
        tracemalloc.stop()
    assert beyond < (tmp_path / WEIGHTS).stat().st_size / 4


def test_another_kind_of_model_is_refused_before_its_weights_are_read(cpu, tmp_path):
    folder = copy_of("plain", tmp_path)
    (folder / WEIGHTS).unlink()
    change_config(folder, lambda keys: keys.update(model_type="gpt_bigcode"))
    refused(folder, cpu, "model_type is 'gpt_bigcode'")


def test_a_folder_that_cannot_be_written_is_a_typed_error(cpu, tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    with open_model(cpu) as model, pytest.raises(CheckpointError, match="taken"):
        model.save(tmp_path / "taken")
