"""Merging: exact ends, weights by layer and by fitness, refusals by name, and a search that makes nothing worse."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.checkpoints.combining.merge import Blend, fitness_weight, merge, search_blend, try_blend
from engine.devices import open_device
from engine.errors import CheckpointError
from engine.model.config import ModelConfig
from engine.model.step import AdamW
from tests.checkpoints.combining.samples import CONFIG, side

FIRST, SECOND = side("one", 0.1, 1), side("two", 0.1, 2)


def same_bytes(a, b) -> bool:
    return list(a) == list(b) and all(a[name].tobytes() == b[name].tobytes() for name in a)


def distance(target):
    """A loss: how far parameters are from `target`."""

    def evaluate(of):
        return float(np.sqrt(sum(np.square(of[name] - target[name], dtype=np.float64).sum() for name in target)))

    return evaluate


def test_the_ends_are_the_parents_bytes():
    special = replace(FIRST, parameters={name: array.copy() for name, array in FIRST.parameters.items()})
    special.parameters["backbone.norm_f.weight"][:3] = [-0.0, np.nan, 1e-45]
    for weight in (0, 0.0, Blend.even(CONFIG, 0), [0, 0]):
        assert same_bytes(merge(special, SECOND, weight), special.parameters)
    for weight in (1, 1.0, Blend.even(CONFIG, 1), [1.0, 1.0]):
        assert same_bytes(merge(special, SECOND, weight), SECOND.parameters)


@given(st.floats(0, 1))
def test_what_both_agree_on_stays(weight):
    assert same_bytes(merge(FIRST, FIRST, weight), FIRST.parameters)


@given(st.floats(0, 1))
def test_a_blend_is_rounded_once(weight):
    child = merge(FIRST, SECOND, weight)
    for name in ("backbone.embeddings.weight", "backbone.layers.1.mixer.A_log"):
        a, b = (x.parameters[name].astype(np.float64) for x in (FIRST, SECOND))
        exact = (1 - weight) * a + weight * b
        assert child[name].dtype == np.float32
        assert np.abs(child[name] - exact).max() <= 1.0001 * np.abs(np.spacing(exact.astype(np.float32))).max() / 2


def test_one_weight_for_each_layer():
    child = merge(FIRST, SECOND, Blend((0.0, 1.0), 0.5))
    for name, array in child.items():
        if ".layers.0." in name:
            assert array.tobytes() == FIRST.parameters[name].tobytes()
        elif ".layers.1." in name:
            assert array.tobytes() == SECOND.parameters[name].tobytes()
        else:
            assert array == pytest.approx((FIRST.parameters[name] + SECOND.parameters[name]) / 2, rel=1e-6)
    assert merge(FIRST, SECOND, [0.25, 0.75]).blend == Blend((0.25, 0.75), 0.5)


@pytest.mark.parametrize(
    "weight", [-0.1, 1.1, math.nan, True, "half", [0.5], [0.5] * 3, [0.5, None], Blend((0.5,), 0.5)]
)
def test_weights_that_cannot_be_are_refused(weight):
    with pytest.raises(CheckpointError):
        merge(FIRST, SECOND, weight)


def test_unlike_parents_are_refused_by_name():
    wider = replace(SECOND, config=ModelConfig(hidden_size=64, num_hidden_layers=2, vocab_size=61))
    with pytest.raises(CheckpointError, match=r"one and two cannot be merged.*hidden_size \(32 and 64\)"):
        merge(FIRST, wider, 0.5)
    with pytest.raises(CheckpointError, match="one and two cannot be merged: their tokenizers differ"):
        merge(replace(FIRST, tokenizer="a"), replace(SECOND, tokenizer="b"), 0.5)
    with pytest.raises(CheckpointError, match="one and two cannot be merged: they were not trained from the same"):
        search_blend(replace(FIRST, origin="a"), replace(SECOND, origin="b"), lambda _: 1.0)


# ---- weights by fitness


@given(st.floats(0, 50), st.floats(0, 50))
def test_the_better_parent_weighs_more(first, second):
    weight = fitness_weight(first, second)
    assert 0 <= weight <= 1
    assert weight + fitness_weight(second, first) == pytest.approx(1)
    if first == second:
        assert weight == 0.5
    else:
        assert (weight >= 0.5) == (second < first) or abs(first - second) < 1e-12


def test_weights_by_fitness():
    assert fitness_weight(3.0, 2.0) == pytest.approx(math.exp(-2) / (math.exp(-2) + math.exp(-3)))
    assert fitness_weight(2.0, math.inf) == 0
    assert fitness_weight(math.inf, 2.0) == 1
    assert fitness_weight(1e6, 0.0) == 1
    for losses in ((math.nan, 1.0), (1.0, math.nan), (math.inf, math.inf)):
        with pytest.raises(CheckpointError, match=r"nan|inf"):
            fitness_weight(*losses)


# ---- trying and searching


def test_the_childs_loss_stands_beside_its_parents():
    evaluate = distance(merge(FIRST, SECOND, 0.3))
    result = try_blend(FIRST, SECOND, 0.3, evaluate)
    assert result.child_loss == 0 < min(result.first_loss, result.second_loss)
    assert (result.first_loss, result.second_loss) == (evaluate(FIRST.parameters), evaluate(SECOND.parameters))
    assert same_bytes(result.parameters, merge(FIRST, SECOND, 0.3))
    calls = []
    known = try_blend(FIRST, SECOND, 0.3, lambda of: calls.append(of) or 7.0, losses=(1.0, 2.0))
    assert (len(calls), known.first_loss, known.second_loss, known.child_loss) == (1, 1.0, 2.0, 7.0)


def test_the_search_finds_weights_by_layer():
    evaluate = distance(merge(FIRST, SECOND, Blend((0.1, 0.9), 0.4)))
    result = search_blend(FIRST, SECOND, evaluate, evaluations=60)
    even = min(evaluate(merge(FIRST, SECOND, weight)) for weight in np.linspace(0, 1, 21).tolist())
    assert result.child_loss < 0.6 * even
    assert result.blend.layers[0] < 0.35 < 0.65 < result.blend.layers[1]
    assert evaluate(result.parameters) == result.child_loss


@given(st.integers(2, 40), st.integers(0, 99), st.data())
def test_the_search_is_bounded_seeded_and_never_worse(evaluations, seed, data):
    landscape = data.draw(st.sampled_from(["rough", "first", "second", "nan", "flat"]))
    calls = []

    def evaluate(of):
        weights = (*of.blend.layers, of.blend.outside)
        calls.append(weights)
        if landscape == "nan" and 0 < sum(weights) < 3:
            return math.nan
        slope = {"first": sum(weights), "second": -sum(weights), "flat": 0.0, "nan": 0.0}
        return slope.get(landscape, math.sin(1000 * weights[0]) + math.cos(77 * weights[1] + weights[2]))

    result = search_blend(FIRST, SECOND, evaluate, evaluations=evaluations, seed=seed)
    assert len(calls) <= evaluations
    assert len(set(calls)) == len(calls)
    measured = [trial.loss for trial in result.trials if not math.isnan(trial.loss)]
    assert result.child_loss == min(measured)
    assert result.child_loss <= min(result.first_loss, result.second_loss)
    first_calls = list(calls)
    again = search_blend(FIRST, SECOND, evaluate, evaluations=evaluations, seed=seed)
    assert again.blend == result.blend
    assert calls[len(first_calls) :] == first_calls


def test_a_search_can_be_stopped():
    calls = []
    search_blend(
        FIRST, SECOND, lambda of: float(len(calls.append(of) or calls)), evaluations=50, stopped=lambda: len(calls) >= 5
    )
    assert len(calls) == 5


@pytest.mark.parametrize("evaluations", [0, 1, 257, 2.5])
def test_a_search_has_a_bound(evaluations):
    with pytest.raises(CheckpointError, match="2 to 256"):
        search_blend(FIRST, SECOND, lambda _: 1.0, evaluations=evaluations)


def text(seed: int, step: int) -> np.ndarray:
    """Ids (4, 33) that grow by `step`."""
    starts = np.random.default_rng(seed).integers(0, CONFIG.vocab_size, (4, 1))
    return (starts + step * np.arange(33)) % CONFIG.vocab_size


def test_two_trained_models_and_a_measured_child():
    """One parent learns one sequence, one another; held-out text has both, and the child knows something of each."""
    device = open_device("cpu")
    model = engine.create_model(CONFIG, 0, device)
    base = dict(model.parameters)
    parents = []
    for step_size in (7, 11):
        for name, array in base.items():
            model.parameters[name] = array
        training = model.training_step("full", 4, 32)
        for number in range(1, 31):
            training.run(text(number, step_size), AdamW(learning_rate=1e-2), number)()
        training.close()
        parents.append(replace(FIRST, name=f"by {step_size}", parameters=dict(model.parameters)))
    held_out = np.concatenate([text(1000, 7), text(1001, 11)])

    def evaluate(candidate):
        for name, array in candidate.items():
            model.parameters[name] = array
        return float(model.losses(held_out).mean())

    result = search_blend(*parents, evaluate, evaluations=16)
    assert result.child_loss < min(result.first_loss, result.second_loss)
    assert result.child_loss == evaluate(result.parameters)
    model.close()
    device.close()
