"""A splitter that can be moved without a mouse: its handle takes the focus, and the arrows move it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSplitter, QSplitterHandle

from app.theme import Theme

STEP = 24  # pixels
WIDE = 4  # of the sign that the handle has the focus


class KeyHandle(QSplitterHandle):
    """Between two halves that lie side by side."""

    help_keys = (("Move the border between the two halves, once Tab has reached it", "←, →"),)

    def __init__(self, splitter: QSplitter) -> None:
        super().__init__(Qt.Orientation.Horizontal, splitter)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Border between the two halves")
        self.setAccessibleDescription("The left and right arrows move it.")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -STEP, Qt.Key.Key_Right: STEP}
        if event.key() in steps:
            self.moveSplitter(self.x() + steps[event.key()])
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
            painter.drawRoundedRect(QRectF((self.width() - WIDE) / 2, 0, WIDE, self.height()), WIDE / 2, WIDE / 2)


class KeySplitter(QSplitter):
    """Two halves side by side."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setChildrenCollapsible(False)

    def createHandle(self) -> QSplitterHandle:
        return KeyHandle(self)
