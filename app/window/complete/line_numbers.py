"""The line numbers beside the editor.  Lines of ghost text have none: they are not in the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme import Theme

if TYPE_CHECKING:
    from app.window.complete.editor import CodeEditor

LEAST_DIGITS = 3
LEFT, RIGHT = 10, 14  # pixels beside the numbers


class LineNumbers(QWidget):
    def __init__(self, editor: CodeEditor) -> None:
        super().__init__(editor)
        self._editor = editor
        self.setCursor(Qt.CursorShape.ArrowCursor)

    def wanted_width(self) -> int:
        digits = max(LEAST_DIGITS, len(str(self._editor.blockCount())))
        return LEFT + digits * self._editor.fontMetrics().horizontalAdvance("9") + RIGHT

    def sizeHint(self) -> QSize:
        return QSize(self.wanted_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        editor, tokens = self._editor, Theme.current().tokens
        painter = QPainter(self)
        painter.setFont(editor.font())
        current = editor.textCursor().blockNumber()
        metrics = painter.fontMetrics()
        for block, top in editor.visible_lines():
            if top > event.rect().bottom():
                break
            line, number = block.layout().lineAt(0), block.blockNumber()
            words = str(number + 1)
            painter.setPen(QColor(tokens.ink if number == current else tokens.mute))
            x = self.width() - RIGHT - metrics.horizontalAdvance(words)
            painter.drawText(QPointF(x, top + line.y() + line.ascent()), words)  # on the baseline of its line

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Move the cursor to the start of the line."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._editor.go_to_line_at(event.position().y())
