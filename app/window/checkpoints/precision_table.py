"""A checkpoint in fewer bits: its size, its largest rounding error, and its measured held-out loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QRect, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from app.theme import Theme, Tokens
from app.values.checkpoints import PrecisionLine
from app.values.words import nbytes, percent, small_number
from app.window.checkpoints.cells import CellDelegate, paint_badge, plain_table
from app.window.checkpoints.words import NOTHING, loss_words
from app.window.parts import Card, HeadedTable, PlainButton, label, tip
from app.window.parts.headed_table import RIGHT, Index

STORED, SIZE, ERROR, LOSS = range(4)
HEADINGS = ("Stored as", "Size", "Error", "Held-out")
HELP = {
    STORED: "How the weights are stored",
    ERROR: "The largest change of a single weight through rounding",
    LOSS: "Loss on held-out code. Lower is better.",
}
WIDTHS = {SIZE: 78, ERROR: 74, LOSS: 92}  # STORED: the rest, in the narrowest window enough for the longest name
HEIGHT, HEADER = 30, 36
WORSE = 0.05  # above the loss in full precision: worth a warning
LINE = Qt.ItemDataRole.UserRole


class PrecisionModel(HeadedTable):
    """One line per precision, added as it is measured."""

    headings = HEADINGS
    numbers = (SIZE, ERROR, LOSS)
    heading_help = HELP

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[PrecisionLine] = []

    def show_lines(self, lines: Sequence[PrecisionLine]) -> None:
        self.beginResetModel()
        self.lines = list(lines)
        self.endResetModel()

    def add(self, line: PrecisionLine) -> None:
        self.beginInsertRows(QModelIndex(), len(self.lines), len(self.lines))
        self.lines.append(line)
        self.endInsertRows()

    def count(self) -> int:
        return len(self.lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        line, column = self.lines[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(line, column)
        if role == LINE:
            return line
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.side(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            kind = "; experimental" if line.experimental else ""
            return line.problem or f"{line.words}; {percent(line.share)} of the size{kind}"
        return None

    @staticmethod
    def _words(line: PrecisionLine, column: int) -> str:
        if column == STORED:
            return line.precision
        if column == SIZE:
            return nbytes(line.nbytes)
        if line.problem:
            return "not possible" if column == LOSS else ""
        if column == ERROR:
            return NOTHING if line.largest_error is None else small_number(line.largest_error)
        return loss_words(line.held_out_loss)


class PrecisionDelegate(CellDelegate):
    """A clearly higher loss is marked by a colour and a sign."""

    def __init__(self, parent) -> None:
        super().__init__(parent, HEIGHT)

    def colour(self, tokens: Tokens, index: Index) -> str:
        line: PrecisionLine = index.data(LINE)
        if line.problem and index.column() == LOSS:
            return tokens.bad_text
        if index.column() == ERROR:
            return tokens.mute
        return tokens.warn_text if index.column() == LOSS and self._is_worse(index) else tokens.ink

    def paint_words(self, painter: QPainter, cell: QRect, index: Index, tokens: Tokens) -> None:
        line: PrecisionLine = index.data(LINE)
        if index.column() == LOSS and self._is_worse(index):
            painter.drawText(cell, int(RIGHT), f"▲ {index.data()}")
            return
        super().paint_words(painter, cell, index, tokens)
        if index.column() == STORED and line.experimental:
            x = cell.left() + painter.fontMetrics().horizontalAdvance(line.precision) + 8
            paint_badge(painter, "exp.", x, cell, cell.right() - x, tokens)

    @staticmethod
    def _is_worse(index: Index) -> bool:
        lines = index.model().lines
        exact, own = lines[0].held_out_loss, lines[index.row()].held_out_loss
        return exact is not None and own is not None and own > exact + WORSE


class PrecisionCard(Card):
    """Empty until the user asks: measuring every precision takes a while."""

    measure_wanted = Signal(bool)  # with held-out loss
    keep_wanted = Signal(str, object)  # precision; its held-out loss, None if it was not measured

    def __init__(self) -> None:
        super().__init__("Precision", margins=(12, 12, 12, 10), spacing=6)
        self.heading.row.setContentsMargins(4, 0, 0, 0)
        tip(self.heading.title, "Size and quality in fewer bits. Select a row to keep a copy in that precision.")
        self.words = label("", "label", wrap=True)
        self.words.setContentsMargins(4, 0, 4, 0)
        self.sizes_button = PlainButton("Sizes", "Measure sizes and rounding errors")
        self.loss_button = PlainButton("With loss", "Also measure the held-out loss of each precision; takes longer")
        self.sizes_button.clicked.connect(self.on_sizes_clicked)
        self.loss_button.clicked.connect(self.on_loss_clicked)
        for button in (self.sizes_button, self.loss_button):
            self.heading.row.addWidget(button)
        self.model = PrecisionModel()
        self.model.setParent(self)
        self.view = QTableView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(PrecisionDelegate(self.view))
        plain_table(self.view, "Precisions", HEIGHT)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.selectionModel().selectionChanged.connect(self.on_selected)
        self.view.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.horizontalHeader().setSectionsClickable(False)
        self.view.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.column.addWidget(self.words)
        self.column.addWidget(self.view)
        self.keep_button = PlainButton("Keep a copy", "Save a copy in the selected precision as a new checkpoint")
        self.keep_button.clicked.connect(self.on_keep_clicked)
        self.column.addWidget(self.keep_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._free, self._own = False, ""
        Theme.current().restyled.connect(self.on_restyled)
        self.show_lines(())

    def show_lines(self, lines: Sequence[PrecisionLine]) -> None:
        self.model.show_lines(lines)
        self._fit()

    def add(self, line: PrecisionLine) -> None:
        self.model.add(line)
        self._fit()

    def allow(self, sizes: bool, loss: bool, words: str, own: str = "") -> None:
        """What can be measured now, and why something cannot; `own`: the precision that the model is kept in."""
        self._free, self._own = sizes, own
        self._enable_keep()
        self.sizes_button.setEnabled(sizes)
        self.loss_button.setEnabled(loss)
        self.words.setText(words)
        self.words.setVisible(bool(words))

    @property
    def selected(self) -> PrecisionLine | None:
        """The selected line, which a copy would be stored as."""
        rows = self.view.selectionModel().selectedRows()
        return self.model.lines[rows[0].row()] if rows else None

    def _enable_keep(self) -> None:
        line = self.selected
        self.keep_button.setEnabled(
            self._free and line is not None and not line.problem and line.precision != self._own
        )

    def _fit(self) -> None:
        self.keep_button.setVisible(bool(self.model.lines))
        self._enable_keep()
        self.view.setVisible(bool(self.model.lines))
        self.view.setFixedHeight(HEADER + 4 + HEIGHT * len(self.model.lines))
        width = self.view.viewport().width()
        for column, wanted in WIDTHS.items():
            self.view.setColumnWidth(column, wanted)
        self.view.setColumnWidth(STORED, max(80, width - sum(WIDTHS.values())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @Slot()
    def on_sizes_clicked(self) -> None:
        self.measure_wanted.emit(False)

    @Slot()
    def on_loss_clicked(self) -> None:
        self.measure_wanted.emit(True)

    @Slot()
    def on_selected(self) -> None:
        self._enable_keep()

    @Slot()
    def on_keep_clicked(self) -> None:
        line = self.selected
        if line is not None:
            self.keep_wanted.emit(line.precision, line.held_out_loss)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.view.viewport().update()
