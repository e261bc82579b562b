"""A splitter that can be moved without a mouse: Tab reaches its handle, and the arrow keys move it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle

from app.theme import Theme

STEP = 24  # pixels
WIDE = 4  # pixels of the focus mark
MOVE = "Move the divider, once Tab has reached it"


class KeyHandle(QSplitterHandle):
    """Between two halves, side by side or one above the other."""

    def __init__(self, splitter: QSplitter) -> None:
        super().__init__(splitter.orientation(), splitter)
        self._is_upright = splitter.orientation() == Qt.Orientation.Horizontal
        self.help_keys = ((MOVE, "←, →" if self._is_upright else "↑, ↓"),)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Divider")
        arrows = "left and right" if self._is_upright else "up and down"
        self.setAccessibleDescription(f"Move it with the {arrows} arrow keys.")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        back, on = (Qt.Key.Key_Left, Qt.Key.Key_Right) if self._is_upright else (Qt.Key.Key_Up, Qt.Key.Key_Down)
        steps = {back: -STEP, on: STEP}
        if event.key() in steps:
            self.moveSplitter((self.x() if self._is_upright else self.y()) + steps[event.key()])
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(Theme.current().tokens.second))
            sign = QRectF((self.width() - WIDE) / 2, 0, WIDE, self.height())
            if not self._is_upright:
                sign = QRectF(0, (self.height() - WIDE) / 2, self.width(), WIDE)
            painter.drawRoundedRect(sign, WIDE / 2, WIDE / 2)


class KeySplitter(QSplitter):
    """Two halves: side by side, or one above the other."""

    def __init__(self, orientation: Qt.Orientation = Qt.Orientation.Horizontal) -> None:
        super().__init__(orientation)
        self.setChildrenCollapsible(False)

    def createHandle(self) -> QSplitterHandle:
        return KeyHandle(self)
