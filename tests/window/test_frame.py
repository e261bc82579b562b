"""The frame: rail, header with its chips, footer, menu and keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from app.values.completion import ModelChoice
from app.values.engine import MemoryState
from app.values.events import Failure
from app.values.training import ResumableRun
from app.window import pages
from app.window.main_window import MainWindow
from tests.app.played_jobs import record
from tests.window.stage import ROOT, changes, find_devices, front, open_repository, press

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
GIB = 2**30


def titles() -> list[str]:
    return [entry.title for entry in pages.PAGES if entry.is_there]


def entries(chip) -> dict[str, object]:
    chip.on_about_to_show()
    return {action.text(): action for action in chip.choices.actions() if not action.isSeparator()}


# ---- pages


def test_every_page_has_a_word_a_key_and_comes_when_called(main_window, qtbot):
    for number, entry in enumerate(pages.PAGES, 1):
        if not entry.is_there:
            continue
        qtbot.keyClick(main_window, getattr(Qt.Key, f"Key_{number}"), CTRL)
        assert front(main_window) == entry.title
        assert main_window.rail.buttons[entry.title].isChecked()
        assert (main_window.page(entry.title).title, main_window.page(entry.title).icon) == (entry.title, entry.icon)
    press(qtbot, main_window.rail.buttons["Repository"])
    assert front(main_window) == "Repository"


def test_a_page_is_made_when_it_is_first_shown_or_when_there_is_time(main_window, application, qtbot):
    assert list(main_window.made) == ["Repository"]
    find_devices(application)
    qtbot.waitUntil(lambda: list(main_window.made) == titles())
    assert front(main_window) == "Repository" and not main_window.preloading.active


def test_a_page_may_ask_for_another_one(main_window):
    main_window.page("Repository").page_wanted.emit("Settings")
    assert front(main_window) == "Settings"
    main_window.page("Repository").page_wanted.emit("No such page")
    assert front(main_window) == "Settings"


def test_the_focus_stays_off_the_header_when_a_page_goes(main_window, qapp):
    """What had the focus is gone with its page; what comes next in the window is not what the user chose."""
    main_window.show_page("Complete")
    main_window.page("Complete").editor.setFocus()
    main_window.show_page("Repository")
    page = main_window.page("Repository")
    assert qapp.focusWidget() is page
    main_window.show_page("Adapt")
    assert qapp.focusWidget() is not main_window.header.repository_chip


def test_page_and_place_are_remembered(main_window, application, theme, qtbot):
    main_window.show_page("Settings")
    main_window.resize(1024, 730)
    main_window.close()
    again = MainWindow(application, theme)
    qtbot.addWidget(again)
    assert front(again) == "Settings" and (again.width(), again.height()) == (1024, 730)


def test_the_rail_counts_what_waits(main_window, application):
    button = main_window.rail.buttons["Repository"]
    assert not button.count.isVisible()
    application.repository.on_changes(changes())
    assert button.count.isVisible() and button.count.text() == "14" and "14 files changed" in button.accessibleName()
    application.repository.on_changes(changes(4000))
    assert button.count.text() == "999+"
    application.training.on_runs((ResumableRun("r", ROOT, "", "lora", 3, 10, 0.0),))
    assert main_window.rail.buttons["Adapt"].count.text() == "1"


class Shown(QObject):
    """Notes every window that is shown, were it for a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.windows = []

    def eventFilter(self, watched, event) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.windows.append(f"{type(watched).__name__} {watched.accessibleName()}")
        return False


def test_making_a_page_flashes_no_window(main_window, application, qapp):
    """A part that is shown before it has its place is a window of its own for a moment."""
    find_devices(application)
    open_repository(application)
    main_window.preloading.rest()
    shown = Shown()
    qapp.installEventFilter(shown)
    try:
        for title in titles():
            main_window.show_page(title)
        application.repository.on_changes(changes())
    finally:
        qapp.removeEventFilter(shown)
    assert shown.windows == []


def test_an_engine_that_fails_is_said_on_every_page(main_window, application, qtbot):
    application.engine.on_engine_failed(Failure("The driver crashed.", "Install another one."))
    assert main_window.trouble.isVisible() and main_window.trouble.words.text() == "The driver crashed."
    press(qtbot, main_window.trouble_button)
    assert front(main_window) == "Settings" and not main_window.trouble.isVisible()
    card = main_window.page("Settings").device_pane.error_card  # made after the failure
    assert card.isVisible() and card.remedy.text() == "Install another one."


