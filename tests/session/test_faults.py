"""What can go wrong around a run: each has a clear message, and nothing is lost."""

import errno
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from engine import atomic_file
from engine.checkpoints.store import writing
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError, CodecoilError, CorpusError, DeviceError, DeviceLostError, InputError
from engine.model.step import TrainingStep
from engine.session import Session, SessionPlan, interrupted_runs, resume_session
from engine.session import session as session_module
from engine.train import saved_run
from engine.train.events import CheckpointEvent, NoteEvent, StepEvent
from tests.session.small_repository import OPTIONS, save_base


def ran(session):
    try:
        return list(session.run())
    finally:
        session.close()


def stopped_at(session, step):
    """Advance to a step, save, and close: a run that was interrupted there."""
    events = []
    while session.trainer.step < step:
        events += session.advance()
    session.save_progress()
    session.close()
    return events


# ---- the disk


@pytest.fixture
def failing_disk(monkeypatch):
    """From now on every file that is created fails in the way that is named."""

    def fail(number):
        def refuse(*arguments, **more):
            raise OSError(number, os.strerror(number), "a file")

        monkeypatch.setattr(writing.Disk, "create", refuse)

        def refuse_kept(path, *arguments, **more):
            if path.parent.name.startswith("codecoil-"):  # a folder of the system's, thrown away afterwards
                return open(path, *arguments, **more)
            return refuse()

        monkeypatch.setattr(atomic_file, "open", refuse_kept, raising=False)

    return fail


@pytest.mark.parametrize(
    ("number", "progress", "result"),
    [
        (errno.ENOSPC, "No space left", "the disk is full"),
        (errno.EROFS, "Read-only file system", "permission"),
    ],
    ids=["full", "read-only"],
)
def test_a_disk_that_refuses_is_told_and_nothing_is_lost(
    number, progress, result, repository, data_folder, tiny_base, cpu, failing_disk, monkeypatch
):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    while session.trainer.step < 2:
        session.advance()
    session.save_progress()
    monkeypatch.setattr(session_module, "SAVE_SECONDS", 0.0)
    failing_disk(number)
    events = []
    with pytest.raises(CheckpointError, match=result) as refused:
        while not session.finished:
            events += session.advance()
            session._writer.wait()
    assert refused.value.remedy
    assert any(progress in e.text and "intact" in e.text for e in events if isinstance(e, NoteEvent))
    session.close()
    monkeypatch.undo()
    monkeypatch.setattr("engine.session.bases.starter_folder", lambda: None)
    monkeypatch.setenv("CODECOIL_DATA", str(data_folder))
    store = CheckpointStore(data_folder / "checkpoints")
    assert [m.id for m in store.list()] == [tiny_base.id] and store.verify(tiny_base.id) == []
    again = ran(resume_session(session.run_id, data_folder, lambda: cpu))  # room was made
    assert isinstance(again[-1], CheckpointEvent)


def test_a_data_folder_that_cannot_be_written_refuses_before_training(repository, tmp_path, cpu, failing_disk):
    failing_disk(errno.EROFS)
    with pytest.raises(CheckpointError, match="permission"):
        Session(SessionPlan(repository, tmp_path / "locked", OPTIONS), cpu)
    assert cpu.ledger.total == 0


def test_a_data_folder_that_became_read_only_refuses_before_training(
    repository, data_folder, tiny_base, cpu, monkeypatch
):
    """Where the base is in the store already, nothing needs to be written before the first step."""

    def refuse(*arguments, **more):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(saved_run.tempfile, "TemporaryFile", refuse)
    with pytest.raises(CheckpointError, match="Read-only file system") as refused:
        Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    assert refused.value.remedy and cpu.ledger.total == 0


