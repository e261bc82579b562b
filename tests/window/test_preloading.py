"""What is loaded and made ahead, only while nothing else is happening; and what a second start does to the window."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt

from app.single_instance import SingleInstance
from app.values.events import Failure
from app.window import preloading
from app.window.preloading import Preloading, load, when_loaded
from tests.window.stage import find_devices, press

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ahead(application, qapp):
    one = Preloading(application, ["colorsys", "no.such.module", "fractions:Fraction"])
    yield one
    one.end()


def test_imports_come_first_then_a_page_a_look(ahead, application, qtbot, monkeypatch):
    monkeypatch.setattr(preloading, "QUIET", 0.0)
    due, names = [], []
    monkeypatch.setattr(preloading, "load", lambda name: names.append((name, threading.current_thread().name)))
    ahead.page_due.connect(lambda: due.append(1))
    ahead.on_look()
    qtbot.waitUntil(lambda: ahead._is_loaded)
    assert names == [(name, "imports") for name in ("colorsys", "no.such.module", "fractions:Fraction")] and not due
    ahead.on_look()
    assert due == [1]


def test_what_cannot_be_loaded_ahead_does_not_stop_the_rest(ahead, qtbot):
    ahead.on_look()
    qtbot.waitUntil(lambda: ahead._is_loaded)
    assert "colorsys" in sys.modules


def test_it_waits_for_whatever_goes_on(ahead, application, monkeypatch):
    monkeypatch.setattr(preloading, "QUIET", 0.0)
    due = []
    ahead.page_due.connect(lambda: due.append(1))
    ahead._is_loaded = True
    for controller, phase in (
        (application.repository, "reading"),
        (application.training, "running"),
        (application.engine, "checking"),
    ):
        before = controller.phase
        controller.phase = phase
        ahead.on_look()
        assert not due and ahead.reason_to_wait()
        controller.phase = before
    monkeypatch.setattr(preloading, "QUIET", 1000.0)  # somebody has just pressed a key
    ahead.on_look()
    assert not due
    monkeypatch.setattr(preloading, "QUIET", 0.0)
    ahead.on_look()
    assert due == [1]


def test_a_name_with_a_class_makes_one():
    load("fractions:Fraction")
    with pytest.raises(AttributeError):
        load("fractions:NoSuchThing")


def test_an_error_that_nobody_caught_is_a_card_over_every_page(main_window, qtbot):
    main_window.on_defect(Failure("It broke.", "Report it.", "Traceback: ..."))
    main_window.on_defect(Failure("It broke again.", "Report it."))
    for title in ("Repository", "Settings"):
        main_window.show_page(title)
        assert main_window.defect_card.isVisible() and main_window.defect_card.cause.text() == "It broke."
    press(qtbot, main_window.defect_card.dismiss_button)
    assert not main_window.defect_card.isVisible() and main_window.defect_card.failure is None


def test_a_second_start_raises_the_window_and_leaves(main_window, application, qtbot):
    find_devices(application)
    main_window.preloading.rest()
    instance = SingleInstance(application.data_folder)
    assert instance.claim()
    instance.raise_wanted.connect(main_window.on_window_wanted)
    main_window.showMinimized()
    second = subprocess.Popen(
        [sys.executable, "-m", "app"],
        cwd=ROOT,
        env=os.environ | {"CODECOIL_DATA": str(application.data_folder)},
        stderr=subprocess.PIPE,
    )
    try:
        qtbot.waitUntil(lambda: second.poll() is not None)
        qtbot.waitUntil(lambda: not main_window.windowState() & Qt.WindowState.WindowMinimized)
        assert second.returncode == 0 and second.stderr.read() == b""
    finally:
        second.kill()
        second.communicate()
        instance.release()


def test_what_stands_on_a_module_is_made_once_that_was_loaded_and_not_in_the_middle_of_it(qtbot, monkeypatch):
    owner, calls = QObject(), []
    timer = when_loaded("codecoil_test_module", owner, lambda: calls.append(True))
    timer.setInterval(1)
    module = types.ModuleType("codecoil_test_module")
    module.__spec__ = types.SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "codecoil_test_module", module)
    with qtbot.waitSignal(timer.timeout):
        pass
    assert calls == [] and timer.isActive()
    module.__spec__._initializing = False
    qtbot.waitUntil(lambda: calls == [True])
    assert not timer.isActive()
