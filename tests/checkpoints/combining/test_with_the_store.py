"""Precision, comparing and merging with checkpoints of a real store: whole ones, packed ones and deltas."""

import numpy as np
import pytest

from engine.checkpoints.combining.compare import compare
from engine.checkpoints.combining.merge import merge
from engine.checkpoints.combining.packed_models import PRECISIONS, pack_model
from engine.checkpoints.combining.sides import side_of
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore
from engine.devices import open_device
from engine.model.model import Model
from tests.checkpoints.combining.samples import CONFIG, LAYER, parameters


@pytest.fixture
def store(tmp_path):
    opened = CheckpointStore(tmp_path / "store")
    opened.save(Facts("base", "base"), config=CONFIG, parameters=parameters())
    return opened


def wsla(store, name: str, change: float):
    """A delta on the base, its B and C rows moved."""
    moved = parameters()
    for layer in range(CONFIG.num_hidden_layers):
        moved[f"backbone.layers.{layer}.mixer.x_proj.weight"][CONFIG.time_step_rank :] += np.float32(change)
    return store.save_delta(Facts(name, "wsla"), base="base", delta=make_delta("wsla", CONFIG, moved))


@pytest.mark.parametrize("wanted", PRECISIONS)
def test_a_checkpoint_in_any_precision(store, wanted):
    kept = store.save(Facts("packed", "full"), config=CONFIG, parameters=parameters(noise=0.1), precision=wanted)
    assert kept.precision == wanted
    assert store.verify("packed") == []
    expected = pack_model(parameters(noise=0.1), CONFIG, wanted)
    with store.load_parameters("packed") as loaded:
        for name, array in loaded.items():
            assert array.tobytes() == expected[name].tobytes()
        again = store.save(Facts("again", "full"), config=CONFIG, parameters=loaded, precision=wanted)
    assert again.weights_sha256 == kept.weights_sha256


def test_a_delta_a_whole_one_and_a_packed_one_are_compared(store):
    wsla(store, "delta", 0.25)
    heat = compare(side_of(store, "base"), side_of(store, "delta")).heat_map("changed_share")
    assert heat.values[:, heat.kinds.index("x_proj.weight")].tolist() == [32 / 34] * 2
    assert np.count_nonzero(heat.values) == 2
    store.convert("delta", name="whole")
    assert compare(side_of(store, "delta"), side_of(store, "whole")).whole.changed == 0
    with store.load_parameters("delta") as loaded:
        store.save(Facts("small", "full"), config=CONFIG, parameters=loaded, precision="q8_0")
    assert 0 < compare(side_of(store, "delta"), side_of(store, "small")).whole.relative_l2 < 0.01


def test_a_merge_of_two_deltas_is_saved_and_is_what_was_asked_for(store):
    first, second = wsla(store, "one", 0.5), wsla(store, "two", -0.5)
    child = merge(side_of(store, "one"), side_of(store, "two"), 0.5)
    facts = Facts("child", "merge", parents=(first.id, second.id))
    store.save(facts, config=CONFIG, parameters=child)
    assert store.verify("child") == []
    found = compare(side_of(store, "base"), side_of(store, "child"))
    assert found.whole.largest_change < 1e-7  # halfway between +0.5 and -0.5
    ends = merge(side_of(store, "one"), side_of(store, "two"), 1)
    name = f"{LAYER}.x_proj.weight"
    assert ends[name].tobytes() == store.load_parameters("two")[name].tobytes()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_checkpoint_is_kept_in_any_precision_and_loads_back(precision, store):
    """Saved, verified, loaded into a model, exported as a bundle and used as the base of a delta."""
    original = dict(parameters(noise=0.01))
    source = store.save(Facts("source", "base", metrics={"held_out_loss": 2.0}), config=CONFIG, parameters=original)
    kept = store.convert("source", precision, loss=2.25)
    assert kept.precision == precision and store.convert("source", precision) == kept
    if precision == "float32":
        assert kept == source
        return
    assert kept.metrics == {"held_out_loss": 2.25} and kept.parents == (source.id,)
    assert store.verify(kept.id) == []
    expected = pack_model(original, CONFIG, precision)
    found = store.load_parameters(kept.id)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    model = Model(CONFIG, open_device("cpu"))
    model.parameters.fill(found)
    assert all(np.array_equal(model.parameters[name], expected[name]) for name in expected)
    model.close()
    other = CheckpointStore(store.folder.parent / "other")
    exported = export_checkpoint(store, kept.id, "coil", store.folder.parent / "kept.coil")
    back = import_checkpoint(other, exported.path)
    assert back.precision == precision and other.verify(back.id) == []
    delta = make_delta("wsla", CONFIG, found)
    store.save_delta(Facts("on it", "wsla"), base=kept.id, delta=delta)
    assert store.verify("on it") == []
