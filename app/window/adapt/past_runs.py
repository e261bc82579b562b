"""Earlier results for this repository, to help choose a mode and a preset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QModelIndex, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
)

from app.values.checkpoints import CheckpointRow
from app.window.adapt.mode_cards import MODES
from app.window.adapt.words import ago, change
from app.window.parts import NOTHING, Card, label

HEADINGS = ("Name", "Mode", "Steps", "Before", "After", "Change", "When")
MOST = 50
PADDING = 7  # on both sides of a cell, like the headings


def past_runs_of(rows: Sequence[CheckpointRow], root: str) -> list[CheckpointRow]:
    """Results of runs on this folder, newest first."""
    own = [row for row in rows if row.run and row.repository in ("", root) and not row.is_snapshot]
    return sorted(own, key=lambda row: row.created, reverse=True)[:MOST]


class PastRunsCard(Card):
    """A plain table that takes the remaining height."""

    def __init__(self) -> None:
        super().__init__("Earlier runs", margins=(6, 12, 6, 10), spacing=4)
        self.nothing = label("", "label", wrap=True)
        self.nothing.setContentsMargins(10, 0, 10, 0)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.heading.row.setContentsMargins(10, 0, 10, 0)
        self.nothing.setText("None yet. Each run will be listed here with its held-out loss before and after.")
        self.table = QTableWidget(0, len(HEADINGS))
        self.table.setAccessibleName("Earlier runs")
        self.table.setHorizontalHeaderLabels(HEADINGS)
        self.table.verticalHeader().hide()
        self.table.setItemDelegate(_Cells(self.table))
        self.table.setShowGrid(False)
        self.table.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.table.setTabKeyNavigation(False)  # Tab leaves the table
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setMinimumHeight(120)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for column in range(2, 6):
            self.table.horizontalHeaderItem(column).setTextAlignment(_right())
        self.column.addWidget(self.nothing, 1)
        self.column.addWidget(self.table, 1)
        self.show_rows(())

    def show_rows(self, rows: Sequence[CheckpointRow]) -> None:
        self.nothing.setVisible(not rows)
        self.table.setVisible(bool(rows))
        self.table.setRowCount(len(rows))
        for place, row in enumerate(rows):
            for column, words in enumerate(_cells(row)):
                item = QTableWidgetItem(words)
                if 2 <= column <= 5:
                    item.setTextAlignment(_right())
                self.table.setItem(place, column, item)


class _Cells(QStyledItemDelegate):
    """Aligns cells with the text of their headings."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        inner = QStyleOptionViewItem(option)
        inner.rect = option.rect.adjusted(PADDING, 0, -PADDING, 0)
        super().paint(painter, inner, index)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        return super().sizeHint(option, index) + QSize(2 * PADDING, 0)


def _right() -> Qt.AlignmentFlag:
    return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def _cells(row: CheckpointRow) -> tuple[str, ...]:
    mode = MODES[row.mode].name if row.mode in MODES else row.mode
    when = ago(datetime.fromisoformat(row.created).timestamp()) if row.created else ""
    before, after = row.held_out_before, row.held_out_loss
    return (row.name, mode, f"{row.step:,}", _loss(before), _loss(after), change(before, after), when)


def _loss(value: float | None) -> str:
    return NOTHING if value is None or not math.isfinite(value) else f"{value:.3f}"
