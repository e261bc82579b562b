"""Which columns the table has: those that fit, and those that the user wants."""

from __future__ import annotations

from app.window.checkpoints import table_model as columns
from app.window.checkpoints.columns import CHOICES, LEAST_NAME, Columns, used


def test_what_is_wanted_stays_and_the_others_give_way():
    usual = Columns()
    assert usual.hidden(2000) == set()
    narrow = usual.hidden(410)
    assert columns.TAGS in narrow and columns.LOSS not in narrow and 410 - used(narrow) >= LEAST_NAME
    chosen = usual.chosen(columns.TAGS, True).chosen(columns.LOSS, False)
    assert columns.TAGS not in chosen.hidden(410) and columns.LOSS in chosen.hidden(2000)
    assert chosen.chosen(columns.LOSS, True).unwanted == frozenset()


def test_the_choice_is_remembered_in_two_bytes():
    for column in CHOICES:
        for shown in (True, False):
            kept = Columns().chosen(columns.WHEN, False).chosen(column, shown)
            assert len(kept.to_bytes()) == 2 and Columns.from_bytes(kept.to_bytes()) == kept


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
