"""The devices, and the check of their numbers, with the engine's own thread on a small engine."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

import engine.graph.kernels
from app.window.settings.kernel_table import ERROR, FAILED, KERNEL, PASSED, UNCHECKED, VERDICT, WAITING
from engine.errors import DeviceError
from tests.window.stage import press


@pytest.fixture
def start(fake_engine, main_window, application, theme, qtbot):
    """Starts the threads, asks for the devices and nothing else, and brings them to the front."""

    def begin() -> SimpleNamespace:
        for thread in application._threads:
            thread.start()
        application._running = True
        application.engine.find_devices()
        qtbot.waitUntil(lambda: not application.engine.busy)
        main_window.show_settings("device")
        return SimpleNamespace(window=main_window, controller=application.engine, state=application, theme=theme)

    return begin


@pytest.fixture
def desktop(start):
    return start()


def pane_of(desktop):
    return desktop.window.page("Settings").device_pane


def column(desktop, which):
    table = pane_of(desktop).kernels.table
    return [table.index(row, which).data() for row in range(table.rowCount())]


def run_check(qtbot, desktop):
    press(qtbot, pane_of(desktop).check_card.check_button)
    qtbot.waitUntil(lambda: not desktop.controller.busy)


def test_the_page_lists_the_devices_and_says_which_one_is_used_and_why(desktop):
    pane = pane_of(desktop)
    assert [card.info.name for card in pane.devices.cards] == ["cpu", "webgpu:0"]
    assert [card.isChecked() for card in pane.devices.cards] == [True, False]
    assert pane.subtitle.text() == "Codecoil computes on the CPU, the processor: no WebGPU adapter was found."
    assert column(desktop, VERDICT) == [UNCHECKED] * 4


def test_check_fills_the_table_while_it_runs(desktop, fake_engine, qtbot):
    fake_engine.hold = True
    card = pane_of(desktop).check_card
    press(qtbot, card.check_button)
    assert not card.check_button.isVisible() and card.cancel_button.isVisible()
    assert column(desktop, VERDICT) == [WAITING] * 4
    fake_engine.let(2)
    qtbot.waitUntil(lambda: card.bar.value() == 2)
    assert column(desktop, VERDICT) == [PASSED, PASSED, WAITING, WAITING]
    assert column(desktop, ERROR)[:2] == ["1.0e-06", "1.0e-06"]
    assert card.kernels.number.text() == "2"
    assert "checking cpu" in desktop.window.footer.engine.words
    fake_engine.let(2)
    qtbot.waitUntil(lambda: not desktop.controller.busy)
    assert column(desktop, VERDICT) == [PASSED] * 4
    assert card.summary.text().startswith("✓") and "4 kernels" in card.summary.text()
    assert card.bar.value() == card.bar.maximum() == 4
    assert not pane_of(desktop).error_card.isVisible()


def test_cancel_ends_the_check_after_the_kernel_it_is_at(desktop, fake_engine, qtbot):
    fake_engine.hold = True
    card = pane_of(desktop).check_card
    press(qtbot, card.check_button)
    fake_engine.let(1)
    qtbot.waitUntil(lambda: card.bar.value() == 1)
    press(qtbot, card.cancel_button)
    assert not card.cancel_button.isEnabled()
    fake_engine.let(1)
    qtbot.waitUntil(lambda: not desktop.controller.busy)
    assert "2 of 4 kernels" in card.summary.text()
    assert column(desktop, VERDICT) == [PASSED, PASSED, UNCHECKED, UNCHECKED]
    fake_engine.hold = False
    run_check(qtbot, desktop)
    assert card.summary.text().startswith("✓") and "4 kernels" in card.summary.text()


def test_a_wrong_kernel_shows_the_error_card_with_its_name(desktop, fake_engine, qtbot):
    fake_engine.wrong = {"matmul_nt": 0.5, "adamw": float("nan")}
    run_check(qtbot, desktop)
    pane = pane_of(desktop)
    assert pane.error_card.isVisible()
    assert all(name in pane.error_card.cause.text() for name in ("cpu", "matmul_nt", "adamw"))
    assert "driver" in pane.error_card.remedy.text()
    assert column(desktop, VERDICT) == [PASSED, PASSED, FAILED, FAILED]
    assert column(desktop, ERROR)[2:] == ["5.0e-01", "none"]
    assert pane.check_card.summary.text().startswith("✕ 2 of 4 kernels")
    assert pane.check_card.wrong.number.text() == "2"


def test_the_error_card_folds_copies_and_goes_away(desktop, fake_engine, qtbot):
    fake_engine.error = DeviceError("The adapter went away.", "Open it again.")
    run_check(qtbot, desktop)
    card = pane_of(desktop).error_card
    assert (card.cause.text(), card.remedy.text()) == ("The adapter went away.", "Open it again.")
    assert not card.details.isVisible()
    press(qtbot, card.fold)
    assert card.details.isVisible() and "DeviceError" in card.details.toPlainText()
    press(qtbot, card.copy_button)
    assert QGuiApplication.clipboard().text().startswith("The adapter went away.\n\nOpen it again.")
    assert not card.action_button.isVisible()  # the CPU is in use already
    press(qtbot, card.dismiss_button)
    assert not card.isVisible()
    assert column(desktop, VERDICT) == [UNCHECKED] * 4


def test_use_the_cpu_is_offered_when_another_device_fails(desktop, fake_engine, qtbot):
    pane = pane_of(desktop)
    press(qtbot, pane.devices.cards[1])
    fake_engine.error = ValueError("no such thing")
    run_check(qtbot, desktop)
    assert "ValueError: no such thing" in pane.error_card.cause.text()
    press(qtbot, pane.error_card.action_button)
    assert desktop.controller.in_use.name == "cpu"
    assert not pane.error_card.isVisible()


def test_a_card_puts_its_device_to_use_and_checks_are_kept_apart(desktop, fake_engine, qtbot):
    pane = pane_of(desktop)
    run_check(qtbot, desktop)
    press(qtbot, pane.devices.cards[1])
    assert desktop.controller.in_use.name == "webgpu:0"
    assert pane.subtitle.text() == "Codecoil computes on webgpu:0, chosen by you."
    assert column(desktop, VERDICT) == [UNCHECKED] * 4
    run_check(qtbot, desktop)
    assert fake_engine.checked == ["cpu", "webgpu:0"]
    press(qtbot, pane.devices.cards[0])
    assert column(desktop, VERDICT) == [PASSED] * 4


def test_looking_again_finds_a_new_device(desktop, fake_engine, qtbot):
    fake_engine.devices = fake_engine.devices[:1]
    press(qtbot, pane_of(desktop).look_button)
    qtbot.waitUntil(lambda: len(pane_of(desktop).devices.cards) == 1)


def test_an_engine_that_cannot_be_loaded_is_said_and_can_be_tried_again(fake_engine, start, qtbot):
    fake_engine.listing_error = DeviceError("The driver crashed.", "Install another one.")
    desktop = start()
    pane = pane_of(desktop)
    assert pane.error_card.isVisible() and pane.error_card.cause.text() == "The driver crashed."
    assert not pane.check_card.check_button.isEnabled()
    assert desktop.window.footer.engine.words == "not available"
    fake_engine.listing_error = None
    press(qtbot, pane_of(desktop).look_button)
    qtbot.waitUntil(lambda: desktop.controller.found is not None)
    assert not pane.error_card.isVisible() and pane.check_card.check_button.isEnabled()


def test_closing_during_a_check_ends_it(desktop, fake_engine, qtbot):
    fake_engine.hold = True
    card = pane_of(desktop).check_card
    press(qtbot, card.check_button)
    fake_engine.let(1)
    qtbot.waitUntil(lambda: card.bar.value() == 1)
    later = threading.Timer(0.2, fake_engine.let, [1])  # the kernel it is at is finished
    later.start()
    desktop.window.shut()
    desktop.state.stop()
    later.join()
    assert not any(thread.isRunning() for thread in desktop.state._threads)


def test_the_engine_never_runs_in_the_gui_thread(desktop, fake_engine):
    assert fake_engine.threads and "MainThread" not in fake_engine.threads


@pytest.mark.parametrize("size", [(1024, 700), (1280, 800), (1920, 1080)])
def test_nothing_is_cut_off(desktop, qtbot, qapp, size):
    desktop.window.resize(*size)
    run_check(qtbot, desktop)  # which brings the table up
    pane_of(desktop).check_card.closest.say("> 999 %", max(engine.graph.kernels.KERNELS, key=len))
    qapp.processEvents()
    pane = pane_of(desktop)
    assert pane.widget().width() <= pane.viewport().width()
    assert pane.widget().minimumSizeHint().width() <= pane.viewport().width()
    kernels = pane.kernels
    assert kernels.horizontalHeader().length() == kernels.viewport().width()
    for row in range(kernels.table.rowCount()):
        index = kernels.table.index(row, KERNEL)
        assert kernels.fontMetrics().horizontalAdvance(index.data()) + 20 <= kernels.columnWidth(KERNEL)


def test_the_focus_can_be_seen(desktop, qtbot):
    desktop.theme.choose("dark")
    card = pane_of(desktop).devices.cards[1]
    qtbot.keyClick(desktop.window, Qt.Key.Key_Tab)
    card.setFocus(Qt.FocusReason.TabFocusReason)
    focused = card.grab().toImage().pixelColor(card.width() // 2, 0).name()
    desktop.window.header.menu_button.setFocus(Qt.FocusReason.TabFocusReason)
    unfocused = card.grab().toImage().pixelColor(card.width() // 2, 0).name()
    assert (focused, unfocused) == (desktop.theme.tokens.second, desktop.theme.tokens.line)