# ---- header


def test_the_chips_say_what_is_in_use_and_open_their_choosers(main_window, application):
    header = main_window.header
    assert header.repository_chip.value.words == "choose a folder"
    open_repository(application)
    find_devices(application)
    starter = ModelChoice("starter", "Built-in model", "knows code")
    application.completion.on_choices((starter, ModelChoice("c7", "orbit #7", "loss 3.41")))
    assert header.repository_chip.value.words == "orbit" and ROOT in header.repository_chip.toolTip()
    assert header.model_chip.accessibleName() == "Model: Built-in model"
    assert header.device_chip.value.words == "A <b>graphics</b> card · Vulkan"  # shown as it is, not as markup
    entries(header.model_chip)["orbit #7   loss 3.41"].trigger()
    assert application.completion.model == "c7" and header.model_chip.value.words == "orbit #7"
    entries(header.device_chip)["A processor · NumPy + Numba"].trigger()
    assert application.engine.preferred == "cpu" and header.device_chip.value.words.startswith("A processor")
    entries(header.device_chip)["Automatic: A <b>graphics</b> card"].trigger()
    assert application.engine.preferred == "auto"
    entries(header.device_chip)["Device settings…"].trigger()
    assert front(main_window) == "Settings"


def test_the_repository_chip_opens_recent_folders_and_closes(main_window, application):
    chip = main_window.header.repository_chip
    open_repository(application)
    application.settings.recent_folders = [ROOT, "/elsewhere/tides"]
    assert list(entries(chip)) == ["Choose a folder…", "orbit", "tides", "All repositories…", "Close repository"]
    entries(chip)["tides"].trigger()
    assert application.repository.root == "/elsewhere/tides"
    entries(chip)["Close repository"].trigger()
    assert application.repository.phase == "none" and chip.value.words == "choose a folder"


def test_the_primary_action_adapts(main_window, application, qtbot):
    button = main_window.header.adapt_button
    assert not button.isEnabled() and "folder first" in button.toolTip()
    open_repository(application)
    assert button.isEnabled() and button.text() == "Adapt"
    press(qtbot, button)
    assert front(main_window) == "Adapt" and not button.isVisible()  # that page has the plan, and its own button


def test_the_primary_action_follows_the_changes(main_window, application, qtbot):
    started = []
    application.training.adapt_to_changes = lambda: started.append(1)
    open_repository(application)
    application.repository.on_changes(changes())
    button = main_window.header.adapt_button
    assert button.text() == "Adapt"  # on the page that offers the changes itself
    main_window.show_page("Settings")
    assert button.text() == "Adapt to changes" and "about 40 s" in button.toolTip()
    press(qtbot, button)
    assert started == [1] and front(main_window) == "Adapt"


def test_nothing_is_started_while_a_run_goes_on(main_window, application):
    open_repository(application)
    application.training._enter("running")
    assert not main_window.header.adapt_button.isVisible()
    assert not main_window.actions_.adapt.isEnabled() and main_window.actions_.stop.isEnabled()


def test_an_answered_offer_to_adapt_is_not_made_again(main_window, application):
    open_repository(application)
    find_devices(application)
    application.repository.on_changes(changes())
    main_window.show_page("Settings")
    button, rail = main_window.header.adapt_button, main_window.rail.buttons["Repository"]
    assert button.text() == "Adapt to changes" and rail.count.isVisible()
    application.repository.answer_offer()
    assert button.text() == "Adapt" and not rail.count.isVisible()
    application.repository.on_changes(changes(15, 420, ("orbit/pass.py", "orbit/new.py")))
    assert button.text() == "Adapt to changes" and rail.count.text() == "15"
    application.training.adapt_to_changes()
    assert not application.repository.offered_changes.any
    application.training.on_finished(None)  # nothing came of it, and nothing else has changed
    assert button.text() == "Adapt"
    application.training.adapt_to_changes()
    application.training.on_failed(Failure("The device was lost.", ""))
    assert button.text() == "Adapt to changes"


# ---- footer


