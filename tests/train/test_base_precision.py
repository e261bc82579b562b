"""The precision of the base: the one that was chosen, or what fits; runs over it fit, learn and resume exactly."""

from contextlib import contextmanager

import numpy as np
import pytest

from engine.model import layout
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters
from engine.model.model import Model
from engine.model.selection import storage_for
from engine.train.events import FinishedEvent, PlanEvent
from engine.train.memory_fitting import Fit, base_precision, fitting, run_estimate
from engine.train.options import TrainingOptions
from engine.train.trainer import Trainer
from tests.model.test_packed_base import DENSE, NARROW
from tests.train.test_memory_fitting import IDS
from tests.train.test_resume import check_resumed
from tests.train.test_trainer import OPTIONS, of, tokens, trained

DENSE_CONFIG = config_from(DENSE)
LARGER = DENSE | {"hidden_size": 96, "vocab_size": 997, "intermediate_size": 224}  # most memory is weights
LORA = OPTIONS.changed(mode="lora", rank=2)


@contextmanager
def open_packed(device, precision, mode="lora", config=DENSE_CONFIG):
    """A model whose weights are moved off their first values, so that no gradient is next to zero."""
    model = Model(config, device, storage_for(config, mode, precision))
    try:
        random = np.random.default_rng(0)
        for name, array in initial_parameters(config):
            model.parameters[name] = array + 0.2 * random.standard_normal(array.shape, np.float32)
        yield model
    finally:
        model.close()


def test_the_widest_that_fits_one_window_without_recomputing_is_taken():
    bytes_of = {"float32": 100, "float16": 60, "int8": 40}

    def estimates(precision):
        return lambda fit: {"all": bytes_of[precision] + fit.micro_batch - 2 * fit.recompute}

    options = TrainingOptions(mode="lora", batch_size=8)
    for room, expected in ((109, "float32"), (101, "float32"), (100, "float16"), (61, "float16"), (60, "int8")):
        assert base_precision(options, 4, estimates, room) == expected
    assert base_precision(options, 4, estimates, 5) == "int8"  # recomputing is what is left
    assert base_precision(options.changed(micro_batch=4), 4, estimates, 101) == "float16"
    assert base_precision(options.changed(recompute=3), 4, estimates, 95) == "float32"
    assert base_precision(options.changed(base_precision="float32"), 4, estimates, 5) == "float32"
    assert base_precision(options.changed(mode="full"), 4, estimates, 5) == "float32"


@pytest.mark.parametrize("mode", ["lora", "vocabulary", "qk"])
@NARROW
def test_what_is_chosen_runs_under_the_ceiling_that_it_was_chosen_for(fresh_device, precision, mode, monkeypatch):
    """That ceiling is a byte less than the next wider one would need; the run holds what was estimated."""
    monkeypatch.setattr(layout, "WIDENED_BYTES", 2**14)  # small against the weights, as it is in a large model
    ids = IDS if mode == "vocabulary" else None
    options = LORA.changed(mode=mode, batch_size=4, insight_interval=1, steps=3)
    config = config_from(LARGER)

    def estimates(name):
        return run_estimate(config, fresh_device, options, name, ids, measured_rows=2)

    wider = {"float16": "float32", "int8": "float16"}[precision]
    fresh_device.ledger.ceiling = ceiling = sum(estimates(wider)(Fit(1, 4)).values()) - 1
    assert base_precision(options, 2, estimates, ceiling) == precision
    with open_packed(fresh_device, precision, mode, config) as model:
        rows = tokens(model, rows=4)
        trainer = Trainer(model, lambda: rows, [tokens(model)], options, token_ids=ids)
        events = list(trainer.run())
        trainer.close()
    (plan,) = of(events, PlanEvent)
    assert plan.base_precision == precision and plan.recompute == 0
    fit = fitting(options, 2, estimates(precision), ceiling)
    assert fit == Fit(plan.micro_batch, plan.micro_batches)
    estimate = sum(estimates(precision)(fit).values())
    assert fresh_device.ledger.snapshot().peak == pytest.approx(estimate, rel=0.1)


@NARROW
def test_a_run_over_a_packed_base_lowers_the_held_out_loss(device, precision):
    with open_packed(device, precision) as model:
        (finished,) = of(trained(model, LORA), FinishedEvent)
        assert finished.held_out_after < finished.held_out_before - 0.1


@NARROW
def test_resumed_equals_uninterrupted(device, precision):
    check_resumed("lora", 5, device, lambda device: open_packed(device, precision))


def test_so_do_modes_that_keep_a_part_wide(cpu):
    for mode in ("vocabulary", "qk"):
        check_resumed(mode, 5, cpu, lambda device, mode=mode: open_packed(device, "int8", mode))
