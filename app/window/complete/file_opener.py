"""Opens a file of the repository: a field for parts of its path, and the files that match."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRect, QSize, QStringListModel, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme
from app.theme.fonts import code_font
from app.values.repository import FileRow
from app.values.words import counted
from app.window.parts import label

MOST = 200  # shown at once
WIDTH, HEIGHT, ROW = 620, 380, 30  # pixels
UNREADABLE = ("binary", "too_large", "unreadable")  # reasons


def openable(rows: Sequence[FileRow]) -> list[str]:
    """The paths that the editor can show."""
    return [row.path for row in rows if not row.path.endswith("/") and row.reason not in UNREADABLE]


def matching(paths: Sequence[str], typed: str, most: int = MOST) -> list[str]:
    """Paths that contain every typed word, best first: matches in the file name, near its start, short paths."""
    words = typed.lower().split()
    if not words:
        return list(paths[:most])
    found = []
    for path in paths:
        low = path.lower()
        if all(word in low for word in words):
            name = low.rpartition("/")[2]
            places = [name.find(word) for word in words]
            missed = sum(place < 0 for place in places)
            found.append((missed, sum(place for place in places if place > 0), len(path), path))
    found.sort()
    return [path for *_, path in found[:most]]


class FileOpener(QFrame):
    """An overlay on the page; Esc or a click elsewhere closes it."""

    chosen = Signal(str)  # path
    closed = Signal()

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._paths: list[str] = []
        self.setProperty("card", "plain")
        self.setAccessibleName("Open a file")
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 10)
        column.setSpacing(8)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Parts of the path")
        self.field.setAccessibleName("Parts of the path")
        self.model = QStringListModel(self)
        self.list = QListView()
        self.list.setModel(self.model)
        self.list.setItemDelegate(_PathDelegate(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName("Files")
        self.words = label("", "label")
        column.addWidget(self.field)
        column.addWidget(self.list, 1)
        column.addWidget(self.words)
        self.field.textChanged.connect(self.on_typed)
        self.field.returnPressed.connect(self.on_enter)
        self.field.installEventFilter(self)
        self.list.clicked.connect(self.on_clicked)
        self.hide()

    def open(self, rows: Sequence[FileRow]) -> None:
        """Show the files and take the focus."""
        self._paths = openable(rows)
        page = self.parentWidget()
        width, height = min(WIDTH, page.width() - 40), min(HEIGHT, page.height() - 40)
        self.setGeometry(QRect((page.width() - width) // 2, 20, width, height))
        self.field.clear()
        self.on_typed("")
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def put_away(self) -> None:
        if self.isVisible():
            self.hide()
            self.closed.emit()

    @Slot(str)
    def on_typed(self, typed: str) -> None:
        found = matching(self._paths, typed)
        self.model.setStringList(found)
        self.list.setCurrentIndex(self.model.index(0))
        if not self._paths:
            self.words.setText("The repository has no files to open")
        elif not found:
            self.words.setText("No path contains all of these")
        else:
            self.words.setText(f"{len(found):,} of {counted(len(self._paths), 'file')}")

    @Slot()
    def on_enter(self) -> None:
        self._choose(self.list.currentIndex())

    @Slot(QModelIndex)
    def on_clicked(self, index: QModelIndex) -> None:
        self._choose(index)

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            path = index.data()
            self.put_away()
            self.chosen.emit(path)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Up, Down, Page Up, Page Down and Esc in the field control the list."""
        if event.type() == QEvent.Type.KeyPress and self._take_key(event):
            return True
        if event.type() == QEvent.Type.FocusOut and self._is_elsewhere(event):
            self.put_away()
        return super().eventFilter(watched, event)

    def _take_key(self, event: QKeyEvent) -> bool:
        key, page = event.key(), max(1, self.list.viewport().height() // ROW - 1)
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: page, Qt.Key.Key_PageUp: -page}
        if key == Qt.Key.Key_Escape:
            self.put_away()
        elif key in steps:
            row = self.list.currentIndex().row() + steps[key]
            self.list.setCurrentIndex(self.model.index(min(max(0, row), self.model.rowCount() - 1)))
        else:
            return False
        return True

    @staticmethod
    def _is_elsewhere(event: QFocusEvent) -> bool:
        return event.reason() in (Qt.FocusReason.MouseFocusReason, Qt.FocusReason.TabFocusReason)


class _PathDelegate(QStyledItemDelegate):
    """The file name, followed by its folder in a muted colour."""

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex) -> QSize:
        return QSize(100, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        tokens = Theme.current().tokens
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.raised))
            painter.drawRoundedRect(option.rect, 6, 6)
        folder, slash, name = index.data().rpartition("/")
        painter.setFont(code_font(13))
        place = option.rect.adjusted(10, 0, -10, 0)
        painter.setPen(QColor(tokens.ink))
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
        place.setLeft(place.left() + painter.fontMetrics().horizontalAdvance(name) + 14)
        painter.setFont(code_font(12))
        painter.setPen(QColor(tokens.mute))
        shown = painter.fontMetrics().elidedText(folder + slash, Qt.TextElideMode.ElideLeft, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        painter.restore()
