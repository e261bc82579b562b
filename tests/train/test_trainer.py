"""The training loop on a tiny model: evaluation, the best weights, roll-back, guards, pause and stop."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from engine.errors import InputError
from engine.model.step import StepResult
from engine.train.evaluation import Evaluation
from engine.train.events import EvaluationEvent, FinishedEvent, NoteEvent, PlanEvent, StepEvent
from engine.train.fitted_step import FittedStep
from engine.train.options import EARLY_EVALUATION, TrainingOptions
from engine.train.trainer import Trainer
from tests.model.tiny import open_model

LENGTH, BATCH = 16, 2
OPTIONS = TrainingOptions(
    mode="full", steps=12, batch_size=BATCH, sequence_length=LENGTH, learning_rate=1e-2, warm_up=2, evaluations=4
)


@dataclass(frozen=True)
class Tokens:
    tokens: np.ndarray
    counted: np.ndarray


def tokens(model, seed: int = 0, rows: int = BATCH, length: int = LENGTH) -> Tokens:
    drawn = np.random.default_rng(seed).integers(0, model.config.vocab_size, (rows, length + 1), dtype=np.int32)
    return Tokens(drawn, np.full(rows, length))


def trained(model, options, train_on=0, measure_on=0):
    """All events of a run that repeats one batch."""
    trainer = Trainer(model, lambda: tokens(model, train_on), [tokens(model, measure_on)], options)
    try:
        return list(trainer.run())
    finally:
        trainer.close()


def loss_of(model, measure_on=0):
    """The held-out loss of the weights as they are now."""
    evaluation = Evaluation(model, [[tokens(model, measure_on)]])
    while not evaluation.advance():
        pass
    return evaluation.measured[0].loss


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_a_run_plans_evaluates_before_and_regularly_and_ends_with_the_best(device):
    with open_model(device) as model:
        events = trained(model, OPTIONS)
        assert isinstance(events[0], PlanEvent)
        assert [e.step for e in of(events, EvaluationEvent)] == [0, 3, 6, 9, 12]
        assert [e.step for e in of(events, StepEvent)] == list(range(1, 13))
        finished = events[-1]
        assert isinstance(finished, FinishedEvent) and finished.reason == "all steps done"
        assert finished.held_out_after < finished.held_out_before and not finished.rolled_back
        assert loss_of(model) == pytest.approx(finished.held_out_after, rel=1e-5)


def test_training_that_makes_held_out_code_worse_ends_with_the_starting_weights(device):
    with open_model(device) as model:
        before = {name: model.parameters[name] for name in model.parameters}
        events = trained(model, OPTIONS.changed(learning_rate=0.5, warm_up=0), train_on=1, measure_on=2)
        assert events[-1].rolled_back and events[-1].best_step == 0
        assert any("starting weights" in note.text for note in of(events, NoteEvent))
        for name, array in before.items():
            assert np.array_equal(model.parameters[name], array), name


@pytest.mark.parametrize("mode", ["wsla", "lora"])
def test_a_mode_changes_only_what_it_trains(mode, cpu):
    with open_model(cpu) as model:
        before = {name: model.parameters[name] for name in model.parameters}
        events = trained(model, OPTIONS.changed(mode=mode, rank=2))
        assert not events[-1].rolled_back
        rows = slice(model.config.time_step_rank, None)
        for name, array in before.items():
            now = model.parameters[name]
            if mode == "wsla" and name.endswith("x_proj.weight"):
                assert not np.array_equal(now[rows], array[rows])
                now[rows] = array[rows]
            assert np.array_equal(now, array), name


def test_early_stopping_says_so(cpu):
    with open_model(cpu) as model:
        options = OPTIONS.changed(patience=1, learning_rate=0.5, warm_up=0)
        events = trained(model, options, train_on=1, measure_on=2)
        assert events[-1].reason == "no longer improving" and events[-1].step < options.steps
        assert any("over-fitting" in note.text for note in of(events, NoteEvent))


def test_numbers_that_are_not_finite_are_skipped_then_roll_back(device):
    with open_model(device) as model:
        name = "backbone.norm_f.weight"
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], OPTIONS)
        try:
            events = [event for _ in range(2) for event in trainer.advance()]  # plan and first evaluation
            whole = model.parameters[name]
            model.parameters[name] = np.full_like(whole, np.nan)
            while trainer.finished is None:
                events += trainer.advance()
        finally:
            trainer.close()
        steps = of(events, StepEvent)
        assert [step.applied for step in steps] == [False] * 3
        assert events[-1].rolled_back and "not finite" in events[-1].reason
        assert np.array_equal(model.parameters[name], whole)


def skipping(monkeypatch, *numbers):
    """Let these steps come back with numbers that are not finite."""
    plain = FittedStep.run

    def run(bench, batch, optimiser, number, insight):
        if number in numbers:
            return lambda: StepResult(np.nan, np.inf, False)
        return plain(bench, batch, optimiser, number, insight)

    monkeypatch.setattr(FittedStep, "run", run)


def test_each_step_that_is_skipped_halves_the_rate_and_one_that_is_not_begins_the_count_anew(cpu, monkeypatch):
    skipping(monkeypatch, 2, 3, 5, 6)
    with open_model(cpu) as model:
        events = trained(model, OPTIONS.changed(schedule="constant", warm_up=0))
    shares = [step.learning_rate / OPTIONS.learning_rate for step in of(events, StepEvent)]
    assert shares == [1, 1, 1 / 2, 1 / 4, 1 / 4, 1 / 8] + [1 / 16] * 6
    assert [note.step for note in of(events, NoteEvent) if note.cause == "not finite"] == [2, 3, 5, 6]
    assert events[-1].reason == "all steps done"


def test_three_skipped_steps_in_a_row_end_with_the_best_weights_before_them(cpu, monkeypatch):
    skipping(monkeypatch, 4, 5, 6)
    with open_model(cpu) as model:
        events = trained(model, OPTIONS)
        assert events[-1].step == 6 and events[-1].best_step == 3 and "not finite" in events[-1].reason
        assert loss_of(model) == of(events, EvaluationEvent)[1].held_out_loss < events[-1].held_out_before


def test_held_out_loss_that_is_not_finite_is_never_the_best(cpu, monkeypatch):
    with open_model(cpu) as model:
        before, plain = dict(model.parameters), model.losses
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], OPTIONS)
        monkeypatch.setattr(model, "losses", lambda *given: plain(*given) * (np.nan if trainer.step else 1.0))
        events = list(trainer.run())
        trainer.close()
        assert not any(event.best for event in of(events, EvaluationEvent) if event.step)
        assert events[-1].rolled_back and events[-1].held_out_after == events[-1].held_out_before
        assert all(np.array_equal(model.parameters[name], array) for name, array in before.items())


def test_stop_ends_after_the_running_step_and_keeps_the_best(cpu):
    with open_model(cpu) as model:
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], OPTIONS)
        events = []
        for event in trainer.run():
            events.append(event)
            if isinstance(event, StepEvent) and event.step == 5:
                trainer.stop()
        trainer.close()
        assert events[-1].reason == "stopped" and events[-1].step == 5 and events[-1].best_step == 5


def test_a_pause_takes_no_step_and_resume_goes_on(cpu):
    with open_model(cpu) as model:
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], OPTIONS)
        running = trainer.run()
        assert isinstance(next(running), PlanEvent)
        trainer.pause()
        assert trainer.paused
        trainer.resume()
        assert isinstance(list(running)[-1], FinishedEvent)
        trainer.close()


def test_a_low_ceiling_makes_the_micro_batch_smaller_instead_of_failing(cpu):
    with open_model(cpu) as model:
        options = OPTIONS.changed(batch_size=8, steps=1)
        whole = sum(model.estimate("full", 8, LENGTH).values())
        smaller = sum(model.estimate("full", 2, LENGTH, 4).values())
        assert smaller < whole
        cpu.ledger.ceiling = smaller + 100_000  # and some for the evaluation
        events = trained_with(model, options)
        assert 1 < events[0].micro_batches <= 4
        assert isinstance(events[-1], FinishedEvent)


def trained_with(model, options):
    trainer = Trainer(model, lambda: tokens(model, rows=options.batch_size), [tokens(model)], options)
    try:
        return list(trainer.run())
    finally:
        trainer.close()


def test_nothing_held_out_is_an_error_with_a_remedy(cpu):
    with open_model(cpu) as model:
        trainer = Trainer(model, lambda: tokens(model), [], OPTIONS)
        with pytest.raises(InputError, match="held-out"):
            list(trainer.run())
        trainer.close()


def test_events_are_one_line_of_json_each():
    line = StepEvent(3, float("nan"), 1e-3, 1.0, 10.0, 2.0, {"weights": 5}, False).to_json()
    assert line["event"] == "step" and line["loss"] is None and line["memory"] == {"weights": 5}


def test_the_rate_rises_then_follows_its_schedule():
    options = TrainingOptions(steps=100, warm_up=10, learning_rate=1.0, schedule="cosine")
    rates = [options.rate_at(step) for step in range(1, 101)]
    assert rates[:10] == pytest.approx([i / 10 for i in range(1, 11)])
    assert all(a >= b for a, b in pairwise(rates[9:]))
    assert rates[-1] == pytest.approx(0.05)
    constant = options.changed(schedule="constant")
    assert constant.rate_at(100) == 1.0
    linear = options.changed(schedule="linear")
    assert linear.rate_at(55) == pytest.approx(0.05 + 0.95 * 0.5)


def test_a_long_run_by_the_clock_has_an_early_evaluation(cpu):
    """There was nothing to see for the first tenth of the time."""
    with open_model(cpu) as model:
        options = OPTIONS.changed(steps=0, minutes=1000.0, evaluations=10)
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], options)
        events = []
        while trainer.step <= EARLY_EVALUATION + 1:
            events += trainer.advance()
        trainer.close()
    assert [event.step for event in of(events, EvaluationEvent)] == [0, EARLY_EVALUATION]