def test_the_footer_shows_the_memory_of_the_process_beside_the_models(main_window):
    footer = main_window.footer
    footer.on_process_due()
    value, unit = footer.process.text().split()
    assert float(value) > 0 and unit in ("MiB", "GiB")
    names = [label.text() for label in footer.findChildren(QLabel)]
    assert names.index("Model memory:") + 1 == names.index(footer.memory.text())
    assert names.index("Process:") + 1 == names.index(footer.process.text())


def test_the_footer_tells_the_engine_memory_watcher_and_speed(main_window, application):
    footer, engine = main_window.footer, application.engine
    assert footer.offline.text() == "no connections"
    assert footer.engine.words == "looking for devices" and footer.watcher.text() == "nothing"
    assert footer.memory.text() == "0 B of 3 GiB" and footer.speed.text() == "– tokens/s"  # always there
    application.settings.memory_ceiling = 2 * GIB
    assert footer.memory.text() == "0 B of 2 GiB"
    find_devices(application)
    open_repository(application)
    engine.on_memory(MemoryState({"weights": GIB}, int(1.9 * GIB), 2 * GIB, 3 * GIB))
    engine.on_activity("Training step 120 of 400", 2130.4)
    assert footer.engine.words == "training step 120 of 400"
    assert footer.memory.text() == "1.9 GiB of 3 GiB" and "weights: 1 GiB" in footer.memory.toolTip()
    assert footer.watcher.text() == "on" and footer.speed.text() == "2,130 tokens/s"
    engine.on_activity("Idle", 0.0)
    assert footer.speed.text() == "– tokens/s"
    application.repository.on_watcher("failed", "No more folders can be watched.")
    assert footer.watcher.text() == "failed" and "No more folders" in footer.watcher.toolTip()


# ---- menu and keys


def test_pause_and_stop_have_keys(main_window, application, qtbot):
    asked = record(application.jobs, "pause", "resume", "stop")
    application.training._enter("running")
    qtbot.keyClick(main_window, Qt.Key.Key_P, CTRL | SHIFT)
    qtbot.keyClick(main_window, Qt.Key.Key_P, CTRL | SHIFT)
    qtbot.keyClick(main_window, Qt.Key.Key_S, CTRL | SHIFT)
    assert asked == [("pause",), ("resume",), ("stop",)]


def test_keys_are_told_apart(main_window):
    keys = [action.shortcut().toString() for action in main_window.actions() if not action.shortcut().isEmpty()]
    assert len(keys) == len(set(keys))
    assert {"Ctrl+O", "F5", "Ctrl+1", "F1", "F10", "Ctrl+Q"} <= set(keys)


def test_about_and_check_go_to_their_part_of_the_settings(main_window, application):
    main_window.actions_.about.trigger()
    assert front(main_window) == "Settings" and main_window.page("Settings").parts.value == "about"
    find_devices(application)
    main_window.actions_.check.trigger()
    assert main_window.page("Settings").parts.value == "device" and application.engine.phase == "checking"


def test_the_folder_is_chosen_and_read(main_window, application, tmp_path):
    main_window.show_page("Settings")
    main_window.actions_.folder.trigger()
    dialog = main_window.folder_dialog
    assert dialog.isVisible()
    dialog.fileSelected.emit(str(tmp_path))
    dialog.reject()
    assert application.repository.root == str(tmp_path) and front(main_window) == "Repository"


# ---- for everybody


@pytest.mark.parametrize("title", titles())
@pytest.mark.parametrize("size", [(1024, 700), (1920, 1080)])
def test_nothing_is_cut_off_and_everything_has_a_name(main_window, application, qapp, title, size):
    find_devices(application)
    open_repository(application)
    application.repository.on_changes(changes())
    main_window.preloading.rest()
    main_window.show_page(title)
    main_window.resize(*size)
    for _ in range(3):
        qapp.processEvents()
    page = main_window.page(title)
    assert page.minimumSizeHint().width() <= page.width()
    for view in page.findChildren(QWidget, "page_view"):
        if view.isVisible():
            assert view.widget().minimumSizeHint().width() <= view.viewport().width()
    for button in main_window.findChildren(QAbstractButton):
        if button.isVisible() and button.focusPolicy() != Qt.FocusPolicy.NoFocus:
            assert button.accessibleName() or button.text(), button
            assert button.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_at_first_no_control_has_a_ring(main_window):
    assert not isinstance(QApplication.focusWidget(), QAbstractButton)
