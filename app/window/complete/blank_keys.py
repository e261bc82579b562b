"""Enter, Tab and Backspace as an editor for code has them: blanks by steps, lines in and out."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from app.window.complete import indenting


def handle(editor: QPlainTextEdit, unit: str, event: QKeyEvent) -> bool:
    """Do what a key says in a text indented by `unit`; False where it is none of these keys."""
    cursor, key, modifiers = editor.textCursor(), event.key(), event.modifiers()
    before = cursor.block().text()[: cursor.positionInBlock()]
    if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not modifiers & ~Qt.KeyboardModifier.KeypadModifier:
        editor.insertPlainText("\n" + indenting.next_indent(before, unit))
    elif key == Qt.Key.Key_Tab and not modifiers:
        if cursor.hasSelection():
            _shift_lines(editor, unit, 1)
        else:
            editor.insertPlainText(unit if unit == "\t" else " " * (len(unit) - len(before) % len(unit)))
    elif key == Qt.Key.Key_Backtab:
        _shift_lines(editor, unit, -1)
    elif key == Qt.Key.Key_Backspace and not modifiers and not cursor.hasSelection():
        count = indenting.to_the_stop(before, unit)
        if count == 1:
            return False
        cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, count)
        cursor.removeSelectedText()
    else:
        return False
    editor.ensureCursorVisible()
    return True


def _shift_lines(editor: QPlainTextEdit, unit: str, steps: int) -> None:
    """Move the selected lines, or the cursor's, one step in or out."""
    cursor, document = editor.textCursor(), editor.document()
    first = document.findBlock(cursor.selectionStart())
    last = document.findBlock(max(cursor.selectionStart(), cursor.selectionEnd() - 1))
    edit = QTextCursor(first)
    edit.beginEditBlock()
    for number in range(first.blockNumber(), last.blockNumber() + 1):
        block = document.findBlockByNumber(number)
        edit.setPosition(block.position())
        if steps > 0:
            if block.text():
                edit.insertText(unit)
        else:
            blanks = indenting.leading(block.text())
            out = 1 if blanks.startswith("\t") else min(len(unit), len(blanks))
            edit.setPosition(block.position() + (out if blanks else 0), QTextCursor.MoveMode.KeepAnchor)
            edit.removeSelectedText()
    edit.endEditBlock()
