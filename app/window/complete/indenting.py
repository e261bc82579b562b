"""Indentation in the editor: what Enter, Tab and Backspace do, by rules that hold in every language with blocks."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

OPENING = (":", "{", "(", "[")
USUAL = "    "
LOOKED_AT = 400  # lines


def leading(line: str) -> str:
    """The whitespace that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def unit_of(lines: list[str]) -> str:
    """One step of indentation in a file: a tab, or the smallest number of spaces it uses."""
    widths = set()
    for line in lines[:LOOKED_AT]:
        blanks = leading(line)
        if not blanks or len(blanks) == len(line):
            continue
        if blanks[0] == "\t":
            return "\t"
        widths.add(len(blanks))
    least = min((width for width in widths if width > 1), default=0)  # 1 is the star of a block comment
    return " " * least if least in (2, 3, 4, 8) else USUAL


def next_indent(before: str, unit: str) -> str:
    """The indentation of a new line after `before`, the cursor's line up to the cursor."""
    return leading(before) + (unit if before.rstrip().endswith(OPENING) else "")


def backspace_width(before: str, unit: str) -> int:
    """How many characters Backspace deletes: back to the previous tab stop if there are only spaces before."""
    if not before or before.strip(" ") or unit == "\t":
        return 1
    return (len(before) - 1) % len(unit) + 1


def handle_key(editor: QPlainTextEdit, unit: str, event: QKeyEvent) -> bool:
    """Enter, Tab, Shift+Tab and Backspace in a text indented by `unit`; False for any other key."""
    cursor, key, modifiers = editor.textCursor(), event.key(), event.modifiers()
    before = cursor.block().text()[: cursor.positionInBlock()]
    if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not modifiers & ~Qt.KeyboardModifier.KeypadModifier:
        editor.insertPlainText("\n" + next_indent(before, unit))
    elif key == Qt.Key.Key_Tab and not modifiers:
        if cursor.hasSelection():
            _shift_lines(editor, unit, 1)
        else:
            editor.insertPlainText(unit if unit == "\t" else " " * (len(unit) - len(before) % len(unit)))
    elif key == Qt.Key.Key_Backtab:
        _shift_lines(editor, unit, -1)
    elif key == Qt.Key.Key_Backspace and not modifiers and not cursor.hasSelection():
        count = backspace_width(before, unit)
        if count == 1:
            return False
        cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, count)
        cursor.removeSelectedText()
    else:
        return False
    editor.ensureCursorVisible()
    return True


def _shift_lines(editor: QPlainTextEdit, unit: str, steps: int) -> None:
    """Indent or outdent the selected lines, or the cursor's, by one step."""
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
            blanks = leading(block.text())
            out = 1 if blanks.startswith("\t") else min(len(unit), len(blanks))
            edit.setPosition(block.position() + (out if blanks else 0), QTextCursor.MoveMode.KeepAnchor)
            edit.removeSelectedText()
    edit.endEditBlock()
