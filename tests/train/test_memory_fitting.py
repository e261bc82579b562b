"""A batch is cut to fit, and cut smaller where memory runs short: estimates hold, and nothing is lost."""

import numpy as np
import pytest
import wgpu

from engine.errors import DeviceError, MemoryCeilingError
from engine.model.blueprint import estimate_training
from engine.model.step import TrainingStep
from engine.train.events import FinishedEvent, NoteEvent, PlanEvent, StepEvent
from engine.train.memory_fitting import Fit, choices, fitting, smaller
from engine.train.options import TrainingOptions
from engine.train.trainer import Trainer
from tests.model.tiny import open_model
from tests.train.test_trainer import LENGTH, OPTIONS, of, tokens

MODES = ("full", "wsla", "lora", "vocabulary")
IDS = np.arange(0, 50, 3)


def test_the_fastest_cut_that_fits_is_taken():
    options = TrainingOptions(batch_size=12)
    cost = {Fit(12, 1): 120, Fit(6, 2): 60, Fit(4, 3): 40, Fit(3, 4): 30, Fit(2, 6): 20, Fit(1, 12): 10}
    cost |= {Fit(1, 12, 1): 8, Fit(1, 12, 2): 6, Fit(1, 12, 3): 4}
    assert choices(options, 3) == list(cost)
    for room, expected in (
        (500, Fit(12, 1)),
        (59, Fit(4, 3)),
        (10, Fit(1, 12)),
        (9, Fit(1, 12, 1)),
        (3, Fit(1, 12, 3)),
    ):
        assert fitting(options, 3, lambda fit: {"all": cost[fit]}, room) == expected
    assert choices(options.changed(micro_batch=4, recompute=2), 3) == [Fit(4, 3, 2), Fit(4, 3, 3)]


def test_a_smaller_cut_halves_the_parts_then_recomputes():
    options, fit, seen = TrainingOptions(batch_size=8), Fit(8, 1), []
    while (fit := smaller(fit, options, 4)) is not None:
        seen.append(fit)
    assert seen == [Fit(4, 2), Fit(2, 4), Fit(1, 8), Fit(1, 8, 2), Fit(1, 8, 4)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("batch", "parts", "recompute", "length", "measured"),
    [(2, 1, 0, LENGTH, 2), (4, 2, 1, 33, 8), (4, 4, 2, 70, 8)],
)
def test_the_estimate_is_the_peak_of_a_run_within_10_percent(
    mode, batch, parts, recompute, length, measured, fresh_device
):
    """Given before anything is allocated, evaluations counted in; the last two with more measured than trained."""
    with open_model(fresh_device) as model:
        more = {"token_ids": IDS, "recompute": recompute, "measured_rows": measured}
        shape = (batch // parts, length, parts, 2)
        estimate = estimate_training(model.config, fresh_device, mode, *shape, **more)
        options = OPTIONS.changed(mode=mode, rank=2, batch_size=batch, micro_batch=batch // parts, recompute=recompute)
        options = options.changed(steps=3, sequence_length=length, insight_interval=1)
        rows, held_out = tokens(model, rows=batch, length=length), tokens(model, 1, measured, length)
        trainer = Trainer(model, lambda: rows, [held_out], options, token_ids=IDS)
        list(trainer.run())
        trainer.close()
        assert fresh_device.ledger.snapshot().peak == pytest.approx(sum(estimate.values()), rel=0.1)


@pytest.mark.parametrize("error", [MemoryCeilingError("No memory.", ""), MemoryError()], ids=["ceiling", "system"])
def test_memory_that_is_short_from_the_start_begins_with_smaller_parts(error, cpu, monkeypatch):
    plain, asked = TrainingStep.__init__, []

    def refuse_large(self, network, device, trained, batch, *more):
        asked.append(batch)
        if batch > 1:
            raise error
        plain(self, network, device, trained, batch, *more)

    monkeypatch.setattr(TrainingStep, "__init__", refuse_large)
    with open_model(cpu) as model:
        trainer = Trainer(model, lambda: tokens(model, rows=4), [tokens(model)], OPTIONS.changed(batch_size=4))
        events = list(trainer.run())
        trainer.close()
    assert asked == [4, 2, 1] and isinstance(events[-1], FinishedEvent)
    assert of(events, PlanEvent)[0].micro_batches == 4


@pytest.mark.parametrize("error", [MemoryCeilingError("No memory.", "Buy some."), MemoryError()])
def test_memory_for_nothing_at_all_is_told_in_words(error, cpu, monkeypatch):
    """At the start, and on the way."""

    def refuse(self, *arguments, **more):
        raise error

    with open_model(cpu) as model:
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], OPTIONS)
        monkeypatch.setattr(TrainingStep, "__init__", refuse)
        with pytest.raises(MemoryCeilingError) as begun:
            Trainer(model, lambda: tokens(model), [tokens(model)], OPTIONS)
        monkeypatch.setattr(TrainingStep, "run", refuse)
        with pytest.raises(MemoryCeilingError) as on_the_way:
            list(trainer.run())
        trainer.close()
    assert begun.value.remedy and on_the_way.value.message == begun.value.message


