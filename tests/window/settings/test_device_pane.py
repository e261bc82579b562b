"""Every button and every key of the window does what it says."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractButton

import engine.graph.kernels
from app.window.kernel_table import ERROR, KERNEL, VERDICT
from engine.errors import DeviceError


@pytest.fixture
def desktop(fake_engine, open_window):
    return open_window()


def press(qtbot, button):
    assert button.isVisible() and button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def column(desktop, which):
    table = desktop.window.engine_pane.kernels.table
    return [table.index(row, which).data() for row in range(table.rowCount())]


def run_check(qtbot, desktop):
    press(qtbot, desktop.window.engine_pane.check_card.check_button)
    qtbot.waitUntil(lambda: not desktop.controller.busy)


def test_the_page_lists_the_devices_and_says_which_one_is_used_and_why(desktop):
    pane = desktop.window.engine_pane
    assert [card.info.name for card in pane.devices.cards] == ["cpu", "webgpu:0"]
    assert [card.isChecked() for card in pane.devices.cards] == [True, False]
    assert pane.subtitle.text() == "Codecoil computes on cpu, the processor: no WebGPU adapter was found."
    assert column(desktop, VERDICT) == ["not checked"] * 4


def test_check_fills_the_table_while_it_runs(desktop, fake_engine, qtbot):
    fake_engine.hold = True
    card = desktop.window.engine_pane.check_card
    press(qtbot, card.check_button)
    assert not card.check_button.isVisible() and card.cancel_button.isVisible()
    assert column(desktop, VERDICT) == ["waiting"] * 4
    fake_engine.let(2)
    qtbot.waitUntil(lambda: card.bar.value() == 2)
    assert column(desktop, VERDICT) == ["✓ ok", "✓ ok", "waiting", "waiting"]
    assert column(desktop, ERROR)[:2] == ["1.0e-06", "1.0e-06"]
    assert card.kernels.number.text() == "2"
    assert "checking cpu" in desktop.window.footer._state.text()
    fake_engine.let(2)
    qtbot.waitUntil(lambda: not desktop.controller.busy)
    assert column(desktop, VERDICT) == ["✓ ok"] * 4
    assert card.summary.text() == "✓ All 4 kernels are within their limits."
    assert card.bar.value() == card.bar.maximum() == 4
    assert not desktop.window.engine_pane.error_card.isVisible()


def test_cancel_ends_the_check_after_the_kernel_it_is_at(desktop, fake_engine, qtbot):
    fake_engine.hold = True
    card = desktop.window.engine_pane.check_card
    press(qtbot, card.check_button)
    fake_engine.let(1)
    qtbot.waitUntil(lambda: card.bar.value() == 1)
    press(qtbot, card.cancel_button)
    assert not card.cancel_button.isEnabled()
    fake_engine.let(1)
    qtbot.waitUntil(lambda: not desktop.controller.busy)
    assert card.summary.text().startswith("Cancelled after 2 of 4 kernels.")
    assert column(desktop, VERDICT) == ["✓ ok", "✓ ok", "not checked", "not checked"]
    fake_engine.hold = False
    run_check(qtbot, desktop)
    assert card.summary.text() == "✓ All 4 kernels are within their limits."


def test_a_wrong_kernel_shows_the_error_card_with_its_name(desktop, fake_engine, qtbot):
    fake_engine.wrong = {"matmul_nt": 0.5, "adamw": float("nan")}
    run_check(qtbot, desktop)
    pane = desktop.window.engine_pane
    assert pane.error_card.isVisible()
    assert pane.error_card.cause.text() == "cpu gives wrong numbers in matmul_nt, adamw."
    assert "driver" in pane.error_card.remedy.text()
    assert column(desktop, VERDICT) == ["✓ ok", "✓ ok", "✕ FAILED", "✕ FAILED"]
    assert column(desktop, ERROR)[2:] == ["5.0e-01", "none"]
    assert pane.check_card.summary.text().startswith("✕ 2 of 4 kernels give wrong numbers")
    assert pane.check_card.wrong.number.text() == "2"


def test_the_error_card_folds_copies_and_goes_away(desktop, fake_engine, qtbot):
    fake_engine.error = DeviceError("The adapter went away.", "Open it again.")
    run_check(qtbot, desktop)
    card = desktop.window.engine_pane.error_card
    assert (card.cause.text(), card.remedy.text()) == ("The adapter went away.", "Open it again.")
    assert not card.details.isVisible()
    press(qtbot, card.fold)
    assert card.details.isVisible() and "DeviceError" in card.details.toPlainText()
    press(qtbot, card.copy_button)
    assert QGuiApplication.clipboard().text().startswith("The adapter went away.\n\nOpen it again.")
    assert not card.cpu_button.isVisible()  # the CPU is in use already
    press(qtbot, card.dismiss_button)
    assert not card.isVisible()
    assert column(desktop, VERDICT) == ["not checked"] * 4


def test_use_the_cpu_is_offered_when_another_device_fails(desktop, fake_engine, qtbot):
    pane = desktop.window.engine_pane
    press(qtbot, pane.devices.cards[1])
    fake_engine.error = ValueError("no such thing")
    run_check(qtbot, desktop)
    assert "ValueError: no such thing" in pane.error_card.cause.text()
    press(qtbot, pane.error_card.cpu_button)
    assert desktop.controller.in_use.name == "cpu"
    assert not pane.error_card.isVisible()


def test_a_card_puts_its_device_to_use_and_checks_are_kept_apart(desktop, fake_engine, qtbot):
    pane = desktop.window.engine_pane
    run_check(qtbot, desktop)
    press(qtbot, pane.devices.cards[1])
    assert desktop.controller.in_use.name == "webgpu:0"
    assert pane.subtitle.text() == "Codecoil computes on webgpu:0, chosen by you."
    assert column(desktop, VERDICT) == ["not checked"] * 4
    run_check(qtbot, desktop)
    assert fake_engine.checked == ["cpu", "webgpu:0"]
    press(qtbot, pane.devices.cards[0])
    assert column(desktop, VERDICT) == ["✓ ok"] * 4


def test_the_device_chip_chooses_too(desktop):
    chip = desktop.window.header.device_chip
    actions = chip._group.actions()
    assert [action.data() for action in actions] == ["auto", "cpu", "webgpu:0"]
    actions[2].trigger()
    assert desktop.controller.in_use.name == "webgpu:0"
    assert "A <b>graphics</b> card · Vulkan" in chip.accessibleName()  # shown as it is, not as markup
    actions[0].trigger()
    assert desktop.controller.preferred == "auto" and desktop.controller.in_use.name == "cpu"


def test_looking_again_finds_a_new_device(desktop, fake_engine, qtbot):
    fake_engine.devices = fake_engine.devices[:1]
    desktop.window.look_action.trigger()
    qtbot.waitUntil(lambda: len(desktop.window.engine_pane.devices.cards) == 1)
    assert len(desktop.window.header.device_chip._group.actions()) == 2


def test_an_engine_that_cannot_be_loaded_is_said_and_can_be_tried_again(fake_engine, open_window, qtbot):
    fake_engine.listing_error = DeviceError("The driver crashed.", "Install another one.")
    desktop = open_window()
    pane = desktop.window.engine_pane
    assert pane.error_card.isVisible() and pane.error_card.cause.text() == "The driver crashed."
    assert not pane.check_card.check_button.isEnabled()
    assert desktop.window.footer._state.text() == "not available"
    fake_engine.listing_error = None
    desktop.window.look_action.trigger()
    qtbot.waitUntil(lambda: desktop.controller.found is not None)
    assert not pane.error_card.isVisible() and pane.check_card.check_button.isEnabled()


def test_keys_check_and_cancel(desktop, fake_engine, qtbot):
    fake_engine.hold = True
    qtbot.keyClick(desktop.window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: desktop.controller.phase == "checking")
    qtbot.keyClick(desktop.window, Qt.Key.Key_Escape)
    assert desktop.controller.phase == "cancelling"
    fake_engine.let(1)
    qtbot.waitUntil(lambda: not desktop.controller.busy)


def test_quit_closes_the_window(desktop):
    desktop.window.quit_action.trigger()
    assert not desktop.window.isVisible()


def test_closing_during_a_check_ends_it(desktop, fake_engine, qtbot):
    fake_engine.hold = True
    press(qtbot, desktop.window.engine_pane.check_card.check_button)
    fake_engine.let(1)
    desktop.close()
    assert not desktop.controller._thread.isRunning()


def test_about_names_the_versions(desktop, qtbot, qapp):
    desktop.window.about_action.trigger()
    dialog = qapp.activeModalWidget()
    press(qtbot, dialog.copy_button)
    assert "Codecoil: 0.1.0" in QGuiApplication.clipboard().text()
    press(qtbot, dialog.close_button)
    assert qapp.activeModalWidget() is None


def test_the_engine_never_runs_in_the_gui_thread(desktop, fake_engine):
    assert fake_engine.threads and "MainThread" not in fake_engine.threads


def test_everything_that_can_be_pressed_has_a_name_and_takes_the_focus(desktop):
    for button in desktop.window.findChildren(QAbstractButton):
        if not button.isVisible():
            continue
        assert button.accessibleName() or button.text()
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus, button.accessibleName()


@pytest.mark.parametrize("size", [(1024, 700), (1280, 800), (1920, 1080)])
def test_nothing_is_cut_off(desktop, qtbot, qapp, size):
    desktop.window.resize(*size)
    desktop.window.engine_pane.check_card.closest.show("> 999 %", max(engine.graph.kernels.KERNELS, key=len))
    qapp.processEvents()
    pane = desktop.window.engine_pane
    assert pane.widget().width() <= pane.viewport().width()
    assert pane.widget().minimumSizeHint().width() <= pane.viewport().width()
    kernels = pane.kernels
    assert kernels.horizontalHeader().length() == kernels.viewport().width()
    for row in range(kernels.table.rowCount()):
        index = kernels.table.index(row, KERNEL)
        assert kernels.fontMetrics().horizontalAdvance(index.data()) + 20 <= kernels.columnWidth(KERNEL)


def test_the_focus_can_be_seen(desktop, qtbot):
    desktop.theme.choose("dark")
    card = desktop.window.engine_pane.devices.cards[1]
    qtbot.keyClick(desktop.window, Qt.Key.Key_Tab)
    card.setFocus(Qt.FocusReason.TabFocusReason)
    focused = card.grab().toImage().pixelColor(card.width() // 2, 0).name()
    desktop.window.header.menu_button.setFocus(Qt.FocusReason.TabFocusReason)
    unfocused = card.grab().toImage().pixelColor(card.width() // 2, 0).name()
    assert (focused, unfocused) == (desktop.theme.tokens.second, desktop.theme.tokens.line)