@contextmanager
def largest_file(nbytes):
    """No file of this process may grow beyond `nbytes`: like a quota, nothing that shows as free space."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("reserves", [True, False], ids=["reserved", "written"])
def test_a_disk_without_room_for_the_run_refuses_before_training(
    reserves, repository, data_folder, tiny_base, cpu, monkeypatch
):
    if not reserves:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    with largest_file(100_000), pytest.raises(CheckpointError, match=re.escape(str(data_folder / "runs"))) as refused:
        Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    assert refused.value.remedy and cpu.ledger.total == 0 and not any((data_folder / "runs").iterdir())


def test_a_disk_that_is_full_at_the_first_saving_ends_the_run_before_its_first_step(
    repository, data_folder, tiny_base, cpu, monkeypatch
):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    monkeypatch.setattr(atomic_file.os, "replace", lambda *names: refuse_writing())
    with pytest.raises(CheckpointError, match="No space left"):
        list(session.run())
    assert session.trainer.step == 0 and not session.can_resume
    session.close()


def refuse_writing():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---- the repository


def test_a_repository_that_shrinks_to_nothing_is_refused_by_name(repository, data_folder, tiny_base, cpu):
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    session = Session(plan, cpu)
    events = []
    while session.trainer.step < 3:
        events += session.advance()
    session.save_progress()
    for path in repository.iterdir():
        path.unlink()
    while session.trainer.step < 5:
        session.advance()  # what was read is read
    session.close()
    for again in (lambda: Session(plan, cpu), lambda: resume_session(session.run_id, data_folder, lambda: cpu)):
        with pytest.raises(CorpusError, match=str(repository)):
            again()
        assert cpu.ledger.total == 0
    shutil.rmtree(repository)
    with pytest.raises(CodecoilError, match=str(repository)):
        resume_session(session.run_id, data_folder, lambda: cpu)


def test_files_that_changed_meanwhile_go_on_with_a_note(repository, data_folder, tiny_base, cpu):
    session = Session(SessionPlan(repository, data_folder, OPTIONS.changed(mode="vocabulary"), tiny_base.id), cpu)
    stopped_at(session, 3)
    (repository / "age.py").write_text("def other():\n    return 'something else'\n" * 30)
    events = ran(resume_session(session.run_id, data_folder, lambda: cpu))
    assert "changed since the run was saved" in events[0].text
    assert [e.step for e in events if isinstance(e, StepEvent)] == [4, 5, 6]


# ---- what does not belong together


@pytest.mark.parametrize("changed", [(), ("age.py", "tax.py", "size.py")], ids=["plain", "incremental"])
def test_a_run_whose_base_has_another_vocabulary_is_refused(changed, repository, data_folder, tiny_base, cpu):
    plan = SessionPlan(repository, data_folder, OPTIONS.changed(skip_below=0.0), tiny_base.id, changed)
    session = Session(plan, cpu)
    stopped_at(session, 2)
    texts = [path.read_text() for path in sorted(repository.glob("*.py"))]
    other = save_base(data_folder, Tokenizer.train(texts, 280), "other")
    saved = saved_run.load_run(data_folder / "runs", session.run_id)
    saved_run.save_run(data_folder / "runs", replace(saved, base=other.id))
    with pytest.raises(CodecoilError, match=rf"{session.run_id} .*tokenizer of other"):
        resume_session(session.run_id, data_folder, lambda: cpu)
    assert cpu.ledger.total == 0


def test_a_base_that_was_deleted_is_named(repository, data_folder, tiny_base, cpu):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    stopped_at(session, 2)
    CheckpointStore(data_folder / "checkpoints").delete(tiny_base.id, force=True)
    with pytest.raises(CheckpointError, match="no checkpoint"):
        resume_session(session.run_id, data_folder, lambda: cpu)


def test_a_damaged_run_is_refused_by_name_and_listed_with_its_problem(repository, data_folder, tiny_base, cpu):
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    stopped_at(session, 1)
    path = data_folder / "runs" / f"{session.run_id}.safetensors"
    damaged = bytearray(path.read_bytes())
    damaged[-5] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(CheckpointError, match=path.name):
        resume_session(session.run_id, data_folder, lambda: cpu)
    path.write_bytes(damaged[:50])
    assert "damaged" in interrupted_runs(data_folder / "runs")[0].problem


# ---- the device


@pytest.mark.parametrize(
    ("kind", "fails", "goes_on"),
    [(DeviceError, "cpu", "cpu"), (DeviceLostError, "cpu", "webgpu"), (DeviceLostError, "webgpu", "cpu")],
)
def test_a_device_that_fails_ends_the_run_saved_and_it_goes_on_on_the_other(
    kind, fails, goes_on, repository, data_folder, tiny_base, cpu, webgpu, monkeypatch
):
    devices = {"cpu": cpu, "webgpu": webgpu}
    held = {name: device.ledger.total for name, device in devices.items()}
    whole = ran(Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu))
    plain = TrainingStep.run

    def fail(self, ids, optimiser, step, *more):
        if step == 5:
            raise kind("The adapter went away.", "Open it again.")
        return plain(self, ids, optimiser, step, *more)

    monkeypatch.setattr(TrainingStep, "run", fail)
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), devices[fails])
    events = []
    with pytest.raises(kind, match=r"went away\. The run stopped at step 4 and is saved as of step 3"):
        for event in session.run():
            events.append(event)
            if isinstance(event, StepEvent) and event.step == 3:
                session.save_progress()
    assert session.can_resume
    session.close()
    assert devices[fails].ledger.total == held[fails]
    monkeypatch.setattr(TrainingStep, "run", plain)
    second = ran(resume_session(session.run_id, data_folder, lambda: devices[goes_on]))
    found = {e.step: e.loss for e in [*events, *second] if isinstance(e, StepEvent)}
    expected = {e.step: e.loss for e in whole if isinstance(e, StepEvent)}
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[s] for s in expected], list(expected.values()), rtol=1e-4)
    assert isinstance(second[-1], CheckpointEvent)


def test_a_device_that_fails_says_only_what_is_on_disk(repository, data_folder, tiny_base, cpu, monkeypatch):
    """A saving that was begun and refused by the disk is none."""
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    while session.trainer.step < 1:
        session.advance()
    session.save_progress()

    def refuse(*arguments):
        raise CheckpointError("The disk is full.", "Make room.")

    monkeypatch.setattr(session_module, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(session_module, "save_run", refuse)
    while session.trainer.step < 4:
        session.advance()
    monkeypatch.setattr(TrainingStep, "run", lambda *_: (_ for _ in ()).throw(DeviceError("It went away.")))
    with pytest.raises(DeviceError, match="saved as of step 1"):
        ran(session)


def test_nothing_held_out_is_told(repository, data_folder, tiny_base, cpu):
    for path in sorted(repository.glob("*.py"))[1:]:
        path.unlink()
    (repository / next(repository.glob("*.py")).name).write_text("x = 1\n")
    with pytest.raises((CorpusError, InputError), match=r"held|learned"):
        ran(Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu))
    assert cpu.ledger.total == 0
