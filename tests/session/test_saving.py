"""What a run writes on its way: progress in the background, snapshots for the timeline, and words where that fails."""

import math
import os
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError, MemoryCeilingError
from engine.model.step import TrainingStep
from engine.session import Session, SessionPlan, interrupted_runs, resume_session
from engine.session import session as session_module
from engine.train.evaluation import Measured
from engine.train.events import CheckpointEvent, EvaluationEvent, FinishedEvent, NoteEvent, StepEvent
from engine.train.saved_run import SavedRun, load_run, save_run
from engine.train.trainer_state import RunNumbers, TrainerState
from tests.session.small_repository import OPTIONS


def numbers(events):
    return [(e.step, e.loss) for e in events if isinstance(e, StepEvent)] + [
        (e.step, e.held_out_loss) for e in events if isinstance(e, EvaluationEvent)
    ]


def ran(session):
    try:
        return list(session.run())
    finally:
        session.close()


@pytest.fixture
def always(monkeypatch):
    """Progress is saved whenever the last saving is done."""
    monkeypatch.setattr(session_module, "SAVE_SECONDS", 0.0)


def test_progress_is_written_by_another_thread_and_at_the_first_evaluation(
    repository, data_folder, tiny_base, cpu, monkeypatch
):
    writers, plain = [], session_module.save_run

    def save(*arguments):
        writers.append(threading.current_thread())
        plain(*arguments)

    monkeypatch.setattr(session_module, "SAVE_SECONDS", math.inf)
    monkeypatch.setattr(session_module, "save_run", save)
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    while not session.trainer.step:
        session.advance()
    assert len(writers) == 1 and writers[0] is not threading.main_thread()
    (info,) = interrupted_runs(data_folder / "runs")
    assert (info.run, info.step, info.steps, info.mode) == (session.run_id, 0, 6, "full")
    assert info.root == str(repository) and info.base == tiny_base.id and not info.problem
    session.close()


def test_training_does_not_wait_for_the_disk(repository, data_folder, tiny_base, cpu, always, monkeypatch):
    """A disk that hangs holds up nothing but the next saving."""
    hang = threading.Event()
    calls = []

    def slow(*arguments):
        calls.append(1)
        hang.wait()

    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    while session.trainer.step < 1:
        session.advance()
    session._writer.wait()
    monkeypatch.setattr(session_module, "save_run", slow)
    try:
        while session.trainer.step < 5:
            session.advance()
        assert len(calls) == 1
    finally:
        hang.set()
        session.close()


