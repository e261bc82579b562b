"""A device that is destroyed in the middle of a run: the run is saved, the device opened anew, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from engine.checkpoints.store.store import CheckpointStore
from engine.errors import DeviceLostError
from engine.session import Session, SessionPlan, resume_session
from engine.train.events import CheckpointEvent, FinishedEvent, NoteEvent, PlanEvent, StepEvent
from tests.devices.opened import open_portable
from tests.session.small_repository import OPTIONS


class GraphicsDevices:
    """Opens WebGPU devices, one after the other, and destroys the present one."""

    def __init__(self, measurements) -> None:
        self._measurements = measurements
        self.opened = 1
        self.present = open_portable(measurements)

    def reopen(self):
        self.present.close()
        assert self.present.ledger.total == 0
        self.present = open_portable(self._measurements)
        self.opened += 1
        return self.present

    def destroy(self, session) -> None:
        self.present.gpu.destroy()


class CpuDevices:
    """The same on the CPU, which is never lost: the next thing that the run does fails as on a lost device."""

    def __init__(self, cpu) -> None:
        self.present, self.opened = cpu, 1

    def reopen(self):
        assert self.present.ledger.total == 0
        self.opened += 1
        return self.present

    def destroy(self, session) -> None:
        def fail():
            raise DeviceLostError("The adapter was lost.")

        session.trainer._next = fail


@pytest.fixture
def devices(cpu):
    return CpuDevices(cpu)


@pytest.fixture
def graphics_devices(measurements):
    made = GraphicsDevices(measurements)
    yield made
    made.present.close()


def run(session, devices, destroyed_at=(), saved_at=()):
    """All events; the device is destroyed, and the run saved, once each after these steps."""
    events, destroyed_at, saved_at = [], list(destroyed_at), list(saved_at)
    try:
        while not session.finished:
            events += session.advance()
            if saved_at and session.trainer.step == saved_at[0]:
                session.save_progress()
                saved_at.pop(0)
            if destroyed_at and session.trainer.step == destroyed_at[0]:
                devices.destroy(session)
                destroyed_at.pop(0)
    finally:
        session.close()
    return events


def losses(events):
    """By step; of a step that was taken again, both."""
    return sorted((event.step, event.loss) for event in events if isinstance(event, StepEvent))


def result(events, data_folder):
    """The parameters of the checkpoint that a run left."""
    (saved,) = (event for event in events if isinstance(event, CheckpointEvent))
    return dict(CheckpointStore(data_folder / "checkpoints").load_parameters(saved.checkpoint))


def test_a_run_on_a_destroyed_device_goes_on_bit_for_bit(repository, data_folder, tiny_base, graphics_devices):
    devices = graphics_devices
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    whole = run(Session(plan, devices.present), devices)
    session = Session(plan, devices.present, reopen=devices.reopen)
    events = run(session, devices, destroyed_at=(4, 5), saved_at=(3,))
    assert devices.opened == 3
    again = losses(whole)
    assert losses(events) == sorted([*again, again[3], again[3], again[4]])  # steps 4 and 5 were taken again
    notes = [event for event in events if isinstance(event, NoteEvent)]
    assert len(notes) == 2 and all("continues from step 3" in note.text for note in notes)
    assert len([event for event in events if isinstance(event, PlanEvent)]) == 3
    expected = result(whole, data_folder)
    for name, array in result(events, data_folder).items():
        assert np.array_equal(array, expected[name]), name
    assert [line["step"] for line in session.history if line["event"] == "step"] == [1, 2, 3, 4, 5, 6]


def test_a_run_that_was_never_saved_starts_over(repository, data_folder, tiny_base, devices):
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    whole = run(Session(plan, devices.present), devices)
    session = Session(plan, devices.present, reopen=devices.reopen)
    devices.destroy(session)
    events = run(session, devices)
    assert losses(events) == losses(whole)
    assert any("started over" in event.text for event in events if isinstance(event, NoteEvent))


def test_a_loss_while_the_result_is_saved_costs_the_steps_since_the_last_save(
    repository, data_folder, tiny_base, devices, monkeypatch
):
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    session = Session(plan, devices.present, reopen=devices.reopen)
    plain = Session._finish

    def finish(self, ended):
        if devices.opened == 1:
            raise DeviceLostError("The adapter was lost.")
        return plain(self, ended)

    monkeypatch.setattr(Session, "_finish", finish)
    events = run(session, devices, saved_at=(5,))
    assert len([event for event in events if isinstance(event, FinishedEvent)]) == 1
    assert isinstance(events[-1], CheckpointEvent) and devices.opened == 2


def test_lost_twice_at_the_same_step_the_run_ends_and_is_saved(repository, data_folder, tiny_base, devices):
    """The run itself may be why."""
    session = Session(
        SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), devices.present, reopen=devices.reopen
    )
    with pytest.raises(DeviceLostError, match=r"stopped at step 4 and is saved as of step 3"):
        run(session, devices, destroyed_at=(4, 4), saved_at=(3,))
    assert devices.opened == 2
    events = run(resume_session(session.run_id, data_folder, lambda: devices.present), devices)
    assert [step for step, _ in losses(events)] == [4, 5, 6]


def test_a_device_that_cannot_be_opened_again_ends_the_run_saved(repository, data_folder, tiny_base, devices):
    def refuse():
        raise DeviceLostError("There is no such device any more.")

    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), devices.present, reopen=refuse)
    with pytest.raises(DeviceLostError, match=r"was lost\. .* saved as of step 3") as caught:
        run(session, devices, destroyed_at=(4,), saved_at=(3,))
    assert session.run_id in caught.value.remedy and session.can_resume


def test_another_device_may_take_its_place(repository, data_folder, tiny_base, graphics_devices, cpu):
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    session = Session(plan, graphics_devices.present, reopen=lambda: cpu)
    events = run(session, graphics_devices, destroyed_at=(4,), saved_at=(3,))
    (note,) = (event for event in events if isinstance(event, NoteEvent))
    assert cpu.description in note.text and isinstance(events[-1], CheckpointEvent)


@pytest.mark.parametrize("asked", ["pause", "stop"])
def test_what_was_asked_for_meanwhile_is_done(asked, repository, data_folder, tiny_base, devices):
    session = None

    def reopen():
        getattr(session, asked)()
        return devices.reopen()

    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    session = Session(plan, devices.present, reopen=reopen)
    while session.trainer.step < 3:
        session.advance()
    session.save_progress()
    devices.destroy(session)
    session.advance()
    assert session.trainer.stopping == (asked == "stop") and session.trainer.paused == (asked == "pause")
    session.close()
