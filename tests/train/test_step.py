"""TrainingStep: micro-batches, clipping, trust region, numbers that are not finite, late results, the same bits."""

import math

import numpy as np
import pytest

from engine.devices.webgpu.executable import RING
from engine.errors import InputError
from engine.model.step import AdamW
from tests.model.tiny import TINY, assert_close, batch, open_model, same_bytes

MODES = ("full", "wsla", "lora")


def moments(step):
    """First and second moments of everything trained, as vectors by slab."""
    slabs = [*step.trained.first_slabs, *step.trained.second_slabs]
    return {slab.name: step.device.read(slab.flat()) for slab in slabs}


def trained_arrays(model):
    return {**model.parameters, **model.adapters}


# ---- micro-batches


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("parts", [2, 3])
def test_micro_batches_give_the_update_of_one_large_batch(parts, mode, device):
    ids = batch(2 * parts, 10)
    optimiser = AdamW(learning_rate=1e-2, epsilon=1e-3, max_norm=0.5)
    found = []
    for micro_batches in (1, parts):
        with open_model(device) as model:
            if mode == "lora":
                model.attach_adapters()
            before = trained_arrays(model)
            step = model.training_step(mode, 2 * parts // micro_batches, 9, micro_batches)
            results = [step.run(ids, optimiser, number)() for number in (1, 2)]
            step.close()
            moved = {name: array - before[name] for name, array in trained_arrays(model).items()}
            found.append((results, moved))
    (whole, whole_moved), (cut, cut_moved) = found
    for one, other in zip(whole, cut, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-5)
        assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-5)
    assert any(np.abs(change).max() > 1e-4 for change in whole_moved.values())
    for name, change in whole_moved.items():
        np.testing.assert_allclose(cut_moved[name], change, rtol=0, atol=1e-5)


# ---- what the optimiser does


def test_a_step_is_adamw_of_the_gradients(device):
    """One step, computed again in float64 from the gradients that the model gives."""
    optimiser = AdamW(learning_rate=0.02, beta1=0.8, beta2=0.95, epsilon=1e-6, weight_decay=0.3, max_norm=0.0)
    ids = batch(2, 10)
    with open_model(device) as model:
        loss, gradients = model.loss_and_gradients(ids)
        before = dict(model.parameters)
        step = model.training_step("full", 2, 9)
        result = step.run(ids, optimiser, 1)()
        step.close()
        after = dict(model.parameters)
    assert result.loss == pytest.approx(loss, rel=1e-6)
    norm = math.sqrt(sum(float(np.sum(g.astype(np.float64) ** 2)) for g in gradients.values()))
    assert result.gradient_norm == pytest.approx(norm, rel=1e-5)
    expected = {}
    for name, gradient in gradients.items():
        no_decay = name.endswith(("A_log", ".D", ".bias", "norm.weight", "norm_f.weight"))
        w, g = before[name].astype(np.float64), gradient.astype(np.float64)
        expected[name] = w - 0.02 * (g / (np.abs(g) + 1e-6) + (0.0 if no_decay else 0.3) * w)
    assert_close(after, expected, 1e-5)


@pytest.mark.parametrize(("max_norm", "clips"), [(0.25, True), (1e3, False), (0.0, False)])
def test_gradients_are_clipped_to_the_largest_norm(max_norm, clips, device):
    optimiser = AdamW(max_norm=max_norm, beta1=0.9)
    with open_model(device) as model:
        step = model.training_step("full", 2, 9)
        result = step.run(batch(2, 10), optimiser, 1)()
        first = [array for name, array in moments(step).items() if name.startswith("first")]
        step.close()
    assert result.applied
    assert result.gradient_norm > 0.3  # as it was before clipping
    taken = math.sqrt(sum(float(np.sum((array / 0.1) ** 2)) for array in first))
    assert taken == pytest.approx(max_norm if clips else result.gradient_norm, rel=1e-4)


def test_the_trust_region_bounds_the_change_of_every_weight(device):
    trust = 1e-3
    with open_model(device) as model:
        before = dict(model.parameters)
        step = model.training_step("full", 2, 9)
        assert step.run(batch(2, 10), AdamW(learning_rate=0.1, trust=trust), 1)().applied
        step.close()
        change = np.concatenate([(array - before[name]).ravel() for name, array in model.parameters.items()])
    assert np.abs(change).max() <= trust * (1 + 1e-3)
    assert np.mean(np.abs(change) > 0.99 * trust) > 0.5


def test_options_change_without_a_new_plan(device):
    """A learning rate of 0 moves nothing; the next step, at another rate, does."""
    with open_model(device) as model:
        step = model.training_step("full", 1, 5)
        before = dict(model.parameters)
        assert step.run(batch(1, 6), AdamW(learning_rate=0.0), 1)().applied
        assert same_bytes(dict(model.parameters), before)
        assert step.run(batch(1, 6), AdamW(learning_rate=1e-2), 2)().applied
        assert not same_bytes(dict(model.parameters), before)
        step.close()


