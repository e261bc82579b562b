"""The settings: every field writes its setting at once, follows it, and says why a value cannot be taken."""

from __future__ import annotations

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel

from app import VERSION
from app.values.checkpoints import DiskUseView, Listing, TrashRow
from app.values.engine import RaceEnded, RaceLine
from tests.app.played_jobs import record
from tests.window.stage import find_devices, press

GIB = 2**30
CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def page(main_window):
    main_window.show_page("Settings")
    return main_window.page("Settings")


@pytest.fixture
def part(page, qtbot):
    """Shows a part as the user does and gives its pane."""

    def show(key: str):
        press(qtbot, page.parts.buttons[key])
        return page.panes[key]

    return show


def type_into(qtbot, field, words: str) -> None:
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, words)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_the_theme_and_the_keys_come_first_and_the_kernels_last(page, part, application):
    first, *_, device, about = page.parts.buttons
    assert (first, device, about) == ("look", "device", "about") == (page.parts.value, "device", "about")
    find_devices(application)
    pane = part("device")
    assert not pane.kernels.isVisible()  # nothing was checked
    application.engine.check()
    assert pane.kernels.isVisible() and pane.column.indexOf(pane.kernels.parentWidget()) == pane.column.count() - 2


def test_numbers_apply_at_once_in_their_own_unit(part, application, qtbot):
    pane = part("work")
    type_into(qtbot, pane.ceiling.control, "2.5")
    type_into(qtbot, pane.duty.control, "60")
    type_into(qtbot, part("completion").most.control, "600")
    settings = application.settings
    assert (settings.memory_ceiling, settings.duty_cycle, settings.completion_delay_most) == (int(2.5 * GIB), 0.6, 600)


@pytest.mark.parametrize(
    ("pane", "row", "typed", "words"),
    [
        ("work", "ceiling", "0.05", "0.125 GiB"),
        ("work", "duty", "5", "10 % to 100 %"),
        ("completion", "least", "900", "shortest delay"),
        ("completion", "most", "9000", "5,000 ms"),
    ],
)
def test_a_value_that_cannot_be_says_why_and_changes_nothing(part, application, qtbot, pane, row, typed, words):
    before = dict(application.settings._values)
    field = getattr(part(pane), row)
    type_into(qtbot, field.control, typed)
    assert field.error.isVisible() and words in field.error.text()
    assert application.settings._values == before


