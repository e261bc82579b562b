"""Checkpoints of a mixture of experts: every mode through the store, compared, merged, exported, in fewer bits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.checkpoints.combining.compare import compare
from engine.checkpoints.combining.merge import merge
from engine.checkpoints.combining.sides import side_of
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.manifest import Facts
from engine.model.model import Model

FOLDER = Path(__file__).parents[2] / "fixtures" / "mixture" / "experts5_top2"
EXPERTS = "model.layers.0.block_sparse_moe.input_linear.weight"
IDS = np.random.default_rng(5).integers(0, 31, (2, 33))


@pytest.fixture(scope="module")
def cpu():
    device = engine.open_device("cpu")
    yield device
    device.close()


@pytest.fixture
def model(cpu):
    model = engine.load_model(FOLDER, cpu)
    yield model
    model.close()


def save(store, model, mode: str) -> np.ndarray:
    """A base and what three steps by `mode` made of it; the logits of the trained model."""
    store.save(Facts("base", "base"), config=model.config, parameters=dict(model.parameters))
    step = model.training_step(mode, 2, IDS.shape[1] - 1)
    for number in range(1, 4):
        step.run(IDS, engine.AdamW(learning_rate=1e-2), number)()
    step.close()
    if mode == "full":
        store.save(Facts("adapted", mode), config=model.config, parameters=dict(model.parameters))
    else:
        delta = make_delta(mode, model.config, dict(model.parameters), model.adapters)
        store.save_delta(Facts("adapted", mode), base="base", delta=delta)
    return model.logits(IDS)


@pytest.mark.parametrize("mode", ["lora", "qk", "full"])
def test_what_was_saved_computes_the_same(store, model, mode, cpu, tmp_path):
    before, expected = model.logits(IDS), save(store, model, mode)
    assert not np.allclose(before, expected, atol=1e-3), "training changed something"
    assert store.verify("adapted") == []
    card = (store.folder_of("adapted") / "card.md").read_text(encoding="utf-8")
    assert ("| not trained | the experts" in card) == (mode == "lora")  # the only mode of these that puts pairs on
    loaded = Model(model.config, cpu)
    with store.load_parameters("adapted") as parameters:
        loaded.parameters.fill(parameters)
    np.testing.assert_allclose(loaded.logits(IDS), expected, rtol=1e-4, atol=1e-4)
    loaded.close()
    export_checkpoint(store, "adapted", "hf", tmp_path / "hf")
    exported = engine.load_model(tmp_path / "hf", cpu)
    np.testing.assert_allclose(exported.logits(IDS), expected, rtol=1e-4, atol=1e-4)
    exported.close()


def test_an_adapter_for_peft_names_the_modules(store, model, tmp_path):
    """Of the experts, whose modules end in the same word, none."""
    save(store, model, "lora")
    export_checkpoint(store, "adapted", "adapter", tmp_path / "a")
    described = json.loads((tmp_path / "a" / "adapter_config.json").read_text())
    names = ("k_proj", "o_proj", "q_proj", "shared_mlp.input_linear", "shared_mlp.output_linear", "v_proj")
    assert sorted(described["target_modules"]) == list(names)


def test_compared_and_merged(store, model):
    save(store, model, "full")
    heat = compare(side_of(store, "base"), side_of(store, "adapted")).heat_map()
    assert heat.labels["block_sparse_moe.input_linear.weight"] == "gate and up of experts"
    assert heat.short["block_sparse_moe.router.layer.weight"] == "router"
    half = merge(side_of(store, "base"), side_of(store, "adapted"), 0.5)
    with store.load_parameters("base") as first, store.load_parameters("adapted") as second:
        assert np.allclose(half[EXPERTS], (first[EXPERTS] + second[EXPERTS]) / 2, atol=1e-6)
        assert half[EXPERTS].shape == model.parameters[EXPERTS].shape


@pytest.mark.parametrize("precision", ["int8", "bfloat16"])
def test_in_fewer_bits_the_router_stays_as_it_is(store, model, precision):
    parameters = dict(model.parameters)
    store.save(Facts("packed", "import"), config=model.config, parameters=parameters, precision=precision)
    assert store.verify("packed") == []
    with store.load_parameters("packed") as loaded:
        kept = {
            name for name, array in loaded.items() if np.array_equal(np.asarray(array, np.float32), parameters[name])
        }
        assert loaded[EXPERTS].shape == parameters[EXPERTS].shape
    assert kept == {name for name in parameters if name.endswith(("norm.weight", "router.layer.weight"))}
