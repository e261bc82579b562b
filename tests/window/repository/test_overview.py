"""The overview of all repositories."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from app.values.checkpoints import CheckpointRow
from app.values.folders import FolderRow
from app.window.repository.overview import ADAPTED, FILES, FOLDER, MEMORY, MODEL, SIZE
from tests.app.played_jobs import answer, record
from tests.window.stage import ROOT, open_repository, press

BESIDE = "/somewhere/beam"
GONE = "/somewhere/gone"
ROWS = (
    FolderRow(ROOT, 12, 2048, 900, 3 * 2**20, "2026-11-18T21:40:00+00:00"),
    FolderRow(BESIDE, 3, 1024, 90, 2**20, "2026-01-02T01:00:00+00:00"),
    FolderRow(GONE, is_there=False),
)


@pytest.fixture
def overview(opened, application, main_window):
    checkpoint = CheckpointRow("c7", "orbit #7", "2026-11-18T20:00:00+00:00", mode="lora", repository=ROOT)
    application.checkpoints.rows, application.checkpoints.has_starter = (checkpoint,), True
    application.checkpoints.listed = True
    application.on_checkpoints_changed()
    application.completion.choose_model("c7")
    main_window.actions_.all_folders.trigger()
    application.folders.on_rows(ROWS)
    return opened.overview


def words(overview, row: int) -> list[str]:
    return [overview.model.index(row, column).data() for column in (FOLDER, FILES, SIZE, MEMORY, MODEL)]


def choose(overview, row: int) -> None:
    overview.view.selectRow(row)


def test_each_folder_with_its_size_memory_and_model(overview):
    assert overview.isVisible()
    assert words(overview, 0) == ["orbit", "12", "2 KiB", "3 MiB", "orbit #7"]
    assert words(overview, 1) == ["beam", "3", "1 KiB", "1 MiB", "Built-in model"]
    assert words(overview, 2) == ["gone", "–", "–", "–", "Built-in model"]
    adapted = [overview.model.index(row, ADAPTED) for row in range(3)]
    assert adapted[1].data() == "never" and "orbit #7" in adapted[0].data(Qt.ItemDataRole.ToolTipRole)
    assert "no longer exists" in overview.model.index(2, FOLDER).data(Qt.ItemDataRole.ToolTipRole)
    assert overview.heading.subtitle.text() == "3 folders · 4 MiB of memory on disk"
    assert overview.chosen == ROOT


def test_a_folder_is_opened_by_its_button_or_its_row(overview, application, opened, qtbot):
    asked = record(application.jobs, "open")
    choose(overview, 1)
    press(qtbot, overview.open_button)
    assert asked == [("open", BESIDE)] and opened.stack.currentWidget() is opened.view


def test_the_open_folder_is_only_shown(overview, application, opened):
    asked = record(application.jobs, "open")
    overview.view.activated.emit(overview.model.index(0, FOLDER))
    assert asked == [] and opened.stack.currentWidget() is opened.view


def test_a_folder_that_is_gone_cannot_be_opened_but_forgotten(overview, application, qtbot):
    deleted = record(application.jobs, "delete_kept")
    choose(overview, 2)
    assert not overview.open_button.isEnabled()
    press(qtbot, overview.delete_button)
    assert deleted == [] and "gone" in overview.words.text() and overview.keep_button.isVisible()
    press(qtbot, overview.keep_button)
    assert deleted == [] and overview.delete_button.isVisible()
    press(qtbot, overview.delete_button)
    press(qtbot, overview.sure_button)
    assert deleted == [("delete_kept", GONE)] and application.repository.root == ROOT


def test_choosing_another_row_withdraws_the_question(overview, application, qtbot):
    deleted = record(application.jobs, "delete_kept")
    choose(overview, 1)
    press(qtbot, overview.delete_button)
    choose(overview, 0)
    assert not overview.sure_button.isVisible()
    overview.on_sure_clicked()
    assert deleted == []


def test_a_question_stays_while_the_list_is_read_again(overview, application, qtbot):
    choose(overview, 1)
    press(qtbot, overview.delete_button)
    application.folders.on_rows((replace(ROWS[0], memory=4 * 2**20), *ROWS[1:]))
    assert overview.chosen == BESIDE and "beam" in overview.words.text() and overview.sure_button.isVisible()
    application.folders.on_rows((ROWS[0], ROWS[2]))  # but not if the folder is no longer listed
    assert not overview.sure_button.isVisible() and overview.words.text() == ""


def test_deleting_the_open_folder_closes_it_and_lists_again(overview, application, opened, qtbot):
    choose(overview, 0)
    press(qtbot, overview.delete_button)
    press(qtbot, overview.sure_button)
    assert application.repository.phase == "none" and opened.stack.currentWidget() is overview
    assert not overview.back_button.isVisible()
    asked = record(application.jobs, "known_folders")
    answer(application.jobs, "delete_kept")
    assert [each[0] for each in asked] == ["known_folders"]


def test_escape_leads_back(overview, opened, qtbot):
    overview.view.setFocus()
    qtbot.keyClick(overview.view, Qt.Key.Key_Escape)
    assert opened.stack.currentWidget() is opened.view


def test_the_page_says_what_a_folder_is_part_of(opened, application):
    application.folders.on_rows((FolderRow("/somewhere"),))
    assert "part of somewhere" in opened.heading.subtitle.text()
    application.folders.on_rows(())
    assert "part of" not in opened.heading.subtitle.text()


def test_nothing_read_yet(page, application, main_window):
    main_window.actions_.all_folders.trigger()
    application.folders.on_rows(())
    assert page.overview.nothing.isVisible() and not page.overview.delete_button.isEnabled()


def test_the_start_pane_leads_here_once_there_are_folders(page, application, qtbot):
    assert not page.start.all_button.isVisible()
    application.settings.recent_folders = ["/somewhere/orbit"]
    application.repository.changed.emit()
    press(qtbot, page.start.all_button)
    assert page.overview.isVisible()


def test_the_model_menu_has_this_folders_models_first(overview, application, main_window):
    rows = tuple(
        CheckpointRow(id, id, "2026-11-18T20:00:00+00:00", mode="lora", repository=root)
        for id, root in (("b1", BESIDE), ("o1", ROOT))
    )
    application.checkpoints.rows = rows
    application.on_checkpoints_changed()
    chip = main_window.header.model_chip
    chip.on_about_to_show()
    entries = [action.data() for action in chip.choices.actions() if action.data()]
    assert entries == ["o1", "starter", "b1"]


def test_opening_shows_the_page(opened, application):
    open_repository(application)
    assert opened.stack.currentWidget() is opened.view
