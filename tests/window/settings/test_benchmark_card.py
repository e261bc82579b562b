"""The benchmark in the settings, with a measuring that says what the test wants."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtGui import QGuiApplication

from app.window.settings.benchmark_table import KERNEL
from engine.benchmark.machine import Machine
from engine.benchmark.results import Benchmark, KernelTime, Omission, Speed
from engine.devices.interface import Peaks
from engine.errors import DeviceError
from tests.window.settings.test_device_pane import desktop, start  # noqa: F401  (fixtures)
from tests.window.stage import press

MACHINE = Machine(
    "A processor", 2, "cpu", "A processor", "NumPy + Numba", "cpu", "", (), "Debian 12", (("numpy", "2"),)
)
ROWS = (
    KernelTime("matmul_nt", "4×8×16", 2e-3, 8e6, 4e6, "small, training", 3, 0.9),
    KernelTime("gate", "4×8", 5e-5, 0.0, 2e5, "small, training", 3, 0.1),
    KernelTime("fill", "64", 1e-6, 0.0, 256.0),
)
WHOLE = Benchmark(
    MACHINE,
    Peaks(1e10, 1e10),
    None,
    (Speed("small", "training", 1234.0),),
    ROWS,
    (Omission("large, training", "there was not enough time"),),
    12.0,
    True,
)


class Measuring:
    """Reports two parts; waits before the second while `hold` is set."""

    def __init__(self) -> None:
        self.hold, self.step, self.asked, self.error = False, threading.Semaphore(0), [], None

    def __call__(self, name, *, ceiling, report, look):
        self.asked.append((name, ceiling))
        report(Benchmark(MACHINE), 0, 2, "What the device can do at most")
        if self.error:
            raise self.error
        report(Benchmark(MACHINE, WHOLE.peaks, kernels=ROWS[:1], seconds=3.0), 1, 2, "small, training")
        if self.hold and not self.step.acquire(timeout=60):
            raise TimeoutError("no test let the benchmark go on")
        look()
        report(WHOLE, 2, 2, "")
        return WHOLE


@pytest.fixture
def measuring(monkeypatch):
    played = Measuring()
    monkeypatch.setattr("engine.benchmark.run.measure", played)
    yield played
    played.step.release()


@pytest.fixture
def card(measuring, desktop):  # noqa: F811  (a fixture)
    return desktop.window.page("Settings").device_pane.benchmark_card


def finish(qtbot, desktop):  # noqa: F811
    qtbot.waitUntil(lambda: not desktop.controller.busy)


def shown(card):
    table = card.table.table
    return [table.index(row, KERNEL).data() or table.index(row, 0).data() for row in range(table.rowCount())]


def test_it_says_what_it_would_do_and_has_nothing_to_copy(card):
    assert "on the CPU" in card.words.text() and "five minutes" in card.words.text()
    assert card.button.isEnabled() and not card.copy_button.isVisible() and not card.table.isVisible()


def test_it_shows_progress_and_then_every_kernel_and_what_was_left_out(card, desktop, measuring, qtbot):  # noqa: F811
    measuring.hold = True
    press(qtbot, card.button)
    qtbot.waitUntil(lambda: card.progress.bar.value() == 1)
    assert "small, training" in card.progress.words.text() and card.progress.bar.maximum() == 2
    assert not card.button.isEnabled() and "benchmark" in desktop.window.footer.engine.words
    measuring.step.release()
    finish(qtbot, desktop)
    assert measuring.asked == [("cpu", desktop.state.settings.memory_ceiling)]
    assert card.progress.isHidden() and card.button.isEnabled()
    heading, *rows = shown(card)
    assert heading.startswith("small, training: 6.15 ms") and rows[:2] == ["matmul_nt", "gate"] and rows[-1] == "fill"
    assert card.table.columnSpan(0, 0) > 1 and card.table.columnSpan(1, 0) == 1
    assert "3 kernel sizes" in card.words.text()
    assert "large, training" in card.left_out.text() and "not enough time" in card.left_out.text()


def test_the_text_for_an_issue_can_be_copied(card, desktop, measuring, qtbot):  # noqa: F811
    press(qtbot, card.button)
    finish(qtbot, desktop)
    press(qtbot, card.copy_button)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("```text\nCodecoil") and "matmul_nt" in copied and "1,230" in copied
    assert "Copied" in card.words.text()


def test_cancelled_it_shows_what_was_measured_until_then(card, desktop, measuring, qtbot):  # noqa: F811
    measuring.hold = True
    press(qtbot, card.button)
    qtbot.waitUntil(lambda: card.progress.bar.value() == 1)
    press(qtbot, card.progress.cancel_button)
    measuring.step.release()
    finish(qtbot, desktop)
    assert card.words.text().startswith("Cancelled after 1 kernel size ")
    assert "matmul_nt" in shown(card) and card.copy_button.isVisible()


def test_a_device_that_fails_is_shown_in_the_error_card_and_it_can_be_tried_again(card, desktop, measuring, qtbot):  # noqa: F811
    measuring.error = DeviceError("The adapter went away.", "Open it again.")
    press(qtbot, card.button)
    finish(qtbot, desktop)
    error = desktop.window.page("Settings").device_pane.error_card
    assert error.isVisible() and error.cause.text() == "The adapter went away."
    assert card.progress.isHidden() and card.button.isEnabled() and "five minutes" in card.words.text()
    measuring.error = None
    press(qtbot, card.button)
    finish(qtbot, desktop)
    assert "Measured 3 kernel sizes" in card.words.text()


def test_a_run_that_starts_ends_it(card, desktop, measuring, qtbot):  # noqa: F811
    measuring.hold = True
    press(qtbot, card.button)
    qtbot.waitUntil(lambda: card.progress.bar.value() == 1)
    from app.workers.measuring import MeasuringWorker

    desktop.state.jobs.cancel_all(MeasuringWorker)
    measuring.step.release()
    finish(qtbot, desktop)
    assert "Cancelled" in card.words.text()