class PlayedTime:
    """The session's clock, moved by the test."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


def test_progress_is_saved_at_least_every_60_seconds(repository, data_folder, tiny_base, cpu, monkeypatch):
    """With steps of two seconds and a disk that takes five."""
    clock, begun, plain = PlayedTime(), [], session_module.save_run
    monkeypatch.setattr(session_module, "time", clock)
    monkeypatch.setattr(session_module, "save_run", lambda *saved: (begun.append(clock.now), plain(*saved))[1])
    options = OPTIONS.changed(steps=100, evaluations=2)
    session = Session(SessionPlan(repository, data_folder, options, tiny_base.id), cpu)
    while not session.finished:
        at = session.trainer.step
        session.advance()
        session._writer.wait()
        clock.now += 2.0 * (session.trainer.step - at)
    session.close()
    on_disk = [moment + 5.0 for moment in begun]
    assert len(on_disk) >= 4 and all(b - a <= 60.0 for a, b in pairwise([*on_disk, 200.0]))


def test_a_run_that_stands_still_is_not_written_again(repository, data_folder, tiny_base, cpu, always, monkeypatch):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    while session.trainer.step < 2:
        session.advance()
    session.save_progress()
    monkeypatch.setattr(session_module, "save_run", lambda *saved: pytest.fail("nothing has changed"))
    session.pause()
    for _ in range(3):
        session.advance()
    session._writer.wait()
    session.close()
    assert session._writer.collect() == []


def test_a_batch_that_is_tried_again_is_not_lost_by_a_saving_between(
    repository, data_folder, tiny_base, cpu, always, monkeypatch
):
    """Memory runs short at step 4: what is saved then and gone on with gives the same losses."""
    plain, calls = TrainingStep.run, []

    def short_once(self, *arguments, **more):
        calls.append(1)
        if len(calls) == 4:
            raise MemoryCeilingError("No memory.", "")
        return plain(self, *arguments, **more)

    monkeypatch.setattr(TrainingStep, "run", short_once)
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    first = []
    while not any(isinstance(event, NoteEvent) and event.cause == "memory" for event in first):
        first += session.advance()
        session._writer.wait()
    session.close()  # as if it had been killed right after that
    second = ran(resume_session(session.run_id, data_folder, lambda: cpu))
    monkeypatch.setattr(TrainingStep, "run", plain)
    whole = ran(Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu))
    found = {e.step: e.loss for e in [*first, *second] if isinstance(e, StepEvent)}
    expected = {e.step: e.loss for e in whole if isinstance(e, StepEvent)}
    np.testing.assert_allclose([found[step] for step in expected], list(expected.values()), rtol=1e-4)


def test_a_changed_duty_cycle_is_kept(repository, data_folder, tiny_base, cpu):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    session.set_duty_cycle(0.3)
    session.save_progress()
    session.close()
    again = resume_session(session.run_id, data_folder, lambda: cpu)
    assert again.options.duty_cycle == again.trainer.options.duty_cycle == 0.3
    again.close()


@pytest.mark.parametrize("mode", ["full", "lora", "vocabulary"])
def test_a_run_that_was_killed_goes_on_with_the_same_losses_and_history(
    mode, repository, data_folder, tiny_base, cpu, always
):
    options = OPTIONS.changed(mode=mode, rank=2)
    plan = SessionPlan(repository, data_folder, options, tiny_base.id, timeline=2)
    whole = ran(Session(plan, cpu))
    session = Session(plan, cpu)
    first = []
    while session.trainer.step < 4:
        first += session.advance()
        session._writer.wait()
    session.close()
    saved = load_run(data_folder / "runs", session.run_id)
    assert saved.state.numbers.step in (3, 4)
    first = [event for event in first if getattr(event, "step", 0) <= saved.state.numbers.step]
    second = ran(resume_session(session.run_id, data_folder, lambda: cpu))
    found, expected = dict.fromkeys(numbers(first + second)), dict.fromkeys(numbers(whole))
    assert sorted(found) == sorted(expected)
    assert second[-1].event == whole[-1].event
    if isinstance(second[-1], CheckpointEvent):
        store = CheckpointStore(data_folder / "checkpoints")
        lines = store.history(second[-1].checkpoint)
        assert [line["step"] for line in lines if line["event"] == "step"] == [1, 2, 3, 4, 5, 6]
        a, b = (store.load_parameters(each[-1].checkpoint) for each in (whole, second))
        assert all(np.array_equal(a[name], b[name]) for name in a)


def test_an_incremental_run_goes_on_with_the_same_files(repository, data_folder, tiny_base, cpu, always):
    options = OPTIONS.changed(skip_below=0.0)
    plan = SessionPlan(repository, data_folder, options, tiny_base.id, changed=("age.py", "tax.py", "size.py"))
    whole = ran(Session(plan, cpu))
    session = Session(plan, cpu)
    while session.trainer.step < 3:
        session.advance()
    session.save_progress()
    session.close()
    second = ran(resume_session(session.run_id, data_folder, lambda: cpu))
    assert set(numbers(second)) <= set(numbers(whole)) and len(numbers(second)) >= 5
    ends = [next(e for e in events if isinstance(e, FinishedEvent)) for events in (whole, second)]
    assert ends[0].changed_after == ends[1].changed_after and ends[0].changed_files == ends[1].changed_files


@pytest.mark.parametrize("mode", ["wsla", "full"])
def test_snapshots_are_kept_along_a_run(mode, repository, data_folder, tiny_base, cpu):
    options = OPTIONS.changed(mode=mode, steps=12, evaluations=12)
    events = ran(Session(SessionPlan(repository, data_folder, options, tiny_base.id, timeline=4), cpu))
    snapshots = [e for e in events if isinstance(e, CheckpointEvent) and e.timeline]
    assert [e.step for e in snapshots] == [3, 6, 9]  # and the result
    store = CheckpointStore(data_folder / "checkpoints")
    result = store.get(events[-1].checkpoint)
    for event in snapshots:
        manifest = store.get(event.checkpoint)
        assert manifest.tags == ("timeline",) and manifest.run == result.run and manifest.step == event.step
        assert manifest.kind == ("delta" if mode == "wsla" else "whole") and store.verify(manifest.id) == []
        measured = next(e for e in events if isinstance(e, EvaluationEvent) and e.step == event.step)
        assert manifest.metrics["held_out_loss"] == measured.held_out_loss
    weights = [store.load_parameters(e.checkpoint)["backbone.layers.0.mixer.x_proj.weight"] for e in snapshots]
    assert not np.array_equal(weights[0], weights[1]) and not np.array_equal(weights[1], weights[2])


def test_snapshots_of_a_run_that_came_to_nothing_go_to_the_trash(repository, data_folder, tiny_base, cpu):
    good = ran(Session(SessionPlan(repository, data_folder, OPTIONS.changed(steps=40), tiny_base.id), cpu))[-1]
    options = OPTIONS.changed(learning_rate=1.0, warm_up=0, steps=8, evaluations=8)
    events = ran(Session(SessionPlan(repository, data_folder, options, good.checkpoint, timeline=4), cpu))
    finished = next(e for e in events if isinstance(e, FinishedEvent))
    assert finished.rolled_back and any(isinstance(e, CheckpointEvent) for e in events)
    assert {m.id for m in CheckpointStore(data_folder / "checkpoints").list()} == {tiny_base.id, good.checkpoint}


def test_a_saving_that_fails_is_a_note_once_and_training_goes_on(
    repository, data_folder, tiny_base, cpu, always, monkeypatch
):
    def full(*arguments):
        raise CheckpointError("The progress cannot be saved: the disk is full.", "Make room.")

    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    events = []
    while session.trainer.step < 1:
        events += session.advance()
    monkeypatch.setattr(session_module, "save_run", full)
    while not session.finished:
        events += session.advance()
        session._writer.wait()
    session.close()
    notes = [e.text for e in events if isinstance(e, NoteEvent) and e.cause == "saving"]
    assert notes == ["The progress cannot be saved: the disk is full. Make room."]
    assert isinstance(events[-1], CheckpointEvent)


def test_a_result_that_cannot_be_kept_is_tried_again(repository, data_folder, tiny_base, cpu, monkeypatch):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    plain, left = session._results.save_result, [1]

    def save(*arguments):
        if left:
            left.pop()
            raise CheckpointError("The disk is full.", "Make room.")
        return plain(*arguments)

    monkeypatch.setattr(session._results, "save_result", save)
    with pytest.raises(CheckpointError, match="full"):
        list(session.run())
    assert session.can_resume and not session.finished
    events = list(session.run())
    assert isinstance(events[-1], CheckpointEvent) and session.finished
    session.close()


def test_a_result_that_was_kept_before_the_kill_is_not_kept_twice(repository, data_folder, tiny_base, cpu, monkeypatch):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    monkeypatch.setattr(session_module, "forget_run", lambda *arguments: None)  # killed right before
    first = ran(session)[-1]
    monkeypatch.undo()
    again = ran(resume_session(session.run_id, data_folder, lambda: cpu))[-1]
    assert isinstance(first, CheckpointEvent) and again.checkpoint == first.checkpoint
    assert interrupted_runs(data_folder / "runs") == []


# ---- the file


def small_run():
    arrays = {
        "now.a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "ids": np.arange(4, dtype=np.int32),
        "none": np.zeros((0, 3), np.float32),
    }
    state = TrainerState(arrays, RunNumbers(step=3, best_measured=(Measured((1.5,), (4,)),), health={"told": []}))
    history = ({"event": "step", "loss": 1.5},)
    return SavedRun("abc123", "/somewhere", "f" * 32, OPTIONS, {"epoch": 1}, state, {"timeline": 2}, history)


def test_a_saved_run_comes_back_as_it_was(tmp_path):
    run = small_run()
    save_run(tmp_path, run)
    again = load_run(tmp_path, "abc123")
    for name, array in run.state.arrays.items():
        assert again.state.arrays[name].dtype == array.dtype and np.array_equal(again.state.arrays[name], array)
    assert (again.options, again.cursor, again.more, again.history) == (run.options, run.cursor, run.more, run.history)
    assert again.state.numbers == run.state.numbers and list(tmp_path.iterdir()) == [tmp_path / "abc123.safetensors"]


def test_a_saved_run_is_the_old_one_until_the_new_one_is_whole(tmp_path, monkeypatch):
    """The only moment at which the file changes is the rename."""
    save_run(tmp_path, small_run())
    newer = replace(small_run(), cursor={"epoch": 2})

    def refuse(*arguments):
        raise OSError(5, "Input/output error")

    for call in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, refuse)
            with pytest.raises(CheckpointError, match="Input/output error"):
                save_run(tmp_path, newer)
        assert load_run(tmp_path, "abc123").cursor == {"epoch": 1}
        assert list(tmp_path.iterdir()) == [tmp_path / "abc123.safetensors"]


def test_any_flipped_bit_is_refused_by_name(tmp_path):
    save_run(tmp_path, small_run())
    path = tmp_path / "abc123.safetensors"
    good = path.read_bytes()
    for place in range(0, len(good), 7):
        damaged = bytearray(good)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"abc123\.safetensors is damaged"):
            load_run(tmp_path, "abc123")
    for length in (0, 4, 100, len(good) - 1):
        path.write_bytes(good[:length])
        with pytest.raises(CheckpointError, match="damaged"):
            load_run(tmp_path, "abc123")
        assert interrupted_runs(tmp_path)[0].run == "abc123"


def test_a_name_that_leaves_the_folder_is_refused(tmp_path):
    for name in ("../other", "", "a/b", "."):
        with pytest.raises(CheckpointError, match="not the name of a run"):
            load_run(tmp_path, name)
