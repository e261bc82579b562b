"""A run that is interrupted and goes on gives the same as one that never was."""

import json
from itertools import count

import numpy as np
import pytest

from engine.errors import InputError
from engine.train.events import EvaluationEvent, StepEvent
from engine.train.trainer import Trainer, TrainerState
from tests.model.tiny import open_model
from tests.train.test_trainer import OPTIONS, tokens


def batches(model, first: int):
    """A source of batches that starts at batch number `first`."""
    numbers = count(first)
    return lambda: tokens(model, next(numbers))


def numbers_of(events):
    kept = [(e.event, e.step, e.loss) for e in events if isinstance(e, StepEvent)]
    return kept + [(e.event, e.step, e.held_out_loss) for e in events if isinstance(e, EvaluationEvent)]


@pytest.mark.parametrize("mode", ["full", "wsla", "lora"])
@pytest.mark.parametrize("cut", [1, 5, 6])
def test_resumed_equals_uninterrupted(mode, cut, device):
    options = OPTIONS.changed(mode=mode, rank=2)
    with open_model(device) as model:
        trainer = Trainer(model, batches(model, 0), [tokens(model, 99)], options)
        whole = list(trainer.run())
        end = {name: model.parameters[name] for name in model.parameters}
        trainer.close()
    with open_model(device) as model:
        trainer = Trainer(model, batches(model, 0), [tokens(model, 99)], options)
        first = []
        while trainer.step < cut:
            first += trainer.advance()
        state = trainer.state()
        state = TrainerState({k: v.copy() for k, v in state.arrays.items()}, json.loads(json.dumps(state.numbers)))
        trainer.close()
    with open_model(device) as model:
        trainer = Trainer(model, batches(model, cut), [tokens(model, 99)], options)
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
        with pytest.raises(InputError, match="does not fit"):
            trainer.restore(state)
        trainer.close()
