"""Comparing: measures against their definitions, edges, refusals by name, and no more in memory than two tensors."""

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.checkpoints.combining import compare as module
from engine.checkpoints.combining.compare import MEASURES, Comparison, Drift, compare, compare_parameters, differences
from engine.checkpoints.combining.packed_models import pack_model
from engine.errors import CheckpointError
from engine.model.config import ModelConfig
from tests.checkpoints.combining.samples import CONFIG, LAYER, parameters, side
from tests.checkpoints.formats.gguf_samples import MODELS, model


def drift_of(a, b) -> Drift:
    return compare_parameters({"x": np.float32(a)}, {"x": np.float32(b)})[0].drift


@pytest.mark.parametrize("size", [1, 63, 8191, 8193, (1 << 20) + 1, 3 * (1 << 20)])
def test_measures_are_what_they_are_called(size):
    random = np.random.default_rng(size)
    a, noise = random.standard_normal(size), random.standard_normal(size)
    a, b = np.float32(a), np.float32(a + 0.1 * noise * (random.random(size) < 0.3))
    drift, x, y = drift_of(a, b), a.astype(np.float64), b.astype(np.float64)
    assert drift.cosine == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), rel=1e-12)
    assert drift.relative_l2 == pytest.approx(np.linalg.norm(y - x) / np.linalg.norm(x), rel=1e-12)
    assert drift.largest_change == np.abs(y - x).max()
    assert drift.changed_share == np.count_nonzero(a != b) / size
    assert drift.size == size


FLOATS = arrays(np.float32, 40, elements=st.floats(width=32, allow_nan=False, allow_infinity=False))


@given(FLOATS, FLOATS)
def test_any_finite_numbers_give_finite_measures(a, b):
    drift = drift_of(a, b)
    assert -1 <= drift.cosine <= 1
    assert drift.relative_l2 >= 0
    assert math.isfinite(drift.largest_change)
    same = drift_of(a, a)
    assert (same.cosine, same.relative_l2, same.largest_change, same.changed_share) == (1, 0, 0, 0)


def test_zeros():
    both, first, second = drift_of([0, 0], [0, -0.0]), drift_of([0, 0], [0, 3]), drift_of([0, 3], [0, 0])
    assert (both.cosine, both.relative_l2, both.changed_share) == (1, 0, 0)
    assert (first.cosine, first.relative_l2, first.largest_change, first.changed_share) == (0, math.inf, 3, 0.5)
    assert (second.cosine, second.relative_l2) == (0, 1)
    assert drift_of([], []).cosine == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_reported_as_such(bad):
    drift = drift_of([1, bad, 2, bad], [1, 5, 3, bad])
    assert math.isnan(drift.cosine)
    assert math.isnan(drift.relative_l2)
    assert math.isnan(drift.largest_change)
    assert drift.not_finite == 2
    assert drift.changed_share == 0.5  # bad -> 5 and 2 -> 3; bad -> bad is no change
    whole = Comparison(
        compare_parameters({"x": np.ones(3), "y": np.float32([bad])}, {"x": np.ones(3), "y": np.ones(1)})
    )
    assert math.isnan(whole.whole.cosine)
    assert whole.tensors[0].drift.cosine == 1


def test_layers_and_the_heat_map():
    first, second = side(), side()
    changed = f"{LAYER}.x_proj.weight"
    second.parameters[changed][2:] += np.float32(0.5)
    second.parameters["backbone.norm_f.weight"][0] = 2
    found = compare(first, second)
    assert [tensor.name for tensor in found.tensors] == list(CONFIG.parameter_shapes())
    heat = found.heat_map("changed_share")
    assert heat.layers == (0, 1)
    assert heat.kinds[:3] == ("norm.weight", "in_proj.weight", "conv1d.weight")  # as a layer uses them
    assert heat.labels["in_proj.weight"] == "input projection" and heat.short["in_proj.weight"] == "in"
    assert heat.labels["backbone.norm_f.weight"] == "final norm" and heat.short["norm.weight"] == "norm"
    assert set(heat.labels) == {*heat.kinds, *heat.outside}
    assert heat.values.shape == (2, len(heat.kinds))
    assert np.count_nonzero(heat.values) == 1
    assert heat.values[0, heat.kinds.index("x_proj.weight")] == 32 / 34
    assert heat.outside["backbone.norm_f.weight"] == 1 / 32
    assert set(heat.outside) == {"backbone.embeddings.weight", "backbone.norm_f.weight"}
    assert found.layers[1].relative_l2 == 0
    in_layer = [tensor.drift for tensor in found.tensors if tensor.layer == 0]
    length = math.sqrt(
        sum(np.square(a, dtype=np.float64).sum() for n, a in first.parameters.items() if ".layers.0." in n)
    )
    assert found.layers[0].relative_l2 == pytest.approx(0.5 * math.sqrt(32 * 64) / length, rel=1e-6)
    assert found.layers[0].size == sum(drift.size for drift in in_layer)
    assert found.whole.size == CONFIG.parameter_count
    for measure in MEASURES:
        assert np.isfinite(found.heat_map(measure).values).all()
    with pytest.raises(CheckpointError, match="no measure 'angle'"):
        found.heat_map("angle")


