"""Pause, stop and rest: at once, also in the middle of an evaluation, and nothing is lost by it."""

import threading

import numpy as np
import pytest

from engine.train import trainer as trainer_module
from engine.train.evaluation import Evaluation
from engine.train.events import EvaluationEvent, FinishedEvent, PlanEvent
from engine.train.fitted_step import FittedStep
from engine.train.trainer import Trainer
from tests.model.tiny import open_model
from tests.train.test_trainer import OPTIONS, of, tokens


def trainer_of(model, options=OPTIONS, batches=4, **more):
    return Trainer(model, lambda: tokens(model), [tokens(model, seed) for seed in range(batches)], options, **more)


def test_an_evaluation_is_done_a_batch_at_a_time(cpu):
    with open_model(cpu) as model:
        trainer = trainer_of(model, batches=5)
        assert isinstance(trainer.advance()[0], PlanEvent)
        calls = 0
        while not (events := trainer.advance()):
            calls += 1
        assert calls == 5 and isinstance(events[0], EvaluationEvent)
        whole = np.mean([model.losses(tokens(model, seed).tokens).mean() for seed in range(5)])
        assert events[0].held_out_loss == pytest.approx(whole, rel=1e-5)
        trainer.close()


def test_a_pause_in_an_evaluation_stops_it_and_goes_on_with_the_same_result(cpu):
    with open_model(cpu) as model:
        trainer = trainer_of(model)
        plain = list(trainer.run())
        trainer.close()
    with open_model(cpu) as model:
        trainer = trainer_of(model)
        events = trainer.advance() + trainer.advance() + trainer.advance()  # plan, two of four batches
        trainer.pause()
        assert trainer.paused and trainer.advance() == [] and trainer._evaluation is not None
        trainer.resume()
        events += list(trainer.run())
        trainer.close()
    assert [e.held_out_loss for e in of(events, EvaluationEvent)] == [
        e.held_out_loss for e in of(plain, EvaluationEvent)
    ]


def test_a_stop_in_an_evaluation_judges_by_the_part_that_was_measured(cpu, monkeypatch):
    """The batches that were measured are held against the same ones of the best weights."""
    monkeypatch.setattr(trainer_module, "STOP_SECONDS", 0.0)
    with open_model(cpu) as model:
        trainer = trainer_of(model, OPTIONS.changed(evaluations=1))
        events = []
        while trainer.step < 12 or not trainer._evaluation or len(trainer._evaluation.measured[0].sums) < 2:
            events += trainer.advance()
        first = [model.losses(tokens(model, seed).tokens).sum() for seed in range(2)]
        trainer.stop()
        events += list(trainer.run())
        last = of(events, EvaluationEvent)[-1]
        assert last.partial and last.step == 12 and isinstance(events[-1], FinishedEvent)
        begin = trainer._numbers.best_measured[0]
        expected = begin.loss + (sum(first) - sum(begin.sums[:2])) / sum(begin.counts[:2])
        assert last.held_out_loss == pytest.approx(expected, rel=1e-6)
        assert events[-1].held_out_after == pytest.approx(min(expected, events[-1].held_out_before))
        trainer.close()


def test_a_stop_before_anything_was_measured_ends_at_step_0(cpu):
    with open_model(cpu) as model:
        before = {name: model.parameters[name] for name in model.parameters}
        trainer = trainer_of(model)
        trainer.stop()
        events = list(trainer.run())
        trainer.close()
        assert [type(event) for event in events] == [PlanEvent, FinishedEvent]
        assert events[-1].step == 0 and events[-1].to_json()["held_out_before"] is None
        assert all(np.array_equal(model.parameters[name], array) for name, array in before.items())


def test_a_rest_is_left_for_a_stop(cpu, monkeypatch):
    """At a duty cycle of 10 % a slow step rests for long; a stop does not wait for that."""
    with open_model(cpu) as model:
        trainer = trainer_of(model, OPTIONS.changed(duty_cycle=0.1, evaluations=1))
        while trainer.step < 1:
            trainer.advance()
        assert trainer._rest > 0
        trainer._rest = 3600.0
        resting, wait = threading.Event(), trainer._wake.wait

        def rest(seconds):
            resting.set()
            return wait(seconds)

        monkeypatch.setattr(trainer._wake, "wait", rest)
        stopping = threading.Thread(target=lambda: (resting.wait(), trainer.stop()))
        stopping.start()
        events = list(trainer.run())
        stopping.join()
        trainer.close()
        assert events[-1].reason == "stopped" and events[-1].step == 1


class PlayedClock:
    """Work takes as long as it is told to, rest as long as it lasts."""

    def __init__(self, monkeypatch, step, batch):
        self.now = self.rested = 0.0
        plain_step, plain_batch = FittedStep.run, Evaluation.advance

        def run(bench, *arguments):
            self.now += step
            return plain_step(bench, *arguments)

        def advance(evaluation):
            self.now += batch
            return plain_batch(evaluation)

        monkeypatch.setattr(FittedStep, "run", run)
        monkeypatch.setattr(Evaluation, "advance", advance)

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds
        self.rested += seconds


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_a_duty_cycle_leaves_the_machine_to_others_for_its_share(share, cpu, monkeypatch):
    """Over the whole run, evaluations counted in."""
    clock = PlayedClock(monkeypatch, step=0.4, batch=0.2)
    with open_model(cpu) as model:
        trainer = trainer_of(model, OPTIONS.changed(duty_cycle=share, steps=8), clock=clock)
        monkeypatch.setattr(trainer._wake, "wait", clock.wait)
        list(trainer.run())
        trainer.close()
    assert 1 - clock.rested / clock.now == pytest.approx(share, rel=0.05)


@pytest.mark.parametrize("during", ["a step", "an evaluation"])
def test_a_stop_ends_the_run_within_a_second(during, cpu, monkeypatch):
    """With steps and batches as long as the starter has them: a step may be running, and one batch is measured."""
    clock = PlayedClock(monkeypatch, step=0.6, batch=0.3)
    with open_model(cpu) as model:
        trainer = trainer_of(model, OPTIONS.changed(evaluations=2), clock=clock, batches=20)
        while trainer.step < (3 if during == "a step" else 6) or (during != "a step" and not trainer._evaluation):
            trainer.advance()
        trainer.stop()
        asked = clock.now
        if during == "a step":
            asked -= 0.6  # it came when the step had just begun
            trainer._stopped_at = asked
        events = list(trainer.run())
        trainer.close()
    assert clock.now - asked < 1.0
    assert events[-1].reason == "stopped" and of(events, EvaluationEvent)[-1].partial


def test_insight_comes_every_so_many_steps(device):
    from engine.train.events import LayerEvent

    with open_model(device) as model:
        trainer = trainer_of(model, OPTIONS.changed(insight_interval=5), batches=1)
        events = list(trainer.run())
        trainer.close()
        looks = of(events, LayerEvent)
        assert [look.step for look in looks] == [5, 10]
        assert [layer.layer for layer in looks[0].layers] == [0, 1]
        line = looks[0].to_json()
        assert line["event"] == "layers" and line["layers"][1]["gradient_rms"] > 0
