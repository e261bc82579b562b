"""Speeds of base models: remembered ones are shown, the others measured while the list is open."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from PySide6.QtCore import QObject, Signal

from app.network.base_models import available
from app.state.base_speeds import BaseSpeedController
from app.values.engine import SpeedLine
from app.values.events import Failure
from engine.devices import DeviceInfo
from engine.session.machine_speed import MachineSpeed
from tests.app.played_jobs import PlayedJobs, answer, begin, progress, record

SPEED = MachineSpeed(160.0, 70.0, 5, 30)
CPU = DeviceInfo("cpu", "A processor", "NumPy + Numba", "cpu")
CARD = DeviceInfo("webgpu:0", "A card", "Vulkan", "discrete")
NAMES = tuple(model.name for model in available())


class Engine(QObject):
    """A device in use."""

    state_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.found, self.in_use = None, CPU

    def find(self, device: DeviceInfo = CPU) -> None:
        self.found, self.in_use = object(), device
        self.state_changed.emit()


@pytest.fixture
def speeds(qapp):
    controller = BaseSpeedController(PlayedJobs(), Engine(), SimpleNamespace(active=False))
    controller.asked = record(controller._jobs)
    controller.engine, controller.jobs = controller._engine, controller._jobs
    return controller


def report(speeds, *lines: SpeedLine) -> None:
    for line in lines:
        speeds.jobs.on_reported(begin(speeds.jobs, "base_speeds"), line)


def test_nothing_is_measured_before_the_list_is_shown(speeds):
    speeds.engine.find()
    assert speeds.asked == []


def test_what_is_remembered_is_not_measured_again(speeds):
    speeds.engine.find()
    speeds.open()
    (asked,) = speeds.asked
    assert asked[0] == "known_speeds" and "A processor" in asked[1]
    answer(speeds.jobs, "known_speeds", dict.fromkeys(NAMES, SPEED))
    assert len(speeds.asked) == 1 and not speeds.measuring
    assert {line.speed for line in speeds.lines.values()} == {SPEED} and set(speeds.lines) == set(NAMES)


def test_the_rest_is_measured_in_the_order_of_the_list(speeds):
    speeds.engine.find()
    speeds.open()
    answer(speeds.jobs, "known_speeds", {NAMES[1]: SPEED})
    name, missing, device = speeds.asked[-1]
    assert name == "base_speeds" and missing == (NAMES[0], *NAMES[2:]) and device == speeds.asked[0][1]
    progress(speeds.jobs, "base_speeds", 0, len(missing), f"Measuring {missing[0]}")
    assert speeds.measuring and speeds.progress == (0, len(missing), f"Measuring {missing[0]}")
    report(speeds, SpeedLine(NAMES[0], SPEED), SpeedLine(NAMES[2], problem="It needs more memory."))
    assert speeds.lines[NAMES[0]].speed == SPEED and speeds.lines[NAMES[2]].problem
    answer(speeds.jobs, "base_speeds")
    assert not speeds.measuring and NAMES[2] in speeds.missing and NAMES[0] not in speeds.missing


def test_an_engine_that_is_still_being_loaded_is_waited_for(speeds):
    speeds.open()
    assert speeds.asked == [] and not speeds.can_measure
    speeds.engine.find()
    assert speeds.asked[0][0] == "known_speeds"


def test_closing_the_list_ends_it_and_opening_it_goes_on(speeds):
    speeds.engine.find()
    speeds.open()
    answer(speeds.jobs, "known_speeds", {})
    job = begin(speeds.jobs, "base_speeds")
    report(speeds, SpeedLine(NAMES[0], SPEED))
    speeds.close()
    assert job.is_cancelled()
    answer(speeds.jobs, "base_speeds", cancelled=True)
    assert not speeds.measuring and speeds.lines[NAMES[0]].speed == SPEED
    speeds.open()
    answer(speeds.jobs, "known_speeds", {NAMES[0]: SPEED})
    assert speeds.asked[-1][:2] == ("base_speeds", NAMES[1:])


def test_another_device_is_measured_anew_and_late_answers_are_not_its_own(speeds):
    speeds.engine.find()
    speeds.open()
    answer(speeds.jobs, "known_speeds", {})
    begin(speeds.jobs, "base_speeds")
    speeds.engine.find(CARD)
    report(speeds, SpeedLine(NAMES[0], SPEED))
    assert speeds.lines == {}
    answer(speeds.jobs, "known_speeds", {})
    assert [each[0] for each in speeds.asked].count("base_speeds") == 1  # the first has not ended
    answer(speeds.jobs, "base_speeds", cancelled=True)
    assert speeds.asked[-1][0] == "base_speeds" and "A card" in speeds.asked[-1][2]


def test_not_during_a_run(speeds):
    speeds._training.active = True
    speeds.engine.find()
    speeds.open()
    answer(speeds.jobs, "known_speeds", {})
    assert [each[0] for each in speeds.asked] == ["known_speeds"] and not speeds.can_measure


def test_measuring_again_forgets_what_was_known(speeds):
    speeds.engine.find()
    speeds.open()
    answer(speeds.jobs, "known_speeds", dict.fromkeys(NAMES, SPEED))
    speeds.measure()
    assert speeds.asked[-1][:2] == ("base_speeds", NAMES) and speeds.lines == {}


def test_a_failure_is_told_and_ends_it(speeds):
    failures = []
    speeds.failed.connect(failures.append)
    speeds.engine.find()
    speeds.open()
    answer(speeds.jobs, "known_speeds", {})
    answer(speeds.jobs, "base_speeds", failure=Failure("The device was lost.", ""))
    assert [each.cause for each in failures] == ["The device was lost."] and not speeds.measuring
