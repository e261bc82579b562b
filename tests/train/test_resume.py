"""A run that is interrupted and resumed gives the same result as an uninterrupted one."""

import json
import math
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.errors import InputError
from engine.train.evaluation import Measured
from engine.train.events import EvaluationEvent, StepEvent
from engine.train.trainer import Trainer
from engine.train.trainer_state import RunNumbers, TrainerState
from tests.model.tiny import open_model
from tests.train.test_trainer import OPTIONS, tokens

IDS = np.arange(0, 50, 2)


def batches(model, first: int):
    """A source of batches that starts at batch number `first`."""
    numbers = count(first)
    return lambda: tokens(model, next(numbers))


def numbers_of(events):
    kept = [(e.event, e.step, e.loss) for e in events if isinstance(e, StepEvent)]
    return kept + [(e.event, e.step, e.held_out_loss) for e in events if isinstance(e, EvaluationEvent)]


@pytest.mark.parametrize("mode", ["full", "wsla", "lora", "vocabulary"])
@pytest.mark.parametrize("cut", [1, 5, 6])
def test_resumed_equals_uninterrupted(mode, cut, cpu):
    check_resumed(mode, cut, cpu)


@contextmanager
def open_dense(device):
    model = engine.load_model(Path(__file__).parents[1] / "fixtures" / "dense" / "qwen2", device)
    try:
        yield model
    finally:
        model.close()


def test_queries_and_keys_resumed(cpu):
    check_resumed("qk", 5, cpu, open_dense)


def test_resumed_equals_uninterrupted_on_webgpu(webgpu):
    check_resumed("vocabulary", 5, webgpu)


def through_json(numbers: RunNumbers) -> RunNumbers:
    return RunNumbers.from_json(json.loads(json.dumps(numbers.to_json())))


def test_numbers_come_back_from_json_as_they_were():
    """Also those that JSON has no number for; what another version wrote is refused by name."""
    numbers = RunNumbers(
        step=3, held_out_before=1.5, best_measured=(Measured((1.5, 2.5), (4, 5)),), health={"told": []}
    )
    assert through_json(numbers) == numbers and numbers.changed_best == math.inf
    for odd in ({**numbers.to_json(), "pace": 1}, {k: v for k, v in numbers.to_json().items() if k != "elapsed"}):
        with pytest.raises(ValueError, match=r"pace|elapsed"):
            RunNumbers.from_json(odd)


def check_resumed(mode, cut, device, open_model=open_model):
    options = OPTIONS.changed(mode=mode, rank=2, insight_interval=4, recompute=1)
    ids = IDS if mode == "vocabulary" else None
    with open_model(device) as model:
        trainer = Trainer(model, batches(model, 0), [tokens(model, 99)], options, token_ids=ids)
        whole = list(trainer.run())
        end = {name: model.parameters[name] for name in model.parameters}
        trainer.close()
    with open_model(device) as model:
        trainer = Trainer(model, batches(model, 0), [tokens(model, 99)], options, token_ids=ids)
        first = []
        while trainer.step < cut:
            first += trainer.advance()
        state = trainer.state()
        state = TrainerState({k: v.copy() for k, v in state.arrays.items()}, through_json(state.numbers))
        trainer.close()
    with open_model(device) as model:
        trainer = Trainer(model, batches(model, cut), [tokens(model, 99)], options, token_ids=ids)
        trainer.restore(state)
        second = list(trainer.run())
        assert sorted(numbers_of(first + second)) == sorted(numbers_of(whole))  # bit for bit
        for name, array in end.items():
            assert np.array_equal(model.parameters[name], array), name
        trainer.close()


def test_a_state_of_another_mode_is_refused_by_name(cpu):
    with open_model(cpu) as model:
        trainer = Trainer(model, batches(model, 0), [tokens(model)], OPTIONS.changed(mode="wsla"))
        state = trainer.state()
        trainer.close()
        trainer = Trainer(model, batches(model, 0), [tokens(model)], OPTIONS)
        with pytest.raises(InputError, match="does not match"):
            trainer.restore(state)
        trainer.close()


@pytest.mark.parametrize("changed", [False, True], ids=["plain", "incremental"])
def test_what_was_saved_goes_on_with_the_same_parts_and_the_same_best(changed, cpu):
    """A run that had to cut its batch is cut the same way again: sums in another order would give other bits."""
    options = OPTIONS.changed(batch_size=2)

    def trainer_of(model, first):
        more = {"changed": [tokens(model, 98)]} if changed else {}
        return Trainer(model, batches(model, first), [tokens(model, 99), tokens(model, 97)], options, **more)

    def advance_to(trainer, step):
        events = []
        while trainer.step < step:
            events += trainer.advance()
            if trainer.step == 3 and trainer._fitted.fit.micro_batches == 1:
                trainer._fitted.split_as(1, 2)
        return events

    with open_model(cpu) as model:
        trainer = trainer_of(model, 0)
        whole = advance_to(trainer, 5) + list(trainer.run())
        trainer.close()
    with open_model(cpu) as model:
        trainer = trainer_of(model, 0)
        first = advance_to(trainer, 5)
        state = trainer.state()
        trainer.close()
    with open_model(cpu) as model:
        trainer = trainer_of(model, 5)
        trainer.restore(TrainerState(state.arrays, through_json(state.numbers)))
        assert (trainer._fitted.fit.micro_batches, trainer._fitted.fit.recompute) == (2, 2)
        assert trainer._health.state() == state.numbers.health and len(state.numbers.health["norms"]) == 5
        second = list(trainer.run())
        trainer.close()
    assert sorted(numbers_of(first + second)) == sorted(numbers_of(whole))
    last, expected = second[-1], whole[-1]
    assert (last.held_out_before, last.held_out_after, last.best_step) == (
        expected.held_out_before, expected.held_out_after, expected.best_step,
    )  # fmt: skip
    assert (last.changed_before, last.changed_after) == (expected.changed_before, expected.changed_after)


def test_a_state_goes_on_on_another_device(cpu, webgpu):
    """Moments are kept by parameter, not by how a device lays its memory out."""
    with open_model(cpu) as model:
        trainer = Trainer(model, batches(model, 0), [tokens(model, 99)], OPTIONS)
        while trainer.step < 4:
            trainer.advance()
        state = trainer.state()
        expected = [event.loss for event in trainer.run() if isinstance(event, StepEvent)]
        trainer.close()
    with open_model(webgpu) as model:
        trainer = Trainer(model, batches(model, 4), [tokens(model, 99)], OPTIONS)
        trainer.restore(state)
        found = [event.loss for event in trainer.run() if isinstance(event, StepEvent)]
        trainer.close()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_the_time_of_evaluations_is_still_known_after_an_interruption(cpu):
    """Otherwise the time left would leave them out until the next one."""
    with open_model(cpu) as model:
        trainer = Trainer(model, batches(model, 0), [tokens(model, 99)], OPTIONS)
        while trainer.step < 2:
            trainer.advance()
        state, seconds = trainer.state(), trainer._pace.evaluation_seconds
        trainer.close()
        trainer = Trainer(model, batches(model, 2), [tokens(model, 99)], OPTIONS)
        trainer.restore(state)
        trainer.close()
    assert trainer._pace.evaluation_seconds == seconds > 0
