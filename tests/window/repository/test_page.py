"""The Repository page: what it shows of the controller, and what every control asks it for."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QAbstractItemModel, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtTest import QAbstractItemModelTester

from app.values.events import Failure
from app.values.memory import READY, MemoryView
from app.values.repository import FileRow
from app.window.repository.file_tree import NAME, TOKENS, VERDICT
from app.window.repository.filters import CHANGED, HELD_OUT, LEFT_OUT
from app.window.repository.page import FILES, SECRETS
from app.window.repository.tree_builder import AT_ONCE
from tests.window.stage import ROOT, changes, corpus, open_repository, press, rows


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
    actions["Undo my choice"].trigger()
    assert asked == [("override", "orbit/pass.py", False), ("override", "orbit/pass.py", None)]
    actions["Copy path"].trigger()
    assert QGuiApplication.clipboard().text() == "orbit/pass.py"
    actions = {action.text(): action for action in opened.files.menu_for(nodes["orbit/old.py"]).actions()}
    actions["Show all files left out for this reason"].trigger()
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


def test_languages_are_switched_one_after_the_other(opened, asked, qtbot):
    menu = opened.languages.menu
    menu.popup(opened.mapToGlobal(QPoint(0, 0)))
    lines = {action.data(): action for action in menu.actions()}
    qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(lines["TypeScript"]).center())
    menu.setActiveAction(lines["Markdown"])
    qtbot.keyClick(menu, Qt.Key.Key_Space)
    assert asked == [("choose_language", "TypeScript", False), ("choose_language", "Markdown", False)]
    assert menu.isVisible()  # there may be more to switch
    menu.close()


def test_the_languages_menu_has_shares_and_the_languages_that_are_off(opened, application):
    drawing = FileRow("logo.svg", "svg", 10, None, False, "language_off", "language switched off", "svg")
    application.repository.on_corpus(corpus((*rows(), drawing), languages_off=("svg",)), True)
    menu = opened.languages.menu
    menu.popup(opened.mapToGlobal(QPoint(0, 0)))
    lines = {action.data(): (action.text().split("\t")[1], action.isChecked()) for action in menu.actions()}
    assert (lines["Python"][0].strip(), lines["Python"][1]) == ("90 %", True) and lines["svg"] == ("off, 1 file", False)
    application.repository.on_corpus(corpus(languages_off=("Python", "svg")), True)
    assert [action.data() for action in menu.actions()] == [*lines]  # nothing moves under the mouse
    assert not menu.actions()[0].isChecked()
    menu.close()


def test_a_language_keeps_its_colour_when_its_rank_changes(opened, application, theme):
    def colours():
        grabbed = {}
        for entry in filter(lambda each: each.isVisible(), opened.languages.entries):
            grabbed[entry.language] = entry._square.pixmap().toImage().pixelColor(4, 4).name()
        return grabbed

    before = colours()
    languages = tuple(reversed(corpus().by_language))
    application.repository.on_corpus(corpus(by_language=languages), True)
    assert [entry.language for entry in opened.languages.entries if entry.isVisible()] == [*before][::-1]
    assert colours() == before and len(set(before.values())) == len(before)


# ---- secrets


def test_secrets_are_listed_and_never_shown(opened, application, asked, qtbot):
    press(qtbot, opened.figures.secrets)
    assert opened.lists.currentWidget() is opened.secrets and opened.which.value == SECRETS
    table = opened.secrets.table
    words = [table.findings.index(0, column).data() for column in range(5)]
    assert words[:4] == ["orbit/api/handlers/slot.py", "12", "AWS access key", "••••••••••"] and "masked" in words[4]
    assert not opened.secrets.mark_button.isEnabled()
    table.selectRow(0)
    press(qtbot, opened.secrets.mark_button)
    table.selectRow(1)
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert asked == [("set_not_secret", "one", True), ("set_not_secret", "two", False)]
    application.repository.on_corpus(corpus(), True)
    press(qtbot, opened.secrets.policy.buttons["leave_out"])
    assert application.settings.secret_policy == "leave_out"
    press(qtbot, opened.which.buttons[FILES])
    assert opened.lists.currentWidget() is opened.files


def test_a_secret_is_opened_at_its_line(opened, application, main_window, qtbot, tmp_path):
    file = tmp_path / "orbit" / "api" / "handlers" / "slot.py"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"line_{number} = {number}\n" for number in range(1, 21)))
    open_repository(application, corpus(root=str(tmp_path)))
    press(qtbot, opened.figures.secrets)
    view, editor = opened.secrets, main_window.page("Complete").editor
    assert not view.open_button.isEnabled()

    def line() -> int:
        return editor.textCursor().blockNumber() + 1

    ways = (
        lambda: press(qtbot, view.open_button),
        lambda: qtbot.keyClick(view.table, Qt.Key.Key_Return),
        lambda: view.table.doubleClicked.emit(view.table.currentIndex()),
    )
    for way in ways:
        main_window.show_page("Repository")
        view.table.selectRow(0)
        editor.moveCursor(QTextCursor.MoveOperation.Start)
        way()
        qtbot.waitUntil(lambda: line() == 12)
        assert main_window.pages.currentWidget() is main_window.page("Complete")


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
    assert "memory" not in banner.words.text()
    application.memory.on_memory(MemoryView(1000, 14, 9, READY))
    application.repository.on_changes(changes())
    assert "from memory" in banner.words.text() and "about 40 s" in banner.words.text()
    application.memory.switch(False)
    assert "memory" not in banner.words.text()
    press(qtbot, banner.show_button)
    assert opened.filters.what.value == CHANGED and shown(opened) == ["orbit/pass.py"]
    press(qtbot, banner.later_button)
    application.repository.on_changes(changes())
    assert not banner.isVisible()
    application.repository.on_changes(changes(15, 420))
    assert banner.isVisible()


def test_a_filter_that_is_gone_shows_everything_again(opened, application, qtbot):
    application.repository.on_changes(changes())
    press(qtbot, opened.banner.show_button)
    application.repository.on_changes(changes(0, 0))
    assert opened.filters.what.value == "" and shown(opened) == sorted(row.path for row in rows())


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
