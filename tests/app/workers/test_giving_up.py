"""A run that is cancelled while it is prepared, at every place where that takes time: it ends, and leaves nothing."""

from __future__ import annotations

import threading

import pytest

from app.values.failures import Cancelled
from app.workers.open_device import OpenDevice
from engine.session.session import Session


class Gate:
    """Blocks the engine's thread at one place until the test releases it."""

    def __init__(self) -> None:
        self.reached, self._open = threading.Event(), threading.Event()

    def hold(self) -> None:
        self.reached.set()
        assert self._open.wait(60)

    def let_go(self) -> None:
        self._open.set()


@pytest.fixture
def gate():
    one = Gate()
    yield one
    one.let_go()


def hold_before(monkeypatch, gate: Gate, owner: type, name: str) -> None:
    plain = getattr(owner, name)

    def held(*arguments, **named):
        gate.hold()
        return plain(*arguments, **named)

    monkeypatch.setattr(owner, name, held)


def hold_after(monkeypatch, gate: Gate, owner: type, name: str) -> None:
    plain = getattr(owner, name)

    def held(*arguments, **named):
        made = plain(*arguments, **named)
        gate.hold()
        return made

    monkeypatch.setattr(owner, name, held)


@pytest.mark.parametrize(
    ("held", "owner", "name"),
    [
        (hold_before, OpenDevice, "require_right_numbers"),
        (hold_before, Session, "__init__"),
        (hold_after, Session, "__init__"),
        (hold_before, Session, "advance"),
        (hold_after, Session, "advance"),
    ],
)
def test_a_cancelled_run_ends_wherever_it_is(program, repository, tiny, gate, monkeypatch, held, owner, name):
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    held(monkeypatch, gate, owner, name)
    training.start()
    one.until(gate.reached.is_set)
    assert training.phase == "preparing"
    training.stop()
    assert training.phase == "stopping"
    gate.let_go()
    one.until(lambda: not training.active)
    assert training.phase == "idle" and training.finished is None and one.failures == []
    one.until(lambda: one.state.engine.activity == "Idle")
    one.until(lambda: one.state.engine.memory.total == 0)
    assert [row.name for row in one.state.checkpoints.rows] == ["tiny"]


def test_a_run_that_was_quicker_than_the_cancel_is_stopped_and_kept(program, repository, tiny, monkeypatch):
    """The window has not heard of the first steps yet when somebody presses Cancel."""
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    plain = Session.advance

    def advance(self):
        events = plain(self)
        if self.trainer.step == 3:
            training._start_job.cancel()
        return events

    monkeypatch.setattr(Session, "advance", advance)
    one.run_to_end()
    assert training.phase == "finished" and training.finished.reason == "stopped", one.failures
    assert training.finished.step >= 3


def test_the_check_of_a_device_can_be_left_part_way(folder, monkeypatch):
    bench = OpenDevice(folder)
    bench.choose("cpu", 1 << 30)
    monkeypatch.setattr(bench.device, "name", "another")
    looks = []

    def look() -> None:
        looks.append(len(looks))
        if len(looks) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        bench.require_right_numbers(look)
    assert len(looks) == 3
    bench.require_right_numbers(lambda: looks.append(0))  # it does not count as checked
    assert len(looks) > 10
    bench.close()
