"""The kernels as a table: what each computes, its largest error and its limit, its time and the verdict.

Filled while a check runs.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import Theme, Tokens
from app.theme.fonts import BODY, LABEL, code_font, interface_font
from app.values.events import KernelLine
from app.values.words import milliseconds, percent, share, small_number
from app.window.parts.headed_table import RIGHT, HeadedTable, Index
from app.window.settings.figures_view import FiguresView

KERNEL, MEANING, ERROR, LIMIT, SHARE, TIME, VERDICT = range(7)
HEADINGS = ("Kernel", "What it computes", "Largest error", "Limit", "Share of limit", "Time", "Verdict")
WIDTHS = {KERNEL: 214, ERROR: 104, LIMIT: 80, SHARE: 150, TIME: 88, VERDICT: 104}  # MEANING takes the rest
LEAST_MEANING = 120  # with less room the column is hidden; the tool tip has its text
NUMBERS = (ERROR, LIMIT, TIME)
PASSED, FAILED, WAITING, UNCHECKED = "✓ passed", "✕ failed", "waiting", "not checked"
ROW_HEIGHT = 32
CHECK = Qt.ItemDataRole.UserRole  # the KernelCheck of a row, or None


class KernelTable(HeadedTable):
    """One row for each of the engine's kernels."""

    headings = HEADINGS
    numbers = NUMBERS

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[KernelLine] = []
        self._checks: dict[str, object] = {}
        self.waiting = False  # a check is running: rows without a result wait for theirs

    def show_kernels(self, lines: tuple[KernelLine, ...]) -> None:
        """All rows, none checked."""
        self.beginResetModel()
        self._lines = list(lines)
        self._checks = {}
        self.endResetModel()

    def show_checks(self, checks, waiting: bool = False) -> None:
        """Replace all results."""
        self.beginResetModel()
        self._checks = {check.kernel: check for check in checks}
        known = {line.name for line in self._lines}
        self._lines += [KernelLine(name, "") for name in self._checks if name not in known]
        self.waiting = waiting
        self.endResetModel()

    def add_check(self, check) -> int:
        """One more result; returns its row."""
        rows = [line.name for line in self._lines]
        if check.kernel not in rows:
            self.beginInsertRows(QModelIndex(), len(rows), len(rows))
            self._lines.append(KernelLine(check.kernel, ""))
            self.endInsertRows()
            rows.append(check.kernel)
        self._checks[check.kernel] = check
        row = rows.index(check.kernel)
        self.dataChanged.emit(self.index(row, 0), self.index(row, len(HEADINGS) - 1))
        return row

    def count(self) -> int:
        return len(self._lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole):
        line = self._lines[index.row()]
        check = self._checks.get(line.name)
        if role == CHECK:
            return check
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(line, check, index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.side(index.column())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() in (KERNEL, MEANING):
            return line.meaning or line.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{HEADINGS[index.column()]}: {self._words(line, check, index.column())}"
        return None

    def _words(self, line: KernelLine, check, column: int) -> str:
        if column == KERNEL:
            return line.name
        if column == MEANING:
            return line.meaning
        if check is None:
            return (WAITING if self.waiting else UNCHECKED) if column == VERDICT else "–"
        if column == ERROR:
            return small_number(check.error)
        if column == LIMIT:
            return small_number(check.limit)
        if column == SHARE:
            return percent(share(check.error, check.limit))
        if column == TIME:
            return milliseconds(check.milliseconds)
        return PASSED if check.passed else FAILED


class KernelDelegate(QStyledItemDelegate):
    """Paints a cell: a rule under every row, a bar for the share of the limit, words in the colours of the theme."""

    def __init__(self, parent) -> None:
        super().__init__(parent)
        self._body = interface_font(BODY)
        self._strong = interface_font(BODY, QFont.Weight.Medium)
        self._label = interface_font(LABEL)
        self._code = code_font(LABEL)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(WIDTHS.get(index.column(), 120), ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens, check, column = Theme.current().tokens, index.data(CHECK), index.column()
        cell = option.rect.adjusted(10, 0, -10, 0)
        painter.save()
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        if column == SHARE and check is not None:
            cell = self._bar(painter, cell, check, tokens)
        painter.setFont({KERNEL: self._code, MEANING: self._label, VERDICT: self._strong}.get(column, self._body))
        painter.setPen(QColor(self._colour(tokens, check, column)))
        words = painter.fontMetrics().elidedText(index.data(), Qt.TextElideMode.ElideRight, cell.width())
        alignment = RIGHT if column == SHARE and check is not None else index.data(Qt.ItemDataRole.TextAlignmentRole)
        painter.drawText(cell, int(alignment), words)
        painter.restore()

    @staticmethod
    def _colour(tokens: Tokens, check, column: int) -> str:
        if column == MEANING or (check is None and column != KERNEL):
            return tokens.mute
        if column == VERDICT:
            return tokens.accent_text if check.passed else tokens.bad_text
        if check is not None and not check.passed and column in (ERROR, SHARE):
            return tokens.bad_text
        return tokens.ink

    @staticmethod
    def _bar(painter: QPainter, cell: QRect, check, tokens: Tokens) -> QRect:
        """Draw the bar; the rectangle left for the words."""
        words = 60
        track = QRect(cell.left(), cell.center().y() - 2, cell.width() - words, 5)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(track, 2.5, 2.5)
        used = min(1.0, share(check.error, check.limit))
        if used > 0 or not check.passed:
            filled = QRect(track)
            filled.setWidth(max(5, round(track.width() * used)))
            painter.setBrush(QColor(tokens.accent if check.passed else tokens.bad))
            painter.drawRoundedRect(filled, 2.5, 2.5)
        return QRect(cell.right() - words, cell.top(), words, cell.height())


class KernelView(FiguresView):
    def __init__(self) -> None:
        super().__init__(KernelTable(), ROW_HEIGHT, "Kernels and their errors")
        self.setItemDelegate(KernelDelegate(self))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        rest = self.viewport().width() - sum(WIDTHS.values())
        has_meaning = rest >= LEAST_MEANING
        self.setColumnHidden(MEANING, not has_meaning)
        widths = {**WIDTHS, MEANING: rest} if has_meaning else {**WIDTHS, KERNEL: WIDTHS[KERNEL] + rest}
        for column, width in widths.items():
            self.setColumnWidth(column, width)

    def show_row(self, kernel: str) -> None:
        """Scroll to a kernel, or to the top."""
        names = [self.table.index(row, KERNEL).data() for row in range(self.table.rowCount())]
        row = names.index(kernel) if kernel in names else 0
        self.scrollTo(self.table.index(row, KERNEL), QAbstractItemView.ScrollHint.PositionAtTop)

    def add_check(self, check) -> None:
        """Add a result and scroll to it."""
        self.scrollTo(self.table.index(self.table.add_check(check), 0))
