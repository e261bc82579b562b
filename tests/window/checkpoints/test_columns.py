"""Which columns the table has: those that fit, and those that the user wants."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QFontMetricsF

import app.window.checkpoints.columns as module
from app.theme.fonts import BODY, interface_font
from app.window.checkpoints import table_model as columns
from app.window.checkpoints.columns import CHOICES, LEAST_NAME, Columns, TableLayout, used
from app.window.checkpoints.table_view import widest


def test_what_is_wanted_stays_and_the_others_give_way():
    usual = Columns()
    assert usual.hidden(2000) == set()
    narrow = usual.hidden(410)
    assert columns.TAGS in narrow and columns.LOSS not in narrow and 410 - used(narrow) >= LEAST_NAME
    chosen = usual.chosen(columns.TAGS, True).chosen(columns.LOSS, False)
    assert columns.TAGS not in chosen.hidden(410) and columns.LOSS in chosen.hidden(2000)
    assert chosen.chosen(columns.LOSS, True).unwanted == frozenset()


def test_columns_that_matter_less_give_way_to_long_names():
    usual = Columns()
    room = used(set()) + 200
    assert usual.hidden(room, name=200) == set()
    hidden = usual.hidden(room, name=300)
    assert hidden == {columns.BASE} and room - used(hidden) >= 300
    assert columns.SIZE not in usual.hidden(used(set()) - 100, name=2000)  # not for any name


def test_a_name_is_not_cut_where_there_is_room(desk, story):
    one, page = desk
    table = page.table
    name = "shelves #2 + shelves #3, half"
    one.state.checkpoints.rename(story.ids["shelves #2"], name)
    one.until(lambda: any(row.name == name for row in table.table.shown))
    needed = table.fontMetrics().horizontalAdvance(name)
    assert table.columnWidth(columns.NAME) > needed + 20
    assert table.isColumnHidden(columns.STEPS) and not table.isColumnHidden(columns.LOSS)


def test_what_is_measured_is_not_cut_by_a_fraction_of_a_pixel(theme):
    font = interface_font(BODY)
    for words in ("391 KiB", "9.5 MiB", "3.474", "today 22:00"):
        room = widest({words}, QFontMetricsF(font))
        assert QFontMetrics(font).elidedText(words, Qt.TextElideMode.ElideRight, room) == words


def test_the_layout_is_remembered_by_the_names_of_columns():
    for column in CHOICES:
        for shown in (True, False):
            kept = TableLayout(Columns().chosen(columns.WHEN, False).chosen(column, shown), column, shown, {column: 99})
            assert TableLayout.from_bytes(kept.to_bytes()) == kept


def test_more_columns_in_another_order_are_the_same_columns(monkeypatch):
    kept = TableLayout(Columns().chosen(columns.TAGS, True).chosen(columns.STEPS, False), columns.LOSS, True)
    state = kept.to_bytes()
    keys = ("pinned", "name", "new one", *reversed(columns.KEYS[2:]), "another")
    monkeypatch.setattr(module, "KEYS", keys)
    monkeypatch.setattr(module, "CHOICES", tuple(range(2, len(keys))))
    found = TableLayout.from_bytes(state)
    assert [keys[column] for column in (*found.columns.wanted, *found.columns.unwanted)] == ["tags", "steps"]
    assert keys[found.sorted_by] == "loss"
    every = Columns(frozenset(module.CHOICES))  # nine switchable columns
    assert TableLayout.from_bytes(TableLayout(every).to_bytes()).columns == every


def test_what_is_no_layout_is_ignored():
    for state in (b"", b"2\x01\x00rest of an older version", b"[]", b"{}", b"null", b"\xff", b'{"shown": 3}'):
        assert TableLayout.from_bytes(state) is None
    gone = TableLayout().to_bytes().replace(b'"when"', b'"gone"')
    assert TableLayout.from_bytes(gone).sorted_by == columns.WHEN


def test_columns_are_there_because_they_fit_or_because_they_are_wanted(desk, page_of):
    one, page = desk
    table = page.table
    assert table.isColumnHidden(columns.TAGS) and not table.isColumnHidden(columns.STEPS)
    menu = table.column_menu
    menu.aboutToShow.emit()
    switches = {action.data(): action for action in menu.actions()}
    assert not switches[columns.TAGS].isChecked() and switches[columns.STEPS].isChecked()
    switches[columns.TAGS].trigger()
    switches[columns.STEPS].trigger()
    assert not table.isColumnHidden(columns.TAGS) and table.isColumnHidden(columns.STEPS)
    assert table.columnWidth(columns.NAME) >= 90 and menu in [action.menu() for action in page.more_menu.actions()]
    page.keep_place()
    other = page_of(one).table
    assert not other.isColumnHidden(columns.TAGS) and other.isColumnHidden(columns.STEPS)


def test_sorting_and_widths_that_were_dragged_are_remembered(desk, page_of):
    one, page = desk
    page.table.sortByColumn(columns.LOSS, Qt.SortOrder.AscendingOrder)
    page.table.setColumnWidth(columns.WHEN, 171)
    page.keep_place()
    other = page_of(one).table
    assert other.columnWidth(columns.WHEN) == 171 and other.own_widths
    assert [row.name for row in other.table.shown] == [row.name for row in page.table.table.shown]
    assert other.table.shown[0].held_out_loss == min(row.held_out_loss for row in other.table.shown[:3])
