"""What a benchmark measured, kernel by kernel, under a heading for each program that runs them."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.theme import Theme
from app.theme.fonts import BODY, LABEL, code_font, interface_font
from app.values.benchmark import HEADINGS, LEFT, cells, group_words, groups
from app.window.settings.figures_view import FiguresView

WORDS = {"share": "Share", "kernel": "Kernel", "size": "Size", "calls": "Calls", "time": "Time", "of limit": "Of limit"}
WIDTHS = {"share": 72, "size": 170, "calls": 72, "time": 96, "GFLOP/s": 92, "GB/s": 84, "of limit": 92}
TIPS = {
    "share": "Of the time of all kernels of this program",
    "size": "Rows × columns × length of the sums of a product, otherwise the first matrix",
    "calls": "In one run of this program",
    "time": "Of one call",
    "of limit": "Of what the device can do at most: operations or bytes, whichever is more. Above 100 %: from a cache",
}
KERNEL = HEADINGS.index("kernel")
LEAST_KERNEL = 190
ROW_HEIGHT = 28
LEFT_EDGE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT_EDGE = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter

Index = QModelIndex | QPersistentModelIndex


class BenchmarkTable(QAbstractTableModel):
    """A row is either the cells of a kernel or the one text of a heading."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, ...]] = []

    def show_result(self, result) -> None:
        """Replace all rows; None leaves none."""
        self.beginResetModel()
        self.rows = []
        for name, kernels in groups(result) if result is not None else ():
            self.rows.append((group_words(name, kernels),))
            self.rows += [cells(each, result.peaks) for each in kernels]
        self.endResetModel()

    def is_heading(self, row: int) -> bool:
        return len(self.rows[row]) == 1

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(HEADINGS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole):
        if orientation != Qt.Orientation.Horizontal:
            return None
        name = HEADINGS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return WORDS.get(name, name)
        if role == Qt.ItemDataRole.ToolTipRole:
            return TIPS.get(name)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _edge(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole):
        words, column = self.rows[index.row()], index.column()
        text = words[column] if column < len(words) else ""
        if role == Qt.ItemDataRole.DisplayRole:
            return text
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT_EDGE if len(words) == 1 else _edge(column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return text if len(words) == 1 else f"{HEADINGS[column]}: {text}"
        return None


def _edge(column: int) -> Qt.AlignmentFlag:
    return LEFT_EDGE if HEADINGS[column] in LEFT else RIGHT_EDGE


class BenchmarkDelegate(QStyledItemDelegate):
    """Paints a cell with a rule below; a heading in medium weight."""

    def __init__(self, parent) -> None:
        super().__init__(parent)
        self._body = interface_font(BODY)
        self._strong = interface_font(BODY, QFont.Weight.Medium)
        self._code = code_font(LABEL)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(80, ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens, heading = Theme.current().tokens, index.model().is_heading(index.row())
        painter.save()
        if heading:
            painter.fillRect(option.rect, QColor(tokens.raised))
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        painter.setFont(self._strong if heading else self._code if index.column() == KERNEL else self._body)
        painter.setPen(QColor(tokens.ink))
        cell = option.rect.adjusted(10, 0, -10, 0)
        words = painter.fontMetrics().elidedText(index.data(), Qt.TextElideMode.ElideRight, cell.width())
        painter.drawText(cell, int(index.data(Qt.ItemDataRole.TextAlignmentRole)), words)
        painter.restore()


class BenchmarkView(FiguresView):
    def __init__(self) -> None:
        super().__init__(BenchmarkTable(), ROW_HEIGHT, "Kernels and their speed")
        self.setItemDelegate(BenchmarkDelegate(self))

    def show_result(self, result) -> None:
        self.clearSpans()
        self.table.show_result(result)
        for row in range(self.table.rowCount()):
            if self.table.is_heading(row):
                self.setSpan(row, 0, 1, len(HEADINGS))
        self.scrollToTop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        rest = self.viewport().width() - sum(WIDTHS.values())
        for column, name in enumerate(HEADINGS):
            self.setColumnWidth(column, WIDTHS.get(name, max(LEAST_KERNEL, rest)))
