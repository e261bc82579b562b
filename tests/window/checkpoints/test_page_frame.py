"""The page around its table: empty, filtered, by keyboard, and what it loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLineEdit

from app.window.checkpoints import table_model as columns
from tests.window.checkpoints.shelf import cards, choose, names

ROOT = Path(__file__).parents[3]


def test_without_checkpoints_it_says_what_to_do(program, page_of, qtbot):
    one = program()
    page = page_of(one)
    assert page.empty.isVisible() and not page.empty_trash_link.isVisible()
    with qtbot.waitSignal(page.page_wanted) as asked:
        one.press(page.adapt_button)
    assert asked.args == ["Adapt"]
    one.press(page.first_import_button)
    assert page.import_menu.isVisible() and len(page.import_menu.actions()) == 2
    page.import_menu.hide()


def test_filters_places_and_what_is_remembered(desk, story, page_of, qtbot):
    one, page = desk
    page.list.filters.search.setText("elsewhere")
    page.list.filters.search.on_edited("")
    one.until(lambda: names(page) == ["from elsewhere"])
    assert page.list.shown.text() == "1 of 6"
    page.list.filters.search.setText("zebra")
    page.list.filters.on_settled()
    assert page.list.no_match.isVisible()
    one.press(page.list.clear_button)
    assert len(names(page)) == 5 and page.table.isVisible()
    page.table.sortByColumn(columns.LOSS, Qt.SortOrder.AscendingOrder)
    assert names(page)[:2] == ["shelves #3", "shelves #2"]
    page.table.setColumnWidth(columns.NAME, 222)
    page.splitter.setSizes([500, 560])
    page.on_splitter_moved()
    kept = page.splitter.sizes()
    page.keep_place()
    other = page_of(one)
    assert other.table.columnWidth(columns.NAME) == 222 and other.splitter.sizes() == kept
    assert names(other)[:2] == ["shelves #3", "shelves #2"]


def test_everything_has_a_name_and_can_be_reached_by_keyboard(desk, story, qtbot):
    one, page = desk
    choose(one, page, story, "shelves #2", "shelves #3")
    one.press(page.buttons["merge"])
    for control in (*page.findChildren(QAbstractButton), *page.findChildren(QLineEdit)):
        inner = control.objectName().startswith("qt_") or isinstance(control.parent(), QLineEdit)
        if inner or not control.isVisibleTo(page):
            continue
        name = control.accessibleName() or control.text()
        assert name, control
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus, name
    for widget in (page.table, page.detail.drift.map, page.detail.curves.chart, page.detail.merge.slider):
        assert widget.accessibleName() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    page.activateWindow()
    page.detail.merge.slider.setFocus()
    qtbot.waitUntil(page.detail.merge.slider.hasFocus)
    qtbot.keyClick(page.detail.merge.slider, Qt.Key.Key_Escape)
    assert "merge" not in cards(page)
    keys = [action.shortcut().toString() for action in page.actions() if not action.shortcut().isEmpty()]
    assert len(keys) == len(set(keys)) >= 14
    tips = {button.toolTip() for button in page.buttons.values()}
    assert any("(Del)" in words for words in tips)
    page.resize(840, 620)
    assert page.minimumSizeHint().width() <= 840
    for which in (("shelves #1",), ("shelves #2", "shelves #3"), ("tiny", "shelves #2", "shelves #3")):
        choose(one, page, story, *which)
        page.actions_.merge.trigger()  # where it may not, nothing happens
        page.actions_.export.trigger()
        assert page.detail.widget().minimumSizeHint().width() <= page.detail.minimumWidth(), which


def test_the_page_alone_does_not_load_pyqtgraph():
    code = "import sys, app.window.checkpoints.page; sys.exit('pyqtgraph' in sys.modules or 'gguf' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
