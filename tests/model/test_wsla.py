"""WSLA trains the B and C rows of every x_proj: their gradients are those of full training, and no other byte moves."""

import numpy as np
import pytest

from engine.model.step import AdamW
from tests.model.tiny import ODD, TINY, assert_close, batch, open_model


def state_rows(config):
    """First and past-the-last row of B and C in x_proj."""
    return config.time_step_rank, config.time_step_rank + 2 * config.state_size


def x_proj_names(config):
    return [f"backbone.layers.{i}.mixer.x_proj.weight" for i in range(config.num_hidden_layers)]


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "odd"])
@pytest.mark.parametrize("l", [1, 2, 66])
def test_gradients_are_the_rows_of_the_full_gradient(config, l, device):
    with open_model(device, config) as model:
        ids = batch(2, l + 1, config["vocab_size"])
        full_loss, full = model.loss_and_gradients(ids, "full")
        loss, gradients = model.loss_and_gradients(ids, "wsla")
        first, last = state_rows(model.config)
        assert loss == pytest.approx(full_loss, rel=1e-6)
        assert_close(gradients, {name: full[name][first:last] for name in x_proj_names(model.config)}, 1e-5)
        assert all(np.abs(gradient).max() > 0 for gradient in gradients.values())


def test_training_changes_those_rows_and_no_other_byte(device):
    with open_model(device) as model:
        before = dict(model.parameters)
        step = model.training_step("wsla", 2, 12)
        optimiser = AdamW(learning_rate=1e-2, weight_decay=0.1)
        for number in range(1, 6):
            assert step.run(batch(2, 13, seed=number), optimiser, number)().applied
        step.close()
        after = dict(model.parameters)
        first, last = state_rows(model.config)
        for name in x_proj_names(model.config):
            assert (after[name][first:last] != before[name][first:last]).all()
            after[name][first:last] = before[name][first:last]
        assert [name for name in before if after[name].tobytes() != before[name].tobytes()] == []


def test_training_lowers_the_loss(device):
    with open_model(device) as model:
        ids = batch(2, 13)
        step = model.training_step("wsla", 2, 12)
        losses = [step.run(ids, AdamW(learning_rate=1e-2), number)().loss for number in range(1, 21)]
        step.close()
    assert losses[-1] < losses[0] - 0.1