# ---- numbers that are not finite


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_changes_nothing(value, mode, device):
    ids, optimiser = batch(2, 10), AdamW(learning_rate=1e-2)
    with open_model(device) as model:
        step = model.training_step(mode, 2, 9)
        assert step.run(ids, optimiser, 1)().applied
        name = "backbone.layers.1.mixer.out_proj.weight"
        good = model.parameters[name]
        model.parameters[name] = np.full_like(good, value)
        before, moments_before = trained_arrays(model), moments(step)
        result = step.run(ids, optimiser, 2)()
        assert not result.applied
        assert not (math.isfinite(result.loss) and math.isfinite(result.gradient_norm))
        assert same_bytes(trained_arrays(model), before)
        assert same_bytes(moments(step), moments_before)
        # and training continues once the weight is repaired
        model.parameters[name] = good
        assert step.run(ids, optimiser, 2)().applied
        assert all(np.isfinite(array).all() for array in trained_arrays(model).values())
        step.close()


def test_a_bad_micro_batch_spoils_the_whole_step_and_only_that(device):
    """The embedding of one token is NaN: the first micro-batch has it, the last does not."""
    with open_model(device, TINY | {"tie_word_embeddings": False}) as model:
        step = model.training_step("full", 1, 5, micro_batches=2)
        table = model.parameters["backbone.embeddings.weight"]
        table[7] = np.nan
        model.parameters["backbone.embeddings.weight"] = table
        before = dict(model.parameters)
        bad, good = [7, 7, 7, 7, 7, 7], [1, 2, 3, 4, 5, 6]
        assert not step.run(np.array([bad, good]), AdamW(), 1)().applied
        assert same_bytes(dict(model.parameters), before)
        assert step.run(np.array([good, good]), AdamW(), 1)().applied
        step.close()


# ---- inputs


def test_a_batch_that_does_not_fit_is_refused_and_changes_nothing(device):
    v = TINY["vocab_size"]
    good = batch(4, 7)
    out_of_range, negative = good.copy(), good.copy()
    out_of_range[1, 3], negative[2, 0] = v, -1
    with open_model(device) as model:
        step = model.training_step("full", 2, 6, micro_batches=2)
        before = dict(model.parameters)
        for ids in (good[:, :-1], good[:2], good[:3], good[0], good + 0.5, out_of_range, negative, good[:0]):
            with pytest.raises(InputError):
                step.run(ids, AdamW(), 1)
        assert same_bytes(dict(model.parameters), before)
        assert step.run(good, AdamW(), 1)().applied
        step.close()


@pytest.mark.parametrize("shape", [(0, 4, 1), (2, 0, 1), (2, 4, 0), (-1, 4, 1), (2, 2.5, 1)])
def test_a_shape_that_cannot_be_is_refused(shape, device):
    with open_model(device) as model:
        held = device.ledger.total
        with pytest.raises(InputError):
            model.training_step("full", *shape)
        assert device.ledger.total == held


# ---- results


def test_results_may_be_collected_late_and_in_any_order(device):
    """More steps are enqueued than the ring has places; every result is still the one of its own step."""
    count = 2 * RING + 1
    batches = [batch(2, 10, seed=number) for number in range(count)]
    found = []
    for late in (False, True):
        with open_model(device) as model:
            step = model.training_step("full", 2, 9)
            waiting = []
            for number, ids in enumerate(batches, 1):
                result = step.run(ids, AdamW(learning_rate=1e-2), number)
                waiting.append(result if late else (lambda value: lambda: value)(result()))
            results = {i: waiting[i]() for i in reversed(range(count))}
            assert [waiting[i]() for i in range(count)] == [results[i] for i in range(count)]  # again: the same
            step.close()
            found.append(results)
    assert found[0] == found[1]
    assert len({result.loss for result in found[0].values()}) == count


def test_a_result_outlives_its_step(device):
    """Closing while a result is on its way, as a stopped run does, still gives the result."""
    with open_model(device) as model:
        ids = batch(2, 10)
        step = model.training_step("full", 2, 9)
        now = step.run(ids, AdamW(learning_rate=0.0), 1)()
        later = step.run(ids, AdamW(learning_rate=0.0), 2)
        step.close()
        assert later() == now


def test_a_step_may_be_closed_twice(device):
    with open_model(device) as model:
        held = device.ledger.total
        step = model.training_step("full", 1, 3)
        step.close()
        step.close()
        assert device.ledger.total == held


# ---- the same bits


@pytest.mark.parametrize("mode", MODES)
def test_two_runs_from_one_seed_are_bit_identical(mode, device):
    found = []
    for _ in range(2):
        with open_model(device, seed=11) as model:
            step = model.training_step(mode, 3, 66)
            results = [step.run(batch(3, 67, seed=n), AdamW(learning_rate=1e-2), n)() for n in range(1, 5)]
            arrays = trained_arrays(model) | moments(step)
            step.close()
            found.append((results, arrays))
    assert found[0][0] == found[1][0]
    assert same_bytes(found[0][1], found[1][1])


def test_a_tiny_model_learns_a_short_sequence_by_heart(device):
    ids = batch(1, 25)
    with open_model(device) as model:
        step = model.training_step("full", 1, 24)
        losses = [step.run(ids, AdamW(learning_rate=2e-2, weight_decay=0.0), n)().loss for n in range(1, 61)]
        step.close()
        assert losses[0] > 3
        assert losses[-1] < 0.1
        assert (model.logits(ids[:, :-1]).argmax(-1) == ids[:, 1:]).mean() > 0.9
