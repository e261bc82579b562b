"""The editor without suggestions: blanks, line numbers, colours in both themes, and long texts."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor, QTextLayout

from app.theme import DARK, LIGHT
from app.theme.tokens import contrast
from app.window.complete.colouring import KIND_TOKENS
from app.window.complete.syntax import KINDS
from tests.window.complete.script import TEXT


def colour_at(editor, line: int, column: int) -> str:
    """The colour of a letter, as the layout has it."""
    formats = editor.document().findBlockByNumber(line).layout().formats()
    return next((f.format.foreground().color().name() for f in formats if f.start <= column < f.start + f.length), "")


def signs(editor, text: str) -> list[int]:
    """What the editor's font draws for a text: the numbers of its glyphs."""
    layout = QTextLayout(text, editor.document().defaultFont())
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return [number for run in layout.glyphRuns() for number in run.glyphIndexes()]


def test_signs_are_drawn_one_by_one_unless_ligatures_are_wanted(editor, theme):
    apart = signs(editor, "!") + signs(editor, "=")
    assert signs(editor, "!=") == apart
    theme.choose("dark")
    assert signs(editor, "!=") == apart and "JetBrains" in editor.font().family()
    editor.show_ligatures(True)
    assert signs(editor, "!=") != apart


def test_enter_goes_on_under_the_line_or_further_in(editor, qtbot):
    editor.load("def f():", "a.py", position=8)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.keyClicks(editor, "x")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert editor.toPlainText() == "def f():\n    x\n    "
    qtbot.keyClick(editor, Qt.Key.Key_Backspace)
    assert editor.toPlainText() == "def f():\n    x\n"


def test_a_file_indented_by_tabs_stays_so(editor, qtbot):
    editor.load("func f() {\n\ta()\n}", "a.go", position=10)
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert editor.toPlainText().startswith("func f() {\n\t\n\ta()")


def test_tab_fills_up_to_the_next_stop(editor, qtbot):
    editor.load("ab", "a.py", position=2)
    qtbot.keyClick(editor, Qt.Key.Key_Tab)
    assert editor.toPlainText() == "ab  "


def test_selected_lines_go_in_and_out_at_one_undo(editor, qtbot):
    editor.load("a\n\nb\nc", "a.py")
    cursor = editor.textCursor()
    cursor.setPosition(0)
    cursor.setPosition(4, QTextCursor.MoveMode.KeepAnchor)  # the beginning of c's line is not in it
    editor.setTextCursor(cursor)
    qtbot.keyClick(editor, Qt.Key.Key_Tab)
    assert editor.toPlainText() == "    a\n\n    b\nc"
    qtbot.keyClick(editor, Qt.Key.Key_Backtab)
    assert editor.toPlainText() == "a\n\nb\nc"
    editor.undo()
    assert editor.toPlainText() == "    a\n\n    b\nc"


def test_a_new_text_cannot_be_undone_into_the_old_one(editor):
    editor.load("other", "a.py")
    assert not editor.document().isUndoAvailable() and not editor.document().isModified()


def test_line_numbers_have_room_and_take_clicks(editor, qtbot):
    narrow = editor.numbers.wanted_width()
    editor.load("\n".join(map(str, range(12_000))), "a.txt")
    assert editor.numbers.wanted_width() > narrow and editor.viewport().x() >= editor.numbers.wanted_width()
    editor.load(TEXT, "a.py")
    top = next(top for block, top in editor.visible_lines() if block.blockNumber() == 4)
    qtbot.mouseClick(editor.numbers, Qt.MouseButton.LeftButton, pos=QPoint(5, int(top) + 4))
    assert editor.textCursor().blockNumber() == 4 and editor.textCursor().positionInBlock() == 0


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=lambda tokens: tokens.name)
def test_every_kind_and_the_ghost_can_be_read(tokens):
    assert set(KINDS.values()) == set(KIND_TOKENS)
    for name in (*KIND_TOKENS.values(), "ghost"):
        for surface in ("panel", "raised"):  # the current line is raised
            assert contrast(getattr(tokens, name), getattr(tokens, surface)) >= 4.5, (name, surface)


def test_colours_follow_the_typing_and_the_theme(editor, theme, qtbot):
    editor.load("x = 1\nreturn", "a.py", position=0)
    assert colour_at(editor, 1, 0) == LIGHT.third
    qtbot.keyClicks(editor, "# ")
    assert colour_at(editor, 0, 3) == LIGHT.mute
    theme.choose("dark")
    assert colour_at(editor, 0, 3) == DARK.mute and colour_at(editor, 1, 0) == DARK.third


def test_the_ghost_cuts_the_colours_around_it_in_two(editor, qtbot):
    from app.window.complete.ghost import Ghost

    editor.load("name = 'abcdef'", "a.py", position=11)
    editor.set_ghost(Ghost("XY"))
    string, ghost = LIGHT.accent_text, LIGHT.ghost
    assert [colour_at(editor, 0, i) for i in (9, 11, 12, 13)] == [string, ghost, ghost, string]
    editor.load("name = 'abcdef'", "a.py", position=4)
    editor.set_ghost(Ghost("XY"))
    assert [colour_at(editor, 0, i) for i in (3, 4, 5, 7, 9, 16)] == ["", ghost, ghost, "", string, string]


def test_of_a_long_text_only_what_is_seen_gets_colours_and_the_rest_follows(editor, qtbot):
    editor.load("\n".join("def f():\n    return 1  # one" for _ in range(1500)), "a.py")
    assert colour_at(editor, 0, 0) == LIGHT.third and not editor.colouring.is_done
    editor.verticalScrollBar().setValue(2000)
    editor.colouring.on_slice()
    first = editor.firstVisibleBlock().blockNumber()
    assert colour_at(editor, first + first % 2, 0) == LIGHT.third  # before its turn
    qtbot.waitUntil(lambda: editor.colouring.is_done)
    assert editor.colouring.syntax.spans[2999]
