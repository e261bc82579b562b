"""The Repository page: what it shows of the controller, and what every control asks it for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QAbstractItemModel, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from app.events import Failure
from app.values.completion import ModelChoice
from app.values.repository import FileLosses
from app.window.repository.file_tree import LOSS, NAME, TOKENS, VERDICT
from app.window.repository.filters import CHANGED, HELD_OUT, LEFT_OUT
from app.window.repository.page import FILES, SECRETS
from app.window.repository.tree_builder import AT_ONCE
from tests.window.stage import ROOT, changes, corpus, open_repository, press, rows


@pytest.fixture
def page(main_window):
    return main_window.page("Repository")


@pytest.fixture
def opened(page, application):
    """The page with a repository on it."""
    open_repository(application)
    return page


@pytest.fixture
def asked(application):
    """What the controller was asked for, by name."""
    repository, told = application.repository, []
    for name in ("open", "override", "language", "not_secret", "policy", "score", "cancel_score", "rescan", "cancel"):
        getattr(repository, f"{name}_wanted").connect(lambda *what, name=name: told.append((name, *what)))
    return told


def shown(page) -> list[str]:
    return sorted(node.path for node in page.files.files.tree.nodes if node.file)


def index(page, path: str, column: int = NAME):
    return page.files.files.index_of(path).siblingAtColumn(column)


# ---- nothing open


def test_at_first_it_says_what_to_do(page, main_window, qtbot):
    assert page.stack.currentWidget() is page.start
    assert page.start.folder_button.isVisible()
    wanted = []
    page.folder_wanted.connect(lambda: wanted.append(1))
    main_window.application.blockSignals(True)
    page.folder_wanted.disconnect(main_window.on_folder_wanted)
    press(qtbot, page.start.folder_button)
    assert wanted == [1]


def test_the_sample_project_is_opened(page, application, asked):
    page.start.sample_wanted.emit()
    assert asked == [("cancel",), ("open", str(application.data_folder / "sample" / "tidewater"))]


def test_recent_folders_are_opened_and_forgotten(page, application, asked, qtbot):
    application.settings.recent_folders = ["/a/one", "/b/two"]
    application.repository.changed.emit()
    assert [row.folder for row in page.start.recent] == ["/a/one", "/b/two"]
    qtbot.waitUntil(page.start.recent[1].forget_button.isVisible)
    press(qtbot, page.start.recent[1].forget_button)
    assert application.settings.recent_folders == ["/a/one"]
    qtbot.waitUntil(page.start.recent[0].button.isVisible)
    press(qtbot, page.start.recent[0].button)
    assert asked == [("cancel",), ("open", "/a/one")]


# ---- the list


def test_it_shows_the_repository_in_numbers(opened):
    figures = opened.figures
    assert (figures.learned.figure.number.text(), figures.learned.figure.remark.words) == ("4 files", "2,900 tokens")
    assert figures.held_out.figure.number.text() == "1 file"
    assert figures.left_out.figure.number.text() == "3 files"
    assert figures.secrets.figure.number.text() == "1 line"
    assert opened.heading.subtitle.text() == f"{ROOT} · watching · read in 1.2 s"
    assert [entry.language for entry in opened.languages.entries if entry.isVisible()] == [
        "Python",
        "TypeScript",
        "Markdown",
    ]


def test_the_tree_is_a_sound_model(opened, qtbot):
    model: QAbstractItemModel = opened.files.files
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    opened.filters.choose(LEFT_OUT)
    opened.filters.choose()
    assert index(opened, "orbit/pass.py", VERDICT).data() == "learn, chosen by you"
    assert index(opened, "orbit/").data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.PartiallyChecked
    assert "Verdict: learn" in index(opened, "README.md", VERDICT).data(Qt.ItemDataRole.AccessibleTextRole)


def test_a_click_on_the_tick_decides(opened, asked, qtbot):
    files = opened.files
    rect = files.visualRect(index(opened, "README.md"))
    qtbot.mouseClick(files.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(rect.left() + 8, rect.center().y()))
    assert asked == [("override", "README.md", False)]
    assert index(opened, "README.md", VERDICT).data() == "will be left out"  # at once, not when it was read again
    qtbot.mouseClick(files.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(rect.left() + 60, rect.center().y()))
    assert len(asked) == 1  # a click on the name only chooses the row


def test_space_decides_and_a_folder_with_both_is_learned(opened, asked, qtbot):
    opened.files.setCurrentIndex(index(opened, "orbit/"))
    qtbot.keyClick(opened.files, Qt.Key.Key_Space)
    opened.files.setCurrentIndex(index(opened, "vendor/"))
    qtbot.keyClick(opened.files, Qt.Key.Key_Space)
    assert asked == [("override", "orbit/", True), ("override", "vendor/", True)]


def test_the_menu_of_a_file(opened, asked):
    nodes = opened.files.files.tree.by_path
    actions = {action.text(): action for action in opened.files.menu_for(nodes["orbit/pass.py"]).actions()}
    assert not actions["Learn this file"].isEnabled()
    actions["Leave this file out"].trigger()
    actions["Leave it to the rules again"].trigger()
    assert asked == [("override", "orbit/pass.py", False), ("override", "orbit/pass.py", None)]
    actions["Copy its path"].trigger()
    assert QGuiApplication.clipboard().text() == "orbit/pass.py"
    actions = {action.text(): action for action in opened.files.menu_for(nodes["orbit/old.py"]).actions()}
    actions["Show all left out for this reason"].trigger()
    assert shown(opened) == ["orbit/old.py"] and opened.filters.what.value == "near_duplicate"


def test_filters_find_and_say_how_many(opened, qtbot):
    assert opened.shown.text() == ""
    qtbot.keyClick(opened, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(opened.filters.search.hasFocus)
    qtbot.keyClicks(opened.filters.search, "orbit P")
    qtbot.waitUntil(lambda: opened.shown.text() == "4 of 8")
    press(qtbot, opened.figures.held_out)
    assert shown(opened) == ["orbit/api/handlers/beam.py"] and opened.filters.what.value == HELD_OUT
    press(qtbot, opened.languages.entries[1])
    assert shown(opened) == ["web/panel.ts"]
    press(qtbot, opened.languages.entries[1])  # once more shows all again
    assert len(shown(opened)) == 8


def test_what_is_open_and_chosen_stays_when_it_is_read_again(opened, application):
    files = opened.files
    files.collapse(index(opened, "orbit/"))
    files.setCurrentIndex(index(opened, "web/"))
    application.repository.on_corpus(corpus(), True)
    assert not files.isExpanded(index(opened, "orbit/")) and files.isExpanded(index(opened, "web/"))
    assert files.files.node(files.currentIndex()).path == "web/"
    files.expand(index(opened, "orbit/"))
    application.repository.on_corpus(corpus(), True)
    assert files.isExpanded(index(opened, "orbit/"))


def test_many_files_are_built_beside_the_window(opened, application, qtbot):
    many = tuple(replace(rows()[0], path=f"a{i // 100}/b{i}.md") for i in range(AT_ONCE + 1))
    application.repository.on_corpus(corpus(many), True)
    assert len(shown(opened)) == 8  # not yet
    opened.filters.search.setText("b17")
    opened.filters.on_settled()  # the newest wish wins
    qtbot.waitUntil(lambda: opened.shown.text().endswith("3,001"))
    assert all("b17" in path for path in shown(opened))


def test_losses_are_numbers_on_a_tint(opened, application, qtbot):
    assert opened.files.isColumnHidden(LOSS)
    press(qtbot, opened.score_button)
    application.repository.on_losses(FileLosses(ROOT, "starter", {"orbit/api/handlers/beam.py": 3.25}))
    assert not opened.files.isColumnHidden(LOSS)
    assert index(opened, "orbit/api/handlers/beam.py", LOSS).data() == "3.25"
    assert index(opened, "orbit/", LOSS).data() == "3.25"  # a folder has the mean of its files
    assert index(opened, "README.md", LOSS).data() == ""


def test_the_losses_are_of_one_model_which_is_named_and_of_this_folder(opened, application):
    beam, slot = "orbit/api/handlers/beam.py", "orbit/api/handlers/slot.py"
    application.completion.on_choices((ModelChoice("c7", "orbit #7", ""), ModelChoice("c8", "orbit #8", "")))
    repository = application.repository
    repository.on_losses(FileLosses(ROOT, "c7", {beam: 3.25}))
    repository.on_losses(FileLosses(ROOT, "c7", {slot: 3.0}))
    assert repository.losses == {beam: 3.25, slot: 3.0}
    assert opened.heading.subtitle.text().endswith("losses of orbit #7")
    repository.on_losses(FileLosses(ROOT, "c8", {beam: 2.5}))
    assert repository.losses == {beam: 2.5}
    assert opened.heading.subtitle.text().endswith("losses of orbit #8")
    header = opened.files.files.headerData(LOSS, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "orbit #8" in header
    repository.on_losses(FileLosses("/another", "c8", {slot: 9.0}))
    assert repository.losses == {beam: 2.5}
    repository.open("/another")
    open_repository(application, corpus(rows()[:1], "/another"))
    assert "losses" not in opened.heading.subtitle.text() and opened.files.isColumnHidden(LOSS)


def test_another_folder_ends_the_scoring_of_the_one_before(opened, application, asked):
    application.repository.score_files()
    application.repository.open("/another")
    assert asked == [("score",), ("cancel",), ("cancel_score",), ("open", "/another")]
    assert application.repository.losses == {} and application.repository.losses_of == ""


def test_nothing_is_scored_during_a_run(opened, application):
    assert opened.score_button.isEnabled() and "colours the list" in opened.score_button.accessibleDescription()
    application.training._enter("running")
    assert not opened.score_button.isEnabled()
    assert opened.score_button.accessibleDescription() == "A run has the device; files can be scored when it is over"
    application.training._enter("idle")
    assert opened.score_button.isEnabled() and "colours the list" in opened.score_button.accessibleDescription()


def test_a_scoring_that_fails_is_tried_again_by_scoring(opened, application, asked, qtbot):
    application.repository.score_files()
    application.repository.on_score_failed(Failure("The device was lost.", "Choose another."))
    assert application.repository.phase == "ready" and opened.score_button.text() == "Score files"
    assert opened.error_card.isVisible() and opened.error_card.cause.text() == "The device was lost."
    application.repository.on_watcher("watching", "")  # whatever changes besides
    assert opened.error_card.isVisible()
    press(qtbot, opened.error_card.action_button)
    assert asked == [("score",), ("score",)] and not opened.error_card.isVisible()


def test_what_fails_after_the_folder_went_does_not_bring_it_back(opened, application):
    application.repository.score_files()
    application.repository.on_gone(ROOT)
    application.repository.on_score_failed(Failure("No repository is open.", ""))
    assert application.repository.phase == "gone" and ROOT in opened.error_card.cause.text()
    application.repository.on_failed(Failure("It cannot be counted.", ""))
    assert application.repository.phase == "gone" and not opened.score_button.isEnabled()


def test_scoring_is_asked_for_and_shown(opened, application, asked, qtbot):
    press(qtbot, opened.score_button)
    assert asked == [("score",)]
    assert opened.score_button.text() == "Cancel scoring, 0 %"
    application.repository.on_scoring(3, 10)
    assert opened.score_button.text() == "Cancel scoring, 30 %"
    press(qtbot, opened.score_button)
    assert asked == [("score",), ("cancel_score",)]
    application.repository.on_scoring(0, 0)
    assert opened.score_button.text() == "Score files" and opened.score_button.isEnabled()


def test_a_language_is_switched(opened, asked):
    opened.languages.on_menu_about_to_show()
    action = next(each for each in opened.languages._menu.actions() if each.data() == "TypeScript")
    action.trigger()
    assert asked == [("language", "TypeScript", False)]


# ---- secrets


def test_secrets_are_listed_and_never_shown(opened, application, asked, qtbot):
    press(qtbot, opened.figures.secrets)
    assert opened.lists.currentWidget() is opened.secrets and opened.which.value == SECRETS
    table = opened.secrets.table
    words = [table.findings.index(0, column).data() for column in range(5)]
    assert words == ["orbit/api/handlers/slot.py", "12", "AWS access key", "••••••••••", "the line is emptied"]
    assert not opened.secrets.mark_button.isEnabled()
    table.selectRow(0)
    press(qtbot, opened.secrets.mark_button)
    table.selectRow(1)
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert asked == [("not_secret", "one", True), ("not_secret", "two", False)]
    application.repository.on_corpus(corpus(), True)
    press(qtbot, opened.secrets.policy.buttons["leave_out"])
    assert application.settings.secret_policy == "leave_out"
    press(qtbot, opened.which.buttons[FILES])
    assert opened.lists.currentWidget() is opened.files


# ---- reading, changing, failing


def test_reading_for_the_first_time_shows_progress(page, application, asked, qtbot):
    application.repository.open(ROOT)
    application.repository.on_progress(40, 100, "Reading files")
    assert not page.progress_card.isVisible()  # most reading is over sooner
    qtbot.waitUntil(page.progress_card.isVisible)
    assert page.progress.count.text() == "40 of 100"
    press(qtbot, page.progress.cancel_button)
    assert asked[-1] == ("cancel",)


def test_reading_again_pushes_nothing_down(opened, application, asked, qtbot):
    press(qtbot, opened.again_button)
    assert asked == [("rescan",)]
    application.repository.on_progress(40, 100, "Reading files")
    qtbot.waitUntil(opened.cancel_button.isVisible)
    assert not opened.progress_card.isVisible()
    assert opened.heading.subtitle.text().endswith("reading files 40 of 100")
    press(qtbot, opened.cancel_button)
    assert asked[-1] == ("cancel",)
    application.repository.on_corpus(corpus(), True)
    assert not opened.cancel_button.isVisible()


def test_changes_are_offered_put_off_and_offered_again(opened, application, main_window, qtbot):
    application.repository.on_changes(changes())
    banner = opened.banner
    assert banner.isVisible()
    assert banner.words.text().startswith("14 files, 412 lines since orbit #7.") and "about 40 s" in banner.words.text()
    press(qtbot, banner.show_button)
    assert opened.filters.what.value == CHANGED and shown(opened) == ["orbit/pass.py"]
    press(qtbot, banner.later_button)
    application.repository.on_changes(changes())
    assert not banner.isVisible()
    application.repository.on_changes(changes(15, 420))
    assert banner.isVisible()


def test_adapting_to_changes_starts_a_run(opened, application, qtbot):
    started = []
    application.training.adapt_to_changes = lambda: started.append(1)
    application.repository.on_changes(changes())
    press(qtbot, opened.banner.adapt_button)
    assert started == [1]


def test_a_folder_that_went_away_is_said_and_tried_again(opened, application, asked, qtbot):
    application.repository.on_changes(changes())
    application.repository.on_gone(ROOT)
    assert opened.error_card.isVisible() and ROOT in opened.error_card.cause.text()
    assert not opened.banner.isVisible() and "no longer there" in opened.heading.subtitle.text()
    press(qtbot, opened.error_card.action_button)
    assert asked == [("cancel",), ("open", ROOT)] and not opened.error_card.isVisible()


def test_a_failure_without_a_list_is_a_card(page, application):
    application.repository.open(ROOT)
    application.repository.on_failed(Failure("It cannot be read.", "Ask its owner.", "trace"))
    assert page.error_card.isVisible() and page.error_card.remedy.text() == "Ask its owner."


def test_notes_of_the_reading_are_shown(page, application):
    open_repository(application, corpus(notes=("Your choices could not be read.",)))
    assert page.note.isVisible() and "Your choices" in page.note.words.text()
    application.repository.on_corpus(corpus(), True)
    assert not page.note.isVisible()


def test_another_repository_starts_without_the_old_filter(opened, application):
    opened.filters.choose(LEFT_OUT)
    open_repository(application, corpus(rows()[:1], "/another"))
    assert opened.filters.filter.is_open and shown(opened) == ["README.md"]


def test_the_files_are_sorted_without_a_mouse(opened, main_window, qtbot):
    main_window.show_page("Repository")
    view = opened.files
    view.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(view, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    menu = view.sort_menu
    assert menu.isVisible()
    entries = {action.text(): action for action in menu.actions() if action.text()}
    assert "Tokens" in entries and "Model's loss" not in entries  # nothing was scored: there is no such column
    assert entries["File"].isChecked() and entries["Ascending"].isChecked()
    entries["Tokens"].trigger()
    entries["Descending"].trigger()
    menu.close()
    view.wait()
    assert view.header().sortIndicatorSection() == TOKENS and (view._wish.column, view._wish.descending) == (
        TOKENS,
        True,
    )
    assert menu in [action.menu() for action in view.menu_for(view.files.tree.nodes[1]).actions()]


def test_a_folder_dropped_on_the_editor_is_opened_and_not_pasted(main_window, qapp, tmp_path):
    main_window.show_page("Complete")
    editor = main_window.page("Complete").editor
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    assert not editor.canInsertFromMimeData(data)
    how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPoint(50, 50), *how)
    qapp.sendEvent(editor.viewport(), enter)
    assert enter.isAccepted() and main_window.drop_sign.isVisible()
    qapp.sendEvent(editor.viewport(), QDropEvent(QPointF(50, 50), *how))
    assert editor.toPlainText() == "" and main_window.application.repository.root == str(tmp_path)
    link = QMimeData()
    link.setUrls([QUrl("https://example.org/")])
    link.setText("https://example.org/")
    assert editor.canInsertFromMimeData(link)  # an address is a text like others


def test_a_folder_can_be_dropped(main_window, application, asked, tmp_path):
    from app.window.dropping import dropped_folder

    data = QMimeData()
    data.setUrls([QUrl("https://example.org/x"), QUrl.fromLocalFile(str(tmp_path))])
    assert dropped_folder(data) == str(tmp_path)
    file = tmp_path / "a.py"
    file.touch()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    assert dropped_folder(data) == str(tmp_path)
    data.setUrls([QUrl("https://example.org/x")])
    assert dropped_folder(data) == ""
    main_window.drop_sign.rise(str(tmp_path))
    assert main_window.drop_sign.isVisible()


def test_the_legend_gives_way_where_the_window_is_narrow(opened, main_window, application, qtbot):
    """Seven languages once made the page wider than the smallest window."""
    share = corpus().by_language[0]
    languages = tuple(replace(share, language=f"language {n}", share=1 / 8) for n in range(8))
    application.repository.on_corpus(corpus(by_language=languages), True)
    main_window.resize(1280, 800)
    qtbot.waitUntil(lambda: opened.languages.entries[5].isVisible())
    main_window.resize(1024, 700)
    qtbot.waitUntil(lambda: not opened.languages.entries[6].isVisible())
    assert opened.languages.entries[2].isVisible()
    assert opened.view.widget().width() == opened.view.viewport().width()
