"""The editor: text with line numbers, colours, auto-indent, and ghost text after the cursor.

It requests nothing itself: the suggester sets the ghost text, and what the user does with it is emitted as signals.
Typing what the ghost text says keeps it; anything else removes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRect, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QFocusEvent,
    QFont,
    QInputMethodEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QTextBlock,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from app.theme import Theme, Tokens
from app.window.complete import indenting
from app.window.complete.colouring import Colouring
from app.window.complete.ghost import Ghost
from app.window.complete.ghost_layer import GhostLayer
from app.window.complete.keys import ALL, DISMISS, LINE, NEXT, PREVIOUS, GhostKeys
from app.window.complete.line_numbers import LineNumbers

PURE_MODIFIERS = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)
TAB_COLUMNS = 4
LIGATURES = ("calt", "liga")  # font features that draw several characters as one


class CodeEditor(QPlainTextEdit):
    edited = Signal()  # the text was changed, other than by typing along the ghost text
    moved = Signal()  # the cursor moved in an unchanged text
    typed_along = Signal()  # some of the ghost text was typed; it is shorter now
    accepted = Signal(str)  # one of keys.ACTIONS
    dismissed = Signal()
    other_wanted = Signal(int)  # 1: the next suggestion, -1: the previous one
    ask_wanted = Signal()  # Ctrl+Space

    def __init__(self, keys: GhostKeys) -> None:
        super().__init__()
        self._keys = keys
        self.ghost: Ghost | None = None
        self._unit = indenting.USUAL
        self._changing = False  # the document is being changed by this editor, not by typing
        self._change: tuple[int, int, int] | None = None  # position, removed, added: since the last `textChanged`
        self._place = (0, 0)  # cursor and anchor, as last reported
        self.setProperty("role", "editor")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName("Code")
        self.show_ligatures(False)
        self.setAccessibleDescription("Suggestions follow the cursor. F6 leaves the editor.")
        self.numbers = LineNumbers(self)
        self.colouring = Colouring(self.document(), self._visible_range)
        self._layer = GhostLayer(self, self.colouring)
        self.document().contentsChange.connect(self.on_contents_change)
        self.textChanged.connect(self.on_text_changed)
        self.cursorPositionChanged.connect(self.on_cursor_moved)
        self.blockCountChanged.connect(self.on_block_count_changed)
        self.updateRequest.connect(self.on_update_request)
        self.verticalScrollBar().valueChanged.connect(self.colouring.paint_visible)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)
        self.on_block_count_changed()

    # ---- the text

    def load(self, text: str, path: str, language: str = "", position: int = 0) -> None:
        """Show another text with the cursor at a position; clears the undo history."""
        self.set_ghost(None)
        self._changing = True
        self.setPlainText(text)
        self._changing = False
        self._unit = indenting.unit_of(text.split("\n"))
        self.colouring.set_language(path, language)
        cursor = self.textCursor()
        cursor.setPosition(min(position, max(0, self.document().characterCount() - 1)))
        self._place = (cursor.position(), cursor.position())
        self.setTextCursor(cursor)
        self.centerCursor()
        self.document().setModified(False)

    @property
    def text(self) -> str:
        """The exact text; `toPlainText` turns non-breaking spaces into spaces."""
        return self.document().toRawText().replace("\u2029", "\n")

    def replace_text(self, text: str) -> None:
        """Replace the text as one undoable step; the cursor stays about where it was."""
        place = self.textCursor().position()
        self.set_ghost(None)
        self._changing = True
        edit = QTextCursor(self.document())
        edit.select(QTextCursor.SelectionType.Document)
        edit.insertText(text)
        self._changing = False
        cursor = self.textCursor()
        cursor.setPosition(min(place, max(0, self.document().characterCount() - 1)))
        self.setTextCursor(cursor)
        self.edited.emit()

    def go_to_line(self, number: int) -> None:
        """Move the cursor to the start of a line, counted from 1, and centre it."""
        block = self.document().findBlockByNumber(min(number, self.blockCount()) - 1)
        if block.isValid():
            self.setTextCursor(QTextCursor(block))
            self.centerCursor()

    def show_ligatures(self, on: bool) -> None:
        """Whether `!=` and `->` may be drawn as one glyph.  Off: every character looks as it is in the file."""
        font = self.font()
        for feature in LIGATURES:
            font.setFeature(QFont.Tag(feature), int(on))
        self.setFont(font)

    def around_cursor(self) -> tuple[str, str]:
        """The text before and after the cursor."""
        text, place = self.text, self.textCursor().position()
        if text.isascii() or max(text, default="") < "\U00010000":
            return text[:place], text[place:]
        units = text.encode("utf-16-le")  # Qt counts a character outside the first plane as two
        return units[: 2 * place].decode("utf-16-le"), units[2 * place :].decode("utf-16-le")

    # ---- the ghost

    def set_ghost(self, ghost: Ghost | None) -> None:
        """Show the rest of this ghost text; None removes it."""
        self.ghost = ghost
        self._layer.show(ghost.rest if ghost is not None else "")

    @property
    def shown_ghost(self) -> str:
        """The text shown after the cursor."""
        return self._layer.text

    def accept(self, action: str) -> None:
        """Insert all, a line or a word of the ghost text, as if it had been typed."""
        if self.ghost is None or not self.ghost.rest:
            return
        if action == ALL:
            taken = self.ghost.rest
        else:
            taken = self.ghost.next_line() if action == LINE else self.ghost.next_word()
        ghost = self.ghost.typed(taken)
        self._layer.hide()
        self._changing = True
        self.insertPlainText(taken)
        self._changing = False
        self.ensureCursorVisible()
        self._place = self._cursor_place()
        self.set_ghost(ghost)
        self.accepted.emit(action)

    # ---- keys and the mouse

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Dropped files and folders are left to the window, which opens them; here their URLs would be pasted."""
        is_files = any(url.isLocalFile() for url in source.urls())
        return not is_files and super().canInsertFromMimeData(source)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and self._is_for_ghost(event):
            event.accept()  # while ghost text is shown, its keys take precedence
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in PURE_MODIFIERS:
            super().keyPressEvent(event)
            return
        if self._is_for_ghost(event):
            action = self._keys.action(event)
            if action == DISMISS:
                self.set_ghost(None)
                self.dismissed.emit()
            elif action in (NEXT, PREVIOUS):
                self.other_wanted.emit(1 if action == NEXT else -1)
            else:
                self.accept(action)
            return
        if event.key() == Qt.Key.Key_Space and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.ask_wanted.emit()
            return
        self._layer.hide()  # Qt would take it for a word being composed
        if not indenting.handle_key(self, self._unit, event):
            super().keyPressEvent(event)
        if self.ghost is not None:
            self._layer.show(self.ghost.rest)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """A word being composed takes the place of the ghost text in the layout."""
        if self.ghost is not None and (event.preeditString() or event.commitString()):
            self.set_ghost(None)
            self.moved.emit()
        super().inputMethodEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        pastes = event.button() == Qt.MouseButton.MiddleButton  # on release
        super().mousePressEvent(event if pastes else self._as_without_ghost(event))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(self._as_without_ghost(event))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(self._as_without_ghost(event))
        self._show_again()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._layer.hide()  # Qt counts its characters, and would drop in the wrong place
        super().dragEnterEvent(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self._show_again()

    def dropEvent(self, event: QDropEvent) -> None:
        super().dropEvent(event)
        self._show_again()

    def _as_without_ghost(self, event: QMouseEvent) -> QMouseEvent:
        """Hide the ghost text and move the event to where its position in the document is then.

        The ghost text is back when the button is released, unless the cursor has moved.
        """
        if not self.shown_ghost:
            return event
        place = self._layer.place_at(event.position().toPoint())
        self._layer.hide()
        if place is None:
            return event
        cursor = self.textCursor()
        cursor.setPosition(place)
        there = QPointF(self.cursorRect(cursor).center())
        return QMouseEvent(
            event.type(), there, event.globalPosition(), event.button(), event.buttons(), event.modifiers()
        )

    def _show_again(self) -> None:
        if self.ghost is not None and not self.shown_ghost:
            self._layer.show(self.ghost.rest)

    def _is_for_ghost(self, event: QKeyEvent) -> bool:
        return bool(self.shown_ghost) and bool(self._keys.action(event))

    # ---- changes

    @Slot(int, int, int)
    def on_contents_change(self, position: int, removed: int, added: int) -> None:
        self._change = (position, removed, added)

    @Slot()
    def on_text_changed(self) -> None:
        change, self._change = self._change, None
        self._place = self._cursor_place()
        if self._changing or change is None:
            return
        along = self._along(*change)
        if along is not None:
            self.ghost = along
            self.typed_along.emit()
            return
        self.ghost = None
        self._layer.hide()
        self.edited.emit()

    def _along(self, position: int, removed: int, added: int) -> Ghost | None:
        """The ghost text after a change, if that typed along it."""
        if self.ghost is None or removed or self.textCursor().position() != position + added:
            return None
        cursor = self.textCursor()
        cursor.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
        return self.ghost.typed(cursor.selectedText().replace("\u2029", "\n"))

    @Slot()
    def on_cursor_moved(self) -> None:
        self._mark_current_line()
        if self._changing or self._change is not None or self._place == self._cursor_place():
            return  # handled as a change of the text
        self._place = self._cursor_place()
        self.set_ghost(None)
        self.moved.emit()

    def _cursor_place(self) -> tuple[int, int]:
        cursor = self.textCursor()
        return cursor.position(), cursor.anchor()

    def _mark_current_line(self) -> None:
        mark = QTextEdit.ExtraSelection()
        mark.format.setBackground(QColor(Theme.current().tokens.raised))
        mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        mark.cursor = self.textCursor()
        mark.cursor.clearSelection()
        self.setExtraSelections([] if self.document().isEmpty() else [mark])  # it would hide the placeholder
        self.numbers.update()

    # ---- line numbers

    def visible_lines(self) -> Iterator[tuple[QTextBlock, float]]:
        """The visible lines with the y of their top edges."""
        block = self.firstVisibleBlock()
        geometry = self.blockBoundingGeometry(block).translated(self.contentOffset())
        while block.isValid() and geometry.top() <= self.viewport().height():
            yield block, geometry.top()
            top, block = geometry.bottom(), block.next()
            geometry = self.blockBoundingRect(block).translated(0, top)

    def go_to_line_at(self, y: float) -> None:
        """Move the cursor to the start of the line at this height."""
        lines = [block for block, top in self.visible_lines() if top <= y]
        if lines:
            self.setTextCursor(QTextCursor(lines[-1]))
            self.setFocus(Qt.FocusReason.MouseFocusReason)

    def _visible_range(self) -> tuple[int, int]:
        first = self.firstVisibleBlock().blockNumber()
        return first, first + self.viewport().height() // max(1, self.fontMetrics().lineSpacing()) + 1

    @Slot(int)
    def on_block_count_changed(self, _count: int = 0) -> None:
        self.setViewportMargins(self.numbers.wanted_width(), 0, 0, 0)
        self._place_numbers()

    @Slot(QRect, int)
    def on_update_request(self, rect: QRect, scrolled: int) -> None:
        if scrolled:
            self.numbers.scroll(0, scrolled)
        else:
            self.numbers.update(0, rect.y(), self.numbers.width(), rect.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        seen = 0 <= self.cursorRect().top() < event.oldSize().height()
        super().resizeEvent(event)
        self._place_numbers()
        self.colouring.paint_visible()
        if seen:
            self.ensureCursorVisible()
            self._layer.reveal()

    def _place_numbers(self) -> None:
        inner = self.contentsRect()
        self.numbers.setGeometry(inner.left(), inner.top(), self.numbers.wanted_width(), inner.height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and hasattr(self, "numbers"):
            self.setTabStopDistance(TAB_COLUMNS * self.fontMetrics().horizontalAdvance(" "))
            self.on_block_count_changed()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Keep the ghost text: a slider that changes it may have the focus now."""
        super().focusOutEvent(event)
        if self.ghost is not None:
            self._layer.show(self.ghost.rest)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self._mark_current_line()
        self.numbers.update()
