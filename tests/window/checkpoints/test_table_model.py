"""The table without a window: order, filters, words, and changes that leave the rest alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtCore import Qt

from app.values.checkpoints import CheckpointRow
from app.window.checkpoints import table_model as columns
from app.window.checkpoints.filters import EVERYTHING, HERE, PINNED, CheckpointFilter
from app.window.checkpoints.table_model import CheckpointTable
from app.window.checkpoints.words import older_first, when_words

UP, DOWN = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder
ROWS = (
    CheckpointRow("a", "run #10", "2026-01-03T10:00:00Z", "whole", "full", step=40, held_out_loss=3.0, nbytes=300),
    CheckpointRow("b", "run #9", "2026-01-02T10:00:00Z", "delta", "lora", "a", "run #10", nbytes=100, tags=("x",)),
    CheckpointRow("c", "Alpha", "2026-01-01T10:00:00Z", "whole", "merge", parents=("a", "b"), held_out_loss=2.0),
    CheckpointRow("d", "snap", "2026-01-04T10:00:00Z", "delta", "lora", "a", tags=("timeline",), repository="/r"),
    CheckpointRow("e", "broken00", problem="Its manifest is damaged."),
)


@pytest.fixture
def table(qapp):
    table = CheckpointTable()
    table.show_rows(ROWS)
    return table


def shown(table) -> str:
    return "".join(row.id for row in table.shown)


@pytest.mark.parametrize(
    ("column", "order", "expected"),
    [
        (columns.WHEN, DOWN, "dabce"),
        (columns.NAME, UP, "cebad"),  # 9 before 10, whatever the case
        (columns.LOSS, UP, "cadbe"),  # what was not measured comes last
        (columns.LOSS, DOWN, "acdbe"),
        (columns.STEPS, DOWN, "adbce"),
        (columns.SIZE, DOWN, "abdce"),
        (columns.BASE, UP, "bcdae"),  # a merge by its parents
        (columns.TAGS, UP, "dbace"),
    ],
)
def test_sorting(table, column, order, expected):
    table.sort(column, order)
    if column == columns.TAGS:
        assert set(shown(table)[:2]) == {"b", "d"}
    else:
        assert shown(table) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (CheckpointFilter(), "abce"),
        (CheckpointFilter(EVERYTHING), "dabce"),
        (CheckpointFilter("lora"), "b"),
        (CheckpointFilter(PINNED), ""),
        (CheckpointFilter(HERE, root="/r"), ""),  # only a snapshot is of it
        (CheckpointFilter(EVERYTHING, ("run", "x")), "b"),
        (CheckpointFilter(EVERYTHING, ("merge",)), "c"),
        (CheckpointFilter(EVERYTHING, ("zebra",)), ""),
    ],
)
def test_filters(table, wanted, expected):
    table.show_only(wanted.accept())
    assert shown(table) == expected


def test_a_change_in_place_is_no_reset(table, qtbot):
    resets, changes = [], []
    table.modelReset.connect(lambda: resets.append(1))
    table.dataChanged.connect(lambda first, last: changes.append((first.row(), last.row())))
    table.show_rows((ROWS[0], replace(ROWS[1], note="new"), *ROWS[2:]))
    assert (resets, changes) == ([], [(2, 2)])
    table.show_rows(ROWS[1:])
    assert resets == [1] and shown(table) == "dbce"


def test_a_new_name_is_shown_at_once_and_asked_for(table, qtbot):
    index = table.index(1, columns.NAME)
    with qtbot.waitSignal(table.rename_wanted) as told:
        assert table.setData(index, "  better  ")
    assert told.args == ["a", "better"] and index.data() == "better"
    assert not table.setData(index, "") and not table.setData(index, "better")
    table.show_rows(ROWS)
    assert index.data() == "run #10"  # the store said no


def test_what_cannot_be_read_says_so_and_is_not_renamed(table):
    broken = table.row_of("e")
    assert table.index(broken, columns.MODE).data() == "unreadable"
    assert not table.flags(table.index(broken, columns.NAME)) & Qt.ItemFlag.ItemIsEditable
    assert table.flags(table.index(0, columns.NAME)) & Qt.ItemFlag.ItemIsEditable
    assert "damaged" in table.index(broken, columns.NAME).data(Qt.ItemDataRole.ToolTipRole)


def test_a_pin_is_shown_at_once(table, qtbot):
    with qtbot.waitSignal(table.pin_wanted) as told:
        table.toggle_pin(1)
    assert told.args == ["a", True] and table.index(1, columns.PINNED).data() == "★"


def test_dates_for_people():
    now = datetime(2026, 3, 5, 18, 0, tzinfo=UTC).astimezone()
    assert when_words(datetime(2026, 3, 5, 12, 5, tzinfo=UTC).isoformat(), now).startswith("today ")
    assert when_words(datetime(2026, 3, 4, 12, 5, tzinfo=UTC).isoformat(), now).startswith("yesterday ")
    assert when_words("2026-01-12T12:00:00Z", now) == "12 Jan"
    assert when_words("2025-01-12T12:00:00Z", now) == "12 Jan 2025"
    assert when_words("", now) == when_words("nonsense", now) == "–"


def test_of_two_what_the_other_was_made_from_comes_first():
    assert older_first(ROWS[0], ROWS[1])[0].id == "a"  # the base, though it is newer by its date
    assert older_first(ROWS[0], ROWS[2])[0].id == "a"
    assert older_first(ROWS[3], ROWS[1])[0].id == "b"
