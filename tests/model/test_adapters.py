"""LoRA: pairs that change nothing at first, have the gradients of the loss, and are all that training moves."""

import numpy as np
import pytest

from engine.errors import ConfigError, InputError
from engine.model.step import AdamW
from tests.model.differences import assert_slope_is_gradient
from tests.model.tiny import ODD, TINY, assert_close, batch, open_model, relative_error, same_bytes


def randomise(model, seed=1):
    """Give the zero halves of the pairs values too."""
    random = np.random.default_rng(seed)
    for name, array in model.adapters.items():
        model.adapters[name] = 0.3 * random.standard_normal(array.shape, np.float32)


def test_pairs_are_on_both_projections_of_every_layer_with_their_shapes(cpu):
    with open_model(cpu) as model:
        assert len(model.adapters) == 0
        shapes = {name: array.shape for name, array in model.attach_adapters(rank=3).items()}
        m, d = model.config.hidden_size, model.config.intermediate_size
        expected = {}
        for layer in range(model.config.num_hidden_layers):
            mixer = f"backbone.layers.{layer}.mixer."
            expected |= {mixer + "in_proj.lora_A.weight": (3, m), mixer + "in_proj.lora_B.weight": (2 * d, 3)}
            expected |= {mixer + "out_proj.lora_A.weight": (3, d), mixer + "out_proj.lora_B.weight": (m, 3)}
        assert shapes == expected


def test_fresh_adapters_leave_the_logits_as_they_were(device):
    with open_model(device) as model:
        ids = batch(2, 9)
        before = model.logits(ids)
        model.attach_adapters(rank=4)
        np.testing.assert_array_equal(model.logits(ids), before)
        randomise(model)
        assert relative_error(model.logits(ids), before) > 1e-2


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_an_adapter_is_a_change_of_its_weight(scale, device):
    """weight + scale * up @ down, written into the weight, gives the same logits."""
    with open_model(device, ODD) as model, open_model(device, ODD) as merged:
        model.attach_adapters(rank=3, scale=scale)
        randomise(model)
        for layer in range(model.config.num_hidden_layers):
            for part in ("in_proj", "out_proj"):
                stem = f"backbone.layers.{layer}.mixer.{part}"
                change = model.adapters[f"{stem}.lora_B.weight"] @ model.adapters[f"{stem}.lora_A.weight"]
                merged.parameters[f"{stem}.weight"] = merged.parameters[f"{stem}.weight"] + scale * change
        ids = batch(2, 9, ODD["vocab_size"])
        assert relative_error(model.logits(ids), merged.logits(ids)) < 1e-5


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "odd"])
def test_gradients_agree_with_finite_differences(config, device):
    with open_model(device, config) as model:
        model.attach_adapters(rank=3, scale=0.7)
        randomise(model)
        ids = batch(2, 12, config["vocab_size"])
        _, gradients = model.loss_and_gradients(ids, "lora")
        assert gradients.keys() == model.adapters.keys()
        for name, gradient in gradients.items():
            assert_slope_is_gradient(lambda: model.loss_and_gradients(ids, "lora")[0], model.adapters, name, gradient)


def test_both_devices_have_the_same_gradients(cpu, webgpu):
    found = []
    for device in (cpu, webgpu):
        with open_model(device) as model:
            model.attach_adapters(rank=3)
            randomise(model)
            found.append(model.loss_and_gradients(batch(3, 66), "lora")[1])
    assert_close(found[1], found[0], 1e-4)


def test_training_changes_the_adapters_only_and_lowers_the_loss(device):
    with open_model(device) as model:
        ids = batch(2, 13)
        before = dict(model.parameters)
        step = model.training_step("lora", 2, 12)
        adapters = dict(model.adapters)
        losses = [step.run(ids, AdamW(learning_rate=1e-2), number)().loss for number in range(1, 21)]
        step.close()
        assert losses[-1] < losses[0] - 0.1
        assert same_bytes(dict(model.parameters), before)
        assert all((model.adapters[name] != adapters[name]).any() for name in adapters)


def test_with_adapters_attached_full_training_leaves_them_alone(cpu):
    with open_model(cpu) as model:
        model.attach_adapters(rank=2)
        randomise(model)
        before = dict(model.adapters)
        _, gradients = model.loss_and_gradients(batch(1, 9), "full")
        assert gradients.keys() == model.parameters.keys()
        step = model.training_step("full", 1, 8)
        assert step.run(batch(1, 9), AdamW(), 1)().applied
        step.close()
        assert same_bytes(dict(model.adapters), before)


def test_gradients_of_the_weights_see_the_adapters(cpu):
    """In full mode the loss goes through the adapters, so d_x must too."""
    with open_model(cpu) as model:
        model.attach_adapters(rank=2)
        randomise(model)
        ids = batch(2, 12)
        _, gradients = model.loss_and_gradients(ids, "full")
        for name, gradient in gradients.items():
            assert_slope_is_gradient(lambda: model.loss_and_gradients(ids, "full")[0], model.parameters, name, gradient)


def test_what_cannot_be_attached_is_refused(cpu):
    with open_model(cpu) as model:
        for rank in (0, -1, 1.5, TINY["hidden_size"] + 1):
            with pytest.raises(ConfigError, match="rank"):
                model.attach_adapters(rank=rank)
        model.attach_adapters()
        with pytest.raises(InputError, match="adapters already"):
            model.attach_adapters()
        with pytest.raises(InputError, match=r"no training mode 'everything'.*full, wsla, qk, lora"):
            model.loss_and_gradients(batch(1, 4), "everything")
