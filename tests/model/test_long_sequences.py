"""Long sequences and vocabularies: loops of many thousand turns, and llvmpipe allows a lane 65,535 of them in all."""

import numpy as np
import pytest

from tests.model.tiny import assert_close, batch, open_model, relative_error

SMALL = {"hidden_size": 12, "num_hidden_layers": 1, "vocab_size": 31}


def on_both(cpu, webgpu, config, ids):
    found = []
    for device in (cpu, webgpu):
        with open_model(device, config) as model:
            found.append((model.logits(ids[:, :-1]), *model.loss_and_gradients(ids)))
    return found


@pytest.mark.parametrize(
    ("b", "l", "options"),
    [
        (1, 2500, {}),
        (1, 8192, {}),
        (1, 2500, {"state_size": 64}),
        (3, 2500, {"state_size": 8}),
        (1, 3, {"vocab_size": 66_000}),
        (1, 3, {"vocab_size": 66_000, "tie_word_embeddings": False}),
    ],
)
def test_long_loops_agree_on_both_devices(b, l, options, cpu, webgpu):
    config = SMALL | options
    ids = batch(b, l + 1, config["vocab_size"])
    (cpu_logits, cpu_loss, cpu_gradients), (logits, loss, gradients) = on_both(cpu, webgpu, config, ids)
    assert relative_error(logits, cpu_logits) < 1e-4
    assert loss == pytest.approx(cpu_loss, rel=1e-5)
    assert_close(gradients, cpu_gradients, 1e-3)


def test_losses_token_by_token_are_those_of_the_logits(device):
    with open_model(device) as model:
        ids = batch(2, 70)
        logits = model.logits(ids[:, :-1]).astype(np.float64)
        losses = model.losses(ids)
        mean, _ = model.loss_and_gradients(ids)
    top = logits.max(-1, keepdims=True)
    normaliser = top[..., 0] + np.log(np.exp(logits - top).sum(-1))
    expected = normaliser - np.take_along_axis(logits, ids[:, 1:, None], -1)[..., 0]
    assert losses.dtype == np.float32
    assert relative_error(losses, expected) < 1e-5
    assert mean == pytest.approx(expected.mean(), rel=1e-5)
