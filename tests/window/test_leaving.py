"""Leaving during a run."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication

from app.values.events import Failure
from app.values.training import FinishedView
from app.window import closing
from app.window.main_window import MainWindow
from tests.app.played_jobs import record
from tests.window.stage import front, press


def test_leaving_during_a_run_can_save_it_to_be_resumed(main_window, application, qtbot):
    suspended = record(application.jobs, "suspend")
    application.training._enter("running")
    main_window.close()
    press(qtbot, main_window.closing_bar.suspend_button)
    assert suspended == [("suspend",)] and main_window.isVisible() and main_window.closing_bar.is_saving
    application.training.on_finished(None)
    assert not main_window.isVisible()


def test_a_run_without_a_first_step_cannot_be_resumed_later(main_window, application):
    bar = main_window.closing_bar
    application.training._enter("preparing")
    main_window.close()
    assert bar.isVisible() and not bar.suspend_button.isVisible() and bar.stop_button.hasFocus()
    application.training._enter("running")
    assert bar.suspend_button.isVisible()


def test_leaving_during_a_run_asks_and_can_be_thought_better_of(main_window, application, qtbot):
    application.training._enter("running")
    main_window.close()
    assert main_window.isVisible() and main_window.closing_bar.isVisible()
    assert "step 0 of" in main_window.closing_bar.words.text()
    press(qtbot, main_window.closing_bar.stay_button)
    assert main_window.isVisible() and not main_window.closing_bar.isVisible()


def test_stop_and_save_closes_once_the_run_is_saved(main_window, application, qtbot):
    stopped = record(application.jobs, "stop")
    application.training._enter("running")
    main_window.close()
    press(qtbot, main_window.closing_bar.stop_button)
    assert stopped == [("stop",)] and main_window.isVisible() and "saving" in main_window.closing_bar.words.text()
    assert QApplication.focusWidget() is main_window  # and not whatever comes next: a ring there would tell of nothing
    application.training.on_finished(FinishedView("r", "stopped", 3, 3, 4.0, 3.9, False, 9.0, "c8", "orbit #8"))
    assert not main_window.isVisible()


def test_a_run_that_cannot_be_saved_keeps_the_window(main_window, application, qtbot):
    main_window.show_page("Settings")
    application.training._enter("running")
    main_window.close()
    press(qtbot, main_window.closing_bar.stop_button)
    application.training.on_failed(Failure("No space is left on the disk.", "Make room, then resume."))
    assert main_window.isVisible() and not main_window.closing_bar.isVisible()
    page = main_window.page("Adapt")
    assert front(main_window) == "Adapt" and page.error_card.cause.text() == "No space is left on the disk."
    application.training._enter("running")  # it continues: leaving asks again
    main_window.close()
    assert main_window.isVisible() and main_window.closing_bar.stop_button.isEnabled()
    application.training.on_failed(Failure("The device was lost.", ""))  # nobody has said to stop
    assert main_window.isVisible() and not main_window.closing_bar.isVisible()
    main_window.close()
    assert not main_window.isVisible()


def test_a_run_that_cannot_be_saved_brings_the_window_back_from_the_tray(main_window, application):
    application.training._enter("running")
    main_window.on_tray_wanted()
    main_window.tray.quit_action.trigger()
    application.training.on_failed(Failure("No space is left on the disk.", ""))
    assert main_window.isVisible() and front(main_window) == "Adapt"
    assert QApplication.instance().quitOnLastWindowClosed()


def test_a_run_that_ends_by_itself_needs_no_question(main_window, application):
    application.training._enter("running")
    main_window.close()
    application.training.on_finished(None)
    assert main_window.isVisible() and not main_window.closing_bar.isVisible()
    main_window.close()
    assert not main_window.isVisible()


def test_in_the_tray_a_run_goes_on_and_the_window_comes_back(theme, application, monkeypatch, qtbot):
    monkeypatch.setattr(closing.Tray, "is_available", staticmethod(lambda: True))
    window = MainWindow(application, theme)
    qtbot.addWidget(window)
    window.show()
    application.training._enter("running")
    window.close()
    press(qtbot, window.closing_bar.tray_button)
    assert not window.isVisible() and application.training.phase == "running"
    assert not QApplication.instance().quitOnLastWindowClosed()
    application.training.progressed.emit()
    assert "step 0 of" in window.tray.icon.toolTip()
    window.tray.open_action.trigger()
    assert window.isVisible() and QApplication.instance().quitOnLastWindowClosed()
    stopped = record(application.jobs, "stop")
    window.on_tray_wanted()
    window.tray.quit_action.trigger()
    assert stopped == [("stop",)]
    application.training.on_finished(None)
    assert QApplication.instance().quitOnLastWindowClosed() and window._leaving
