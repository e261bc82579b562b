"""The gradient of every parameter against the loss itself, with no reference implementation in between."""

import pytest

from tests.model.differences import assert_slope_is_gradient
from tests.model.tiny import ODD, TINY, batch, open_model


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "odd"])
@pytest.mark.parametrize("l", [3, 67])
def test_every_gradient_is_the_slope_of_the_loss(config, l, cpu):
    with open_model(cpu, config) as model:
        ids = batch(2, l + 1, config["vocab_size"])
        _, gradients = model.loss_and_gradients(ids)
        for name, gradient in gradients.items():
            assert_slope_is_gradient(lambda: model.loss_and_gradients(ids)[0], model.parameters, name, gradient)
