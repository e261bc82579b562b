"""Ten AdamW steps against the stored ones of PyTorch: losses, gradient norms and where every parameter ends."""

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

import engine
from engine.model.step import AdamW
from tests.model.stored import ROOT, expected, with_prefix
from tests.model.tiny import assert_close, relative_error

LIMIT = 1e-4
# At the ninth step of `plain` the loss is so steep that the rounding of the steps before shows in the gradient.
NORM_LIMIT = 1e-3


def stored_optimiser(configuration):
    with safe_open(ROOT / configuration / "expected.safetensors", "numpy") as file:
        settings = file.metadata()
    names = {"lr": "learning_rate", "eps": "epsilon", "clip_norm": "max_norm"}
    keys = ("lr", "beta1", "beta2", "eps", "weight_decay", "clip_norm")
    return AdamW(**{names.get(key, key): float(settings[key]) for key in keys})


@pytest.mark.parametrize("configuration", ["plain", "biases"])
def test_ten_steps_are_the_stored_ones(configuration, device):
    stored, optimiser = expected(configuration), stored_optimiser(configuration)
    ids = stored["adamw.ids"]
    steps, b, width = ids.shape
    assert (steps, b, width) == (10, 3, 33)
    model = engine.load_model(ROOT / configuration, device)
    step = model.training_step("full", b, width - 1)
    results = [step.run(ids[i], optimiser, i + 1)() for i in range(steps)]
    final = dict(model.parameters)
    step.close()
    model.close()
    assert all(result.applied for result in results)
    np.testing.assert_allclose([result.loss for result in results], stored["adamw.losses"], rtol=LIMIT)
    norms = [result.gradient_norm for result in results]
    np.testing.assert_allclose(norms, stored["adamw.gradient_norms"], rtol=NORM_LIMIT)
    assert min(norms) > optimiser.max_norm  # so that every step is clipped
    assert_close(final, with_prefix(stored, "adamw.final."), LIMIT)
    for name, array in load_file(ROOT / configuration / "model.safetensors").items():
        assert relative_error(final[name], array) > 1e-2  # ten steps at 1e-2 do move every tensor
