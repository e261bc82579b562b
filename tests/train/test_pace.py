"""The time left, on a clock that the test plays."""

import pytest

from engine.model.step import StepResult
from engine.train.events import EvaluationEvent, FinishedEvent, StepEvent
from engine.train.fitted_step import FittedStep
from engine.train.trainer import Trainer
from tests.model.tiny import open_model
from tests.train.test_trainer import OPTIONS, tokens


class PlayedClock:
    """Goes on by what each step and each measured batch is said to take."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def played(cpu, monkeypatch):
    """A trainer whose steps and evaluations take played seconds: run(options, step, evaluation) gives its events,
    each with the moment at which it came."""

    def run(options, step_seconds, batch_seconds, batches=3):
        clock = PlayedClock()
        with open_model(cpu) as model:

            def step(self, batch, optimiser, number, insight):
                clock.now += step_seconds(number)
                return lambda: StepResult(1.0, 1.0, True)

            def losses(ids, counted):
                clock.now += batch_seconds
                return plain(ids, counted)

            plain = model.losses
            held_out = [tokens(model, seed) for seed in range(batches)]
            trainer = Trainer(model, lambda: tokens(model), held_out, options, clock=clock)
            with monkeypatch.context() as patch:
                patch.setattr(FittedStep, "run", step)
                patch.setattr(model, "losses", losses)
                timed = []
                while trainer.finished is None:
                    timed += [(clock.now, event) for event in trainer.advance()]
            trainer.close()
            return timed

    return run


@pytest.mark.parametrize("evaluation", [0.0, 0.5, 4.0], ids=["free", "cheap", "dear"])
@pytest.mark.parametrize("steps", [60, 137])
def test_after_20_steps_the_time_left_is_right_within_15_percent(steps, evaluation, played):
    """Steps vary by a fifth, the first one prepares kernels, and evaluations cost up to a third of the run."""
    options = OPTIONS.changed(steps=steps, evaluations=10)
    timed = played(options, lambda n: 9.0 if n == 1 else (0.8, 1.0, 1.2)[n % 3], evaluation)
    end = next(now for now, event in timed if isinstance(event, FinishedEvent))
    for now, event in timed:
        if isinstance(event, StepEvent) and event.step >= 20 and end - now > 2.0:
            assert event.seconds_left == pytest.approx(end - now, rel=0.15), event.step
    assert sum(isinstance(event, EvaluationEvent) for _, event in timed) >= 11  # and step 0


def test_a_run_by_the_clock_ends_in_time_with_ten_evaluations(played):
    options = OPTIONS.changed(steps=0, minutes=2.0, evaluations=10, schedule="cosine")
    timed = played(options, lambda n: 1.0, 0.2)
    start, end = timed[0][0], timed[-1][0]
    assert timed[-1][1].reason == "time is up"
    assert 110 <= end - start <= 122
    measured = [event.step for _, event in timed if isinstance(event, EvaluationEvent)]
    assert len(measured) >= 11 and measured[-1] == timed[-1][1].step
    steps = [event for _, event in timed if isinstance(event, StepEvent)]
    assert steps[-1].learning_rate < 0.08 * options.learning_rate  # the schedule follows the clock
    assert steps[-1].progress == pytest.approx(1.0, abs=0.03)
    for now, event in timed:
        if isinstance(event, StepEvent) and event.step >= 20 and end - now > 5:
            assert event.seconds_left == pytest.approx(end - now, rel=0.15)


def test_steps_and_minutes_end_at_what_comes_first(played):
    by_steps = played(OPTIONS.changed(steps=20, minutes=10.0), lambda n: 1.0, 0.1)
    assert by_steps[-1][1].reason == "all steps done" and by_steps[-1][1].step == 20
    by_time = played(OPTIONS.changed(steps=500, minutes=0.5), lambda n: 1.0, 0.1)
    assert by_time[-1][1].reason == "time is up" and 25 <= by_time[-1][1].step <= 30
