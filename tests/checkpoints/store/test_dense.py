"""Checkpoints of dense models: every mode through the store, compared, merged and exported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import engine
from engine.checkpoints.combining.compare import compare
from engine.checkpoints.combining.merge import merge
from engine.checkpoints.combining.sides import side_of
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.manifest import Facts
from engine.errors import CheckpointError, InputError
from engine.model.model import Model
from engine.model.selection import adapter_names
from tests.checkpoints.store.samples import save_base

DENSE = Path(__file__).parents[2] / "fixtures" / "dense"
KINDS = ("qwen2", "llama")
TOKENS = np.array([3, 7, 11])


@pytest.fixture(scope="module")
def cpu():
    device = engine.open_device("cpu")
    yield device
    device.close()


@pytest.fixture(params=KINDS)
def model(request, cpu):
    model = engine.load_model(DENSE / request.param, cpu)
    yield model
    model.close()


def ids_for(model, length: int = 33) -> np.ndarray:
    return np.random.default_rng(5).integers(0, model.config.vocab_size, (2, length))


def tokens_of(mode: str) -> np.ndarray | None:
    return TOKENS if mode == "vocabulary" else None


def trained(model, mode: str) -> dict[str, np.ndarray]:
    """Take three steps by `mode`; what it trains has changed."""
    ids = ids_for(model)
    step = model.training_step(mode, 2, ids.shape[1] - 1, token_ids=tokens_of(mode))
    for number in range(1, 4):
        step.run(ids, engine.AdamW(learning_rate=1e-2), number)()
    step.close()
    return dict(model.parameters)


def save(store, model, mode: str, name: str = "adapted"):
    """A base and what `mode` made of it; the logits of the trained model."""
    if "base" not in [one.name for one in store.list()]:
        store.save(Facts("base", "base"), config=model.config, parameters=dict(model.parameters))
    changed = trained(model, mode)
    if mode == "full":
        store.save(Facts(name, mode), config=model.config, parameters=changed)
    else:
        delta = make_delta(mode, model.config, changed, model.adapters, token_ids=tokens_of(mode))
        store.save_delta(Facts(name, mode), base="base", delta=delta)
    return model.logits(ids_for(model))


@pytest.mark.parametrize("mode", ["lora", "qk", "vocabulary", "full"])
def test_what_was_saved_computes_the_same(store, model, mode, cpu, tmp_path):
    before = model.logits(ids_for(model))
    expected = save(store, model, mode)
    assert not np.allclose(before, expected, atol=1e-3), "training changed something"
    assert store.verify("adapted") == []
    loaded = Model(model.config, cpu)
    with store.load_parameters("adapted") as parameters:
        loaded.parameters.fill(parameters)
    np.testing.assert_allclose(loaded.logits(ids_for(model)), expected, rtol=1e-4, atol=1e-4)
    loaded.close()
    export_checkpoint(store, "adapted", "hf", tmp_path / "hf")
    exported = engine.load_model(tmp_path / "hf", cpu)
    np.testing.assert_allclose(exported.logits(ids_for(model)), expected, rtol=1e-4, atol=1e-4)
    exported.close()


def test_a_delta_of_queries_and_keys_holds_only_these(store, model):
    save(store, model, "qk")
    tensors = load_file(store.folder_of("adapted") / "delta.safetensors")
    assert {name.split(".")[-2] for name in tensors} == {"q_proj", "k_proj"}
    assert len(tensors) == 2 * model.config.num_hidden_layers
    assert {part.kind for part in store.get("adapted").delta} == {"rows"}


def test_wsla_has_no_delta_here(model):
    with pytest.raises(InputError, match="wsla") as refused:
        make_delta("wsla", model.config, {})
    assert "qk" in refused.value.remedy


@pytest.mark.parametrize("mode", ["lora", "vocabulary"])
def test_an_adapter_for_peft_names_the_modules(store, model, mode, tmp_path):
    save(store, model, mode)
    done = export_checkpoint(store, "adapted", "adapter", tmp_path / "a")
    described = json.loads((tmp_path / "a" / "adapter_config.json").read_text())
    assert described["target_modules"] == sorted(f"{name}_proj" for name in ("q", "k", "v", "o", "gate", "up", "down"))
    assert done.notes == ()  # PEFT takes pairs on all of them
    tensors = load_file(tmp_path / "a" / "adapter_model.safetensors")
    down, _ = adapter_names("base_model.model.model.layers.0.mlp.down_proj.weight")
    assert tensors[down].shape[1] == model.config.intermediate_size
    if mode == "vocabulary":
        assert described["trainable_token_indices"] == {"embed_tokens": TOKENS.tolist()}
        rows = tensors["base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta"]
        assert np.array_equal(rows, store.load_parameters("adapted")["model.embed_tokens.weight"][TOKENS])


def test_compared_and_merged(store, model):
    save(store, model, "qk")
    found = compare(side_of(store, "base"), side_of(store, "adapted"))
    moved = {tensor.name.split(".")[-2] for tensor in found.tensors if tensor.drift.changed}
    assert moved == {"q_proj", "k_proj"}
    heat = found.heat_map()
    assert heat.labels["self_attn.q_proj.weight"] == "queries" and heat.short["mlp.gate_proj.weight"] == "gate"
    assert heat.labels["model.embed_tokens.weight"] == "embedding" and set(heat.labels) >= set(heat.kinds)
    half = merge(side_of(store, "base"), side_of(store, "adapted"), 0.5)
    name = "model.layers.0.self_attn.q_proj.weight"
    with store.load_parameters("base") as first, store.load_parameters("adapted") as second:
        assert np.allclose(half[name], (first[name] + second[name]) / 2, atol=1e-6)


def test_models_of_two_kinds_are_not_compared(store, model):
    save_base(store, "other kind")
    store.save(Facts("base", "base"), config=model.config, parameters=dict(model.parameters))
    with pytest.raises(CheckpointError, match=model.config.model_type):
        compare(side_of(store, "base"), side_of(store, "other kind"))
    with pytest.raises(CheckpointError, match=model.config.model_type):
        compare(side_of(store, "other kind"), side_of(store, "base"))


def test_in_fewer_bits_only_matrices_are_packed(store, model):
    parameters = dict(model.parameters)
    store.save(Facts("packed", "import"), config=model.config, parameters=parameters, precision="int8")
    assert store.verify("packed") == []
    with store.load_parameters("packed") as loaded:
        kept = {name for name, array in loaded.items() if np.array_equal(array, parameters[name])}
    assert kept == {name for name in parameters if name.endswith(("norm.weight", ".bias"))}