def test_across_precisions_and_types():
    of = parameters(noise=0.1)
    for wanted, limit in (("q8_0", 0.01), ("int4", 0.15), ("bfloat16", 0.005)):
        found = Comparison(compare_parameters(of, pack_model(of, CONFIG, wanted)))
        assert 0 < found.whole.relative_l2 < limit
        assert found.heat_map().values[0, found.heat_map().kinds.index("A_log")] == 0
    halves = {name: array.astype(ml_dtypes.bfloat16) for name, array in of.items()}
    bits = {name: array.view(np.uint16) for name, array in halves.items()}
    assert Comparison(compare_parameters(halves, bits)).whole.changed == 0


def test_options_and_metrics_that_differ():
    first = side(
        options={"rate": 1e-2, "mode": "lora", "inner": {"rank": 8, "seed": 0}, "list": [1]}, metrics={"loss": 3.0}
    )
    second = side(
        options={"rate": 1e-3, "mode": "lora", "inner": {"rank": 4, "seed": 0}, "list": (1,), "new": None},
        metrics={"loss": 2.5},
    )
    found = compare(first, second)
    assert [(d.name, d.first, d.second) for d in found.options] == [
        ("inner.rank", 8, 4),
        ("new", None, None),
        ("rate", 1e-2, 1e-3),
    ]
    assert [(d.name, d.first, d.second) for d in found.metrics] == [("loss", 3.0, 2.5)]
    assert differences({"a": math.nan}, {"a": math.nan}) == ()


def test_another_shape_is_refused_by_name():
    other = replace(side("two"), config=ModelConfig(hidden_size=64, num_hidden_layers=2, vocab_size=61))
    with pytest.raises(CheckpointError, match=r"one and two cannot be compared.*hidden_size \(32 and 64\)"):
        compare(side("one"), other)


def test_another_tokenizer_is_refused_by_name():
    with pytest.raises(CheckpointError, match="one and two cannot be compared: their tokenizers differ"):
        compare(side("one", tokenizer="a" * 32), side("two", tokenizer="b" * 32))
    compare(side("one", tokenizer="a" * 32), side("two"))


def test_tensors_that_only_one_has_or_of_another_shape_are_refused_by_name():
    a, b = {"x": np.ones(3), "y": np.ones(2)}, {"x": np.ones(3)}
    for first, second, words in (
        (a, b, "y is only in the first"),
        (b, a, "y is only in the second"),
        (iter(b.items()), iter(a.items()), "y is only in the second"),
        (iter(a.items()), iter(b.items()), "y is only in the first"),
        ({"x": np.ones((3, 1))}, b, r"x has shape \(3, 1\) in the first and \(3,\)"),
    ):
        with pytest.raises(CheckpointError, match=words):
            compare_parameters(first, second)
    broken = side("two")
    del broken.parameters["backbone.norm_f.weight"]
    with pytest.raises(CheckpointError, match=r"two has no backbone\.norm_f\.weight"):
        compare(side("one"), broken)


def test_order_does_not_matter_and_iterators_stream():
    of, other = parameters(), parameters(noise=0.1)
    expected = compare_parameters(of, other)
    assert compare_parameters(of, dict(reversed(other.items()))) == expected
    assert compare_parameters(iter(of.items()), iter(reversed(other.items()))) == expected
    alive = []

    def one_at_a_time(source):
        for name in source:
            array = source[name].copy()
            alive.append(name)
            yield name, array
            assert len(alive) <= 2 * len(expected)

    assert compare_parameters(one_at_a_time(of), one_at_a_time(other)) == expected
    assert alive[::2] == alive[1::2] == list(of)  # one of each side in turn: nothing was held back


def test_the_same_on_any_number_of_cores(monkeypatch):
    random = np.random.default_rng(0)
    a, b = ({"x": random.standard_normal((3000, 1000), np.float32)} for _ in range(2))
    on_all = compare_parameters(a, b)
    monkeypatch.setattr(module, "CORES", 1)
    assert compare_parameters(a, b) == on_all


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_of_a_layer_is_a_kind_of_its_own_with_a_label(name):
    config, _ = model(name)
    for layer in range(config.num_hidden_layers):
        own = [key for key in config.specs if module.layer_and_kind(key)[0] == layer]
        assert len({module.layer_and_kind(key)[1] for key in own}) == len(own) > 5
        assert all(config.specs[key].label for key in own)
