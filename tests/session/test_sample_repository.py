"""The modes that train little, with the model and the project that come with the program."""

from pathlib import Path

import pytest

from engine.model.starter import starter_place
from engine.session import Session, SessionPlan
from engine.train.events import FinishedEvent
from engine.train.options import TrainingOptions

SAMPLE = Path(__file__).parents[2] / "resources" / "sample_repository"


@pytest.mark.parametrize("mode", ["wsla", "lora"])
def test_a_few_steps_lower_held_out_loss_on_the_sample_repository(mode, data_folder, cpu):
    options = TrainingOptions(mode, steps=16, batch_size=2, sequence_length=128, warm_up=2, evaluations=2)
    session = Session(SessionPlan(SAMPLE, data_folder, options, str(starter_place())), cpu)
    try:
        (finished,) = [event for event in session.run() if isinstance(event, FinishedEvent)]
    finally:
        session.close()
    assert not finished.rolled_back and finished.held_out_after < finished.held_out_before - 0.01
