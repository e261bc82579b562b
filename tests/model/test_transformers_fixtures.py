"""Logits, loss and every gradient by name against transformers in float64, on both devices."""

import json

import pytest

import engine
from tests.model.stored import CONFIGURATIONS, LIMITS, ROOT, ROUNDED, expected, with_prefix
from tests.model.tiny import assert_close, relative_error

LENGTHS = (1, 2, 7, 64, 65, 129)


def test_the_stored_configurations_are_the_ones_that_were_asked_for():
    configs = [json.loads((ROOT / name / "config.json").read_text()) for name in CONFIGURATIONS]
    assert {config["state_size"] for config in configs} == {8, 16}
    assert {config["conv_kernel"] for config in configs} == {3, 4}
    assert {config["expand"] for config in configs} == {2, 3}
    assert {config["use_bias"] for config in configs} == {True, False}
    assert {config["use_conv_bias"] for config in configs} == {True, False}
    assert {config["tie_word_embeddings"] for config in configs} == {True, False}
    assert any(config["hidden_size"] % 2 for config in configs)


@pytest.mark.parametrize("l", LENGTHS)
@pytest.mark.parametrize("b", [1, 3])
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_logits_and_gradients(configuration, b, l, device):
    stored, case = expected(configuration), f"b{b}.l{l}"
    limit = LIMITS[device.name]
    ids = stored[f"ids.{case}"]
    assert ids.shape == (b, l + 1)
    model = engine.load_model(ROOT / configuration, device)
    logits = model.logits(ids[:, :-1])
    loss, gradients = model.loss_and_gradients(ids)
    model.close()
    assert relative_error(logits, stored[f"logits.{case}"]) <= limit
    assert loss == pytest.approx(float(stored[f"loss.{case}"]), rel=limit)
    assert gradients.keys() == model.config.parameter_shapes().keys()
    assert_close(gradients, with_prefix(stored, f"gradient.{case}."), limit)


@pytest.mark.parametrize("folder", ROUNDED)
def test_half_precision_and_sharded_files(folder, device):
    stored = expected(folder)
    ids = stored["ids.b1.l7"]
    model = engine.load_model(ROOT / folder, device)
    logits, (loss, _) = model.logits(ids[:, :-1]), model.loss_and_gradients(ids)
    model.close()
    assert relative_error(logits, stored["logits.b1.l7"]) <= LIMITS[device.name]
    assert loss == pytest.approx(float(stored["loss.b1.l7"]), rel=LIMITS[device.name])