def test_a_gpu_without_memory_is_told_apart_from_one_that_fails(fresh_webgpu, monkeypatch):
    """The trainer makes room for the one and ends with the other."""
    for error, kind in ((wgpu.GPUOutOfMemoryError("no room"), MemoryCeilingError), (wgpu.GPUError("odd"), DeviceError)):

        def refuse(*arguments, error=error, **more):
            raise error

        with monkeypatch.context() as patch, pytest.raises(kind, match="gives no"):
            patch.setattr(fresh_webgpu, "_raw_buffer", refuse)
            open_model(fresh_webgpu).__enter__()


def failing(monkeypatch, at, error):
    """Let the training step fail once, at the call with that number."""
    plain, calls = TrainingStep.run, []

    def run(self, *arguments, **more):
        calls.append(self.micro_batches)
        if len(calls) in at:
            raise error
        return plain(self, *arguments, **more)

    monkeypatch.setattr(TrainingStep, "run", run)
    return calls


@pytest.mark.parametrize("error", [MemoryCeilingError("No memory.", ""), MemoryError()], ids=["ceiling", "system"])
@pytest.mark.parametrize("mode", MODES)
def test_memory_that_runs_short_cuts_the_batch_and_goes_on(mode, error, cpu, monkeypatch):
    def run(at):
        with open_model(cpu) as model:
            options = OPTIONS.changed(mode=mode, rank=2, batch_size=4)
            calls = failing(monkeypatch, at, error)
            trainer = Trainer(model, lambda: tokens(model, rows=4), [tokens(model)], options, token_ids=IDS)
            events = list(trainer.run())
            trainer.close()
            return events, calls

    plain, _ = run(())
    monkeypatch.undo()
    events, calls = run((4, 5))
    notes = [note for note in of(events, NoteEvent) if note.cause == "memory"]
    assert "in 2 parts" in notes[0].text and "in 4 parts" in notes[1].text
    assert calls == [1, 1, 1, 1, 2] + [4] * 9  # the step that failed was done again
    assert isinstance(events[-1], FinishedEvent)
    losses, expected = ([step.loss for step in of(each, StepEvent)] for each in (events, plain))
    np.testing.assert_allclose(losses, expected, rtol=2e-3)  # moments and weights went on


def test_a_batch_that_cannot_be_cut_further_says_so_and_keeps_its_state(cpu, monkeypatch):
    with open_model(cpu) as model:
        options = OPTIONS.changed(batch_size=2)
        failing(monkeypatch, range(4, 100), MemoryCeilingError("No memory at all.", "Buy some."))
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], options)
        with pytest.raises(MemoryCeilingError, match="at all"):
            list(trainer.run())
        state = trainer.state()
        assert state.numbers.step == 3 and any(array.any() for name, array in state.arrays.items() if "moment" in name)
        trainer.close()


def test_evaluation_that_runs_short_makes_room_and_is_done_again(cpu, monkeypatch):
    with open_model(cpu) as model:
        trainer = Trainer(model, lambda: tokens(model, rows=4), [tokens(model)], OPTIONS.changed(batch_size=4))
        plain, left = model.losses, [1]

        def losses(*arguments):
            if left:
                left.pop()
                raise MemoryCeilingError("No memory.", "")
            return plain(*arguments)

        monkeypatch.setattr(model, "losses", losses)
        events = list(trainer.run())
        trainer.close()
        assert "in 2 parts" in of(events, NoteEvent)[0].text and isinstance(events[-1], FinishedEvent)


def test_a_low_ceiling_recomputes_layers_where_one_window_does_not_fit(cpu):
    with open_model(cpu) as model:
        options = OPTIONS.changed(batch_size=2, steps=2)
        held = sum(slab.nbytes for slab in model.weight_slabs)
        with_all = sum(model.estimate("full", 1, LENGTH, 2, recompute=2).values())
        without = sum(model.estimate("full", 1, LENGTH, 2).values())
        assert with_all < without
        model.losses(tokens(model).tokens, tokens(model).counted)  # what an evaluation holds
        cpu.ledger.ceiling = cpu.ledger.total - held + (with_all + without) // 2
        trainer = Trainer(model, lambda: tokens(model), [tokens(model)], options)
        events = list(trainer.run())
        trainer.close()
        assert events[0].recompute > 0 and events[0].micro_batch == 1
        assert events[-1].reason == "all steps done"
