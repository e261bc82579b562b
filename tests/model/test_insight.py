"""What a step reports about each layer, against NumPy; and that reporting changes nothing."""

import numpy as np
import pytest

from engine.graph.gating import DEAD_SHARE
from engine.model.selection import layer_of
from engine.model.step import AdamW
from tests.model.test_adapters import randomise
from tests.model.tiny import ODD, TINY, batch, open_model, same_bytes

MODES = ("full", "wsla", "lora", "vocabulary")
TOKENS = [1, 2, 3, 30, 42]
OPTIMISER = AdamW(learning_rate=2e-2, weight_decay=0.2, max_norm=0.1, trust=1.5e-2)


def of_layer(arrays, layer):
    """All trained numbers of a layer as one float64 vector."""
    return np.concatenate(
        [a.astype(np.float64).ravel() for name, a in sorted(arrays.items()) if layer_of(name) == layer]
    )


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "odd"])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_and_updates_are_those_of_numpy(mode, config, device):
    with open_model(device, config) as model:
        model.attach_adapters(rank=3)
        randomise(model)
        first, second = batch(2, 20, config["vocab_size"]), batch(2, 20, config["vocab_size"], seed=1)
        step = model.training_step(mode, 2, 19, token_ids=TOKENS)
        assert step.run(first, OPTIMISER, 1)().layers == ()
        _, gradients = model.loss_and_gradients(second, mode, token_ids=TOKENS)
        before = step.trained.read(model)
        layers = step.run(second, OPTIMISER, 2, insight=True)().layers
        after = step.trained.read(model)
        step.close()
    assert [insight.layer for insight in layers] == [0, 1]
    for insight in layers:
        gradient, weights, now = (of_layer(arrays, insight.layer) for arrays in (gradients, before, after))
        assert insight.gradient_rms == pytest.approx(np.sqrt(np.mean(gradient**2)), rel=1e-4)
        ratio = np.linalg.norm(now - weights) / np.linalg.norm(weights)
        assert insight.update_ratio == pytest.approx(ratio, rel=1e-3)
        assert insight.dead_share == 0


def test_micro_batches_tell_of_the_whole_gradient(device):
    found = []
    for parts in (1, 2):
        with open_model(device) as model:
            step = model.training_step("full", 4 // parts, 9, parts)
            found.append(step.run(batch(4, 10), OPTIMISER, 1, insight=True)().layers)
            step.close()
    for one, other in zip(*found, strict=True):
        assert other.gradient_rms == pytest.approx(one.gradient_rms, rel=1e-4)
        assert other.update_ratio == pytest.approx(one.update_ratio, rel=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_dead_channels_are_counted(mode, device):
    """A closed gate lets nothing out; a column of zeros in out_proj lets nothing back.  One channel has both."""
    with open_model(device) as model:
        d = model.config.intermediate_size
        closed, cut, faint = [0, 3, d - 1], [3, 5], [7, 8]
        inward = model.parameters["backbone.layers.1.mixer.in_proj.weight"]
        inward[d + np.array(closed)] = 0  # z = 0, and silu(0) = 0
        model.parameters["backbone.layers.1.mixer.in_proj.weight"] = inward
        outward = model.parameters["backbone.layers.1.mixer.out_proj.weight"]
        outward[:, cut] = 0
        outward[:, faint[0]] *= DEAD_SHARE / 10  # as good as dead
        outward[:, faint[1]] *= DEAD_SHARE * 50  # weak, and alive
        model.parameters["backbone.layers.1.mixer.out_proj.weight"] = outward
        step = model.training_step(mode, 2, 19, token_ids=TOKENS)
        layers = step.run(batch(2, 20), OPTIMISER, 1, insight=True)().layers
        step.close()
    assert [insight.dead_share for insight in layers] == [0, pytest.approx(5 / d)]


@pytest.mark.parametrize("mode", MODES)
def test_telling_changes_no_weight(mode, device):
    found = []
    for insight in (False, True):
        with open_model(device) as model:
            step = model.training_step(mode, 2, 9, token_ids=TOKENS)
            results = [step.run(batch(2, 10, seed=n), OPTIMISER, n, insight=insight)() for n in (1, 2)]
            found.append(([(r.loss, r.gradient_norm) for r in results], {**model.parameters, **model.adapters}))
            step.close()
    assert found[0][0] == found[1][0]
    assert same_bytes(found[0][1], found[1][1])


def test_steps_without_insight_do_not_pay_for_it(device):
    with open_model(device) as model:
        step = model.training_step("full", 1, 9)
        step.run(batch(1, 10), OPTIMISER, 1, insight=True)()
        (usual,) = step.executables
        kernels = {call.kernel for call in usual.plan.program.calls}
        assert not kernels & {"update_squares", "column_squares", "dead_channels"}
        assert usual.plan.program.outputs["statistics"].nbytes == 64
        step.close()


def test_results_may_come_late_and_mixed(device):
    with open_model(device) as model:
        step = model.training_step("full", 1, 9)
        waiting = [step.run(batch(1, 10, seed=n), OPTIMISER, n, insight=n % 2 == 0) for n in range(1, 9)]
        results = [wait() for wait in reversed(waiting)][::-1]
        step.close()
    assert [len(result.layers) for result in results] == [0, 2] * 4
    assert len({result.loss for result in results}) == 8
    assert len({result.layers[0].gradient_rms for result in results[1::2]}) == 4


def test_a_step_that_is_not_applied_moves_nothing_and_says_so(device):
    with open_model(device) as model:
        name = "backbone.layers.1.mixer.out_proj.weight"
        model.parameters[name] = np.full_like(model.parameters[name], np.inf)
        step = model.training_step("wsla", 1, 9)
        result = step.run(batch(1, 10), OPTIMISER, 1, insight=True)()
        step.close()
    assert not result.applied
    assert [insight.update_ratio for insight in result.layers] == [0, 0]
    assert not all(np.isfinite(insight.gradient_rms) for insight in result.layers)
