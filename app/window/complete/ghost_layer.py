"""Ghost text in the editor: drawn after the cursor, over several lines, with the text after it moved along.

It is the preedit text of the line's layout: the layout makes room for it, and the document does not contain it.
"""

from __future__ import annotations

import math

from PySide6.QtCore import QPoint
from PySide6.QtGui import QTextBlock
from PySide6.QtWidgets import QPlainTextEdit

from app.window.complete.colouring import Colouring

LINE_SEPARATOR = "\u2028"


class GhostLayer:
    """At most one ghost text, at the editor's cursor."""

    def __init__(self, editor: QPlainTextEdit, colouring: Colouring) -> None:
        self._editor, self._colouring = editor, colouring
        self._block: QTextBlock | None = None
        self.text = ""

    def show(self, text: str) -> None:
        """Show this after the cursor, replacing what is shown."""
        if text == self.text and self._block is not None and self._is_at_cursor():
            return
        self.hide()
        if not text:
            return
        cursor = self._editor.textCursor()
        self._block, self.text = cursor.block(), text
        self._block.layout().setPreeditArea(cursor.positionInBlock(), text.replace("\n", LINE_SEPARATOR))
        self._lay_out(self._block)
        self.reveal()

    def hide(self) -> None:
        block, self._block, self.text = self._block, None, ""
        if block is not None and block.isValid() and block.layout() is not None:
            block.layout().setPreeditArea(-1, "")
            self._lay_out(block)

    def place_at(self, point: QPoint) -> int | None:
        """The position in the document at a point, which may be on the ghost text or after it.

        None below the last line, where Qt finds the position itself once the ghost text is hidden: until then it counts
        the characters of the ghost text and ends up past the end of the document.
        """
        if self._block is None:
            return self._editor.cursorForPosition(point).position()
        geometry = self._editor.blockBoundingGeometry(self._block).translated(self._editor.contentOffset())
        if point.y() >= geometry.bottom() and not self._block.next().isValid():
            return None
        if not geometry.top() <= point.y() < geometry.bottom():
            return self._editor.cursorForPosition(point).position()
        # On the ghost text's own line Qt counts its characters too, and ends up too far right.
        layout = self._block.layout()
        y = point.y() - geometry.top()
        line = next((layout.lineAt(i) for i in range(layout.lineCount()) if layout.lineAt(i).rect().bottom() > y), None)
        if line is None:
            return None
        within = line.xToCursor(point.x() - geometry.left())
        begin, length = layout.preeditAreaPosition(), len(layout.preeditAreaText().encode("utf-16-le")) // 2
        if within > begin:
            within = max(begin, within - length)
        return self._block.position() + min(within, self._block.length() - 1)

    def _is_at_cursor(self) -> bool:
        cursor = self._editor.textCursor()
        layout = self._block.layout()
        here = self._block == cursor.block() and layout.preeditAreaPosition() == cursor.positionInBlock()
        return here and bool(layout.preeditAreaText())

    def _lay_out(self, block: QTextBlock) -> None:
        self._colouring.paint_line(block)
        self._editor.document().markContentsDirty(block.position(), block.length())

    def reveal(self) -> None:
        """Scroll to the end of the ghost text, as far as the cursor's line stays visible."""
        if self._block is None:
            return
        editor = self._editor
        geometry = editor.blockBoundingGeometry(self._block).translated(editor.contentOffset())
        line = editor.cursorRect().height()
        needed = math.ceil((geometry.bottom() - editor.viewport().height()) / line)
        possible = int(geometry.top() // line)
        if min(needed, possible) > 0:
            bar = editor.verticalScrollBar()
            bar.setValue(bar.value() + min(needed, possible))
