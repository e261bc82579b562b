"""Deleted checkpoints: restore them, or delete them permanently after a confirmation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme, Tokens
from app.values.checkpoints import TrashRow
from app.values.words import counted, nbytes
from app.window.checkpoints.cells import CellDelegate, plain_table
from app.window.checkpoints.words import exact_when, when_words
from app.window.parts import EmptyState, HeadedTable, PlainButton, label
from app.window.parts.headed_table import Index

NAME, DELETED = range(2)
HEADINGS = ("Name", "Deleted")
HEIGHT = 34


class TrashModel(HeadedTable):
    """Newest first."""

    headings = HEADINGS

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[TrashRow, ...] = ()

    def show_rows(self, rows: Sequence[TrashRow]) -> None:
        if tuple(rows) != self.rows:
            self.beginResetModel()
            self.rows = tuple(rows)
            self.endResetModel()

    def count(self) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.name if index.column() == NAME else when_words(row.deleted)
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.id if index.column() == NAME else exact_when(row.deleted)
        return self.side(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None


class TrashDelegate(CellDelegate):
    """Dates are muted."""

    def colour(self, tokens: Tokens, index: Index) -> str:
        return tokens.mute if index.column() == DELETED else tokens.ink


class TrashView(QWidget):
    restore_wanted = Signal(list)  # keys
    empty_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        self.model = TrashModel()
        self.model.setParent(self)
        self.view = QTableView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(TrashDelegate(self.view, HEIGHT))
        plain_table(self.view, "Trash", HEIGHT)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        header = self.view.horizontalHeader()
        header.setSectionsClickable(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(DELETED, QHeaderView.ResizeMode.Fixed)
        self.view.setColumnWidth(DELETED, 170)
        self.view.selectionModel().selectionChanged.connect(self.on_selection_changed)
        self.nothing = EmptyState(
            "check", "The trash is empty", "Deleted checkpoints stay here until you empty the trash."
        )
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(self.nothing)
        column.addWidget(self.stack, 1)
        row = QHBoxLayout()
        row.setContentsMargins(10, 2, 10, 4)
        row.setSpacing(8)
        self.words = label("", "label")
        self.restore_button = PlainButton("Restore", "Restore the selected checkpoints")
        self.empty_button = PlainButton(
            "Empty trash", "Delete everything in it permanently, except bases that are still needed"
        )
        self.sure_button = PlainButton("Delete permanently")
        self.keep_button = PlainButton("Keep")
        self.restore_button.clicked.connect(self.on_restore_clicked)
        self.empty_button.clicked.connect(self.on_empty_clicked)
        self.sure_button.clicked.connect(self.on_sure_clicked)
        self.keep_button.clicked.connect(self.on_keep_clicked)
        row.addWidget(self.words, 1)
        for button in (self.restore_button, self.keep_button, self.sure_button, self.empty_button):
            row.addWidget(button)
        column.addLayout(row)
        self._nbytes = 0
        Theme.current().restyled.connect(self.on_restyled)
        self.show_rows((), 0)

    def show_rows(self, rows: Sequence[TrashRow], nbytes_: int) -> None:
        self._nbytes = nbytes_
        self.model.show_rows(rows)
        self.stack.setCurrentWidget(self.view if rows else self.nothing)
        self._ask(False)

    def _ask(self, asking: bool) -> None:
        count = len(self.model.rows)
        size = f", {nbytes(self._nbytes)}" if self._nbytes else ""
        question = f"Delete {counted(count, 'checkpoint')}{size} permanently?"
        self.words.setText(question if asking else f"{count:,} in the trash{size}" if count else "")
        self.restore_button.setVisible(not asking and count > 0)
        self.empty_button.setVisible(not asking and count > 0)
        self.sure_button.setVisible(asking)
        self.keep_button.setVisible(asking)
        self.on_selection_changed()

    @Slot()
    def on_selection_changed(self, *_what) -> None:
        self.restore_button.setEnabled(self.view.selectionModel().hasSelection())

    @Slot()
    def on_restore_clicked(self) -> None:
        places = sorted(index.row() for index in self.view.selectionModel().selectedRows())
        self.restore_wanted.emit([self.model.rows[place].key for place in places])

    @Slot()
    def on_empty_clicked(self) -> None:
        self._ask(True)
        self.keep_button.setFocus()

    @Slot()
    def on_sure_clicked(self) -> None:
        self._ask(False)
        self.empty_wanted.emit()

    @Slot()
    def on_keep_clicked(self) -> None:
        self._ask(False)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.view.viewport().update()