def test_a_ceiling_above_the_machines_memory_is_refused(part, application, qtbot):
    row = part("work").ceiling
    type_into(qtbot, row.control, str(psutil.virtual_memory().total // GIB + 2))
    assert "This machine has" in row.error.text() and application.settings.memory_ceiling == 3 * GIB
    application.settings.memory_ceiling = 2 * GIB
    assert row.control.value() == 2.0 and not row.error.isVisible()  # follows what was set elsewhere


def test_idle_rules_need_the_watcher_and_the_switch(part, application, qtbot):
    pane = part("work")
    assert not pane.minutes.isEnabled()
    press(qtbot, pane.auto.control)
    assert application.settings.auto_adapt and pane.minutes.isEnabled()
    press(qtbot, pane.watch.control)
    assert not application.settings.watch and not pane.auto.isEnabled() and not pane.minutes.isEnabled()


def test_a_watcher_that_cannot_is_said(part, application):
    pane = part("work")
    application.repository.on_watcher("looking", "The system watches no more folders; looking every 20 s.")
    assert pane.watcher_note.isVisible() and "every 20 s" in pane.watcher_note.words.text()
    application.repository.on_watcher("watching", "")
    assert not pane.watcher_note.isVisible()


def test_keys_are_taken_as_they_are_pressed(part, application, qtbot):
    pane = part("look")
    rows, settings = pane.keys, application.settings
    field = rows["key_accept"].control
    press(qtbot, field)
    assert field.text() == "Press the keys…"
    qtbot.keyClick(field, Qt.Key.Key_Control)  # a modifier alone is not a key
    qtbot.keyClick(field, Qt.Key.Key_Return, CTRL)
    assert settings.key_accept == "Ctrl+Return" and field.text() == "Ctrl+Return"
    press(qtbot, rows["key_dismiss"].control)
    qtbot.keyClick(rows["key_dismiss"].control, Qt.Key.Key_Tab)  # Tab too, which elsewhere moves the focus
    assert settings.key_dismiss == "Tab"
    press(qtbot, rows["key_accept_word"].control)
    qtbot.keyClick(rows["key_accept_word"].control, Qt.Key.Key_Tab)
    assert "already in use" in rows["key_accept_word"].error.text()
    assert settings.key_accept_word == "Ctrl+Right"
    press(qtbot, pane.reset_button)
    assert (settings.key_accept, settings.key_dismiss) == ("Tab", "Esc") and not pane.reset_button.isEnabled()


def test_listening_for_keys_ends_with_the_focus(part, qtbot):
    pane = part("look")
    field = pane.keys["key_accept"].control
    press(qtbot, field)
    pane.ligatures.control.setFocus()
    assert not field.is_listening and field.text() == "Tab"


def test_the_theme_is_switched_at_once(part, application, theme, qtbot):
    pane = part("look")
    press(qtbot, pane.theme.control.buttons["dark"])
    assert theme.tokens.name == "dark" and application.settings.theme == "dark"
    application.settings.theme = "light"
    assert pane.theme.control.value == "light" and theme.tokens.name == "light"


def test_disk_use_is_measured_when_somebody_looks(part, application, qtbot):
    jobs = record(application.jobs)
    pane = part("storage")
    assert ("disk_use",) in jobs
    application.checkpoints.on_disk_use(DiskUseView(checkpoints=3 * 2**20, free=GIB))
    assert pane.sizes["checkpoints"].text() == "3 MiB" and pane.sizes["free"].text() == "1 GiB"
    assert pane.sizes["total"].text() == "3 MiB" and not pane.sizes["downloads"].isVisible()
    press(qtbot, pane.copy_button)
    assert QGuiApplication.clipboard().text() == str(application.data_folder)
    assert not pane.log_button.isEnabled()


def test_emptying_the_trash_asks_first(part, application, qtbot):
    jobs = record(application.jobs)
    pane = part("storage")
    assert not pane.empty_button.isEnabled()
    application.checkpoints.on_listed(Listing(trash=(TrashRow("k", "c1", "one", "2026-01-01"),)))
    press(qtbot, pane.empty_button)
    assert ("empty_trash",) not in jobs and "1 checkpoint" in pane.trash_words.text()
    press(qtbot, pane.keep_button)
    press(qtbot, pane.empty_button)
    press(qtbot, pane.sure_button)
    assert jobs.count(("empty_trash",)) == 1


def test_what_was_fetched_in_part_can_be_deleted(part, application, qtbot, monkeypatch):
    jobs = record(application.jobs)
    pane = part("storage")
    assert not pane.parts_button.isVisible()
    application.checkpoints.on_disk_use(DiskUseView(downloads=3 * 2**20))
    assert pane.sizes["downloads"].text() == "3 MiB" and pane.parts_button.isEnabled()
    monkeypatch.setattr(application.downloads, "agreement", object())
    application.downloads.changed.emit()
    assert not pane.parts_button.isEnabled()  # it is being fetched
    monkeypatch.setattr(application.downloads, "agreement", None)
    application.downloads.changed.emit()
    press(qtbot, pane.parts_button)
    assert jobs.count(("delete_downloads",)) == 1
    application.checkpoints.on_disk_use(DiskUseView())
    assert not pane.parts_button.isVisible()


def test_the_race_shows_every_device_and_what_it_means(part, application, qtbot):
    find_devices(application)
    card = part("device").race_card
    raced = record(application.jobs, "race")
    press(qtbot, card.button)
    assert raced == [("race", ("cpu", "webgpu:0"))] and card.cancel_button.isVisible()
    slow, fast = RaceLine("cpu", "A processor", 1400.0), RaceLine("webgpu:0", "A card", 5200.0)
    broken = RaceLine("webgpu:1", "Another", problem="It gives wrong numbers.")
    application.engine.on_race_line(slow)
    application.engine.on_race_ended(RaceEnded((fast, slow, broken)))
    assert "A card is the fastest" in card.words.text() and card.button.isVisible()
    widgets = [card._grid.itemAt(i).widget() for i in range(card._grid.count())]
    words = [widget.text() for widget in widgets if isinstance(widget, QLabel)]
    assert any("5,200 tokens/s" in each for each in words) and any("wrong numbers" in each for each in words)


def test_automatic_takes_the_winner_of_the_race_and_says_so_everywhere(part, application, main_window, qtbot):
    find_devices(application)
    pane, chip = part("device"), main_window.header.device_chip
    lines = (RaceLine("cpu", "A processor", 5200.0), RaceLine("webgpu:0", "A card", 1400.0))

    def said():
        chip.on_about_to_show()
        badges = [card.info.name for card in pane.devices.cards if card._automatic.isVisible()]
        return chip.choices.actions()[0].text(), badges

    assert said() == ("Automatic: A <b>graphics</b> card", ["webgpu:0"])
    application.engine.on_race_ended(RaceEnded(lines))
    assert said() == ("Automatic: A processor", ["cpu"]) and application.engine.in_use.name == "cpu"
    assert chip.choices.actions()[0].toolTip() == application.engine.automatic_reason


def test_the_device_can_be_left_to_the_program_again(part, application, qtbot):
    find_devices(application)
    pane = part("device")
    assert pane.automatic.isChecked()
    qtbot.waitUntil(pane.devices.cards[0].isVisible)
    press(qtbot, pane.devices.cards[0])
    assert not pane.automatic.isChecked() and application.engine.preferred == "cpu"
    press(qtbot, pane.automatic)
    assert pane.automatic.isChecked() and application.engine.preferred == "auto"
    assert application.engine.in_use.name == "webgpu:0"
    press(qtbot, pane.automatic)
    assert application.engine.preferred == "webgpu:0"  # what is in use stays


def test_a_race_waits_for_a_run_to_end(part, application):
    find_devices(application)
    card = part("device").race_card
    application.training._enter("running")
    assert not card.button.isEnabled()


def test_about_names_the_versions(part, qtbot):
    press(qtbot, part("about").copy_button)
    copied = QGuiApplication.clipboard().text()
    assert f"Codecoil: {VERSION}" in copied and "PySide6: 6." in copied


def test_deleting_what_is_kept_about_a_repository_asks_first(part, application, qtbot, tmp_path):
    deleted = record(application.jobs, "delete_kept")
    pane = part("storage")
    assert not pane.kept.isVisible()
    application.repository.open(tmp_path)
    press(qtbot, pane.kept.button)
    assert deleted == [] and "memory" in pane.kept.words.text() and tmp_path.name in pane.kept.words.text()
    press(qtbot, pane.kept.keep_button)
    assert pane.kept.button.isVisible()
    press(qtbot, pane.kept.button)
    press(qtbot, pane.kept.sure_button)
    assert (
        deleted == [("delete_kept", str(tmp_path))]
        and not pane.kept.isVisible()
        and application.repository.phase == "none"
    )
