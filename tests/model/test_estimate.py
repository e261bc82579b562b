"""The estimate is the ledger's peak: every mode, several shapes, micro-batches, and layers that are recomputed."""

import numpy as np
import pytest

import engine
from engine.model.blueprint import estimate_training
from engine.model.step import AdamW
from tests.model.tiny import ODD, TINY, batch

MODES = ("full", "wsla", "lora", "vocabulary")
SHAPES = [(1, 1, 1, 0), (3, 66, 1, 1), (2, 130, 3, 2)]
TOKENS = np.arange(0, 40, 3)


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "odd"])
@pytest.mark.parametrize(("b", "l", "parts", "recompute"), SHAPES)
@pytest.mark.parametrize("mode", MODES)
def test_the_estimate_is_the_peak_of_a_run(mode, b, l, parts, recompute, config, cpu):
    check(cpu, config, mode, b, l, parts, recompute, run=True)


@pytest.mark.parametrize("mode", MODES)
def test_the_estimate_is_the_peak_on_webgpu(mode, fresh_webgpu):
    check(fresh_webgpu, TINY, mode, 2, 66, 2, 1, run=mode == "vocabulary")


def check(device, config, mode, b, l, parts, recompute, run):
    """The estimate, the ledger and its peak are equal, also after steps, insight, reading and writing."""
    model = engine.create_model(config, device=device)
    more = {"token_ids": TOKENS, "recompute": recompute}
    estimate = model.estimate(mode, b, l, parts, **more)
    assert estimate_training(model.config, device, mode, b, l, parts, **more) == estimate
    step = model.training_step(mode, b, l, parts, **more)
    assert model.estimate(mode, b, l, parts, **more) == estimate  # with the adapters there
    assert device.ledger.snapshot().by_kind == estimate
    if run:
        for number in (1, 2):
            ids = batch(b * parts, l + 1, config["vocab_size"], seed=number)
            assert step.run(ids, AdamW(), number, insight=number == 2)().applied
        step.trained.write(model, step.trained.read(model))
    assert device.ledger.snapshot().by_kind == estimate
    assert device.ledger.snapshot().peak == sum(estimate.values())
    step.close()
    model.close()
    assert device.ledger.total == 0


def test_rows_cost_by_their_number_and_not_by_the_vocabulary(cpu):
    """A tenth of the tokens: gradients and moments of a tenth of the table, and never a gradient of all of it."""
    config = engine.ModelConfig(hidden_size=256, num_hidden_layers=2, vocab_size=32_768)
    lora = estimate_training(config, cpu, "lora", 2, 128)
    vocabulary = estimate_training(config, cpu, "vocabulary", 2, 128, token_ids=np.arange(0, 32_768, 10))
    rows = 4 * 3277 * 256
    assert vocabulary["gradients"] - lora["gradients"] == pytest.approx(rows, rel=0.01)
    assert vocabulary["optimiser"] - lora["optimiser"] == pytest.approx(2 * rows, rel=0.01)
    besides = [sum(e[kind] for kind in ("activations", "workspace")) for e in (lora, vocabulary)]
    assert besides[1] - besides[0] < 4 * 32_768 * 256 / 4
