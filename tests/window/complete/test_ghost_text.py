"""The ghost in the editor: every key, what typing does to it, and that the document never knows of it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QInputMethodEvent, QTextCursor

from app.window.complete import suggester as states
from tests.window.complete.script import PATH, TEXT

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
GHOST = "return self.boxes.pop(name)\n    # gone"


@pytest.fixture
def ghost(editor, script, qtbot, asked):
    """A ghost at the end of the text: `x` was typed and answered."""
    before = len(script.asked)
    qtbot.keyClicks(editor, "x")
    asked(since=before)
    script.answer(GHOST)
    assert editor.shown_ghost == GHOST
    return editor


def key(qtbot, editor, key_, modifiers=Qt.KeyboardModifier.NoModifier):
    qtbot.keyClick(editor, key_, modifiers)


def will_ask(pane) -> bool:
    """Whether the pause after a key is running, at whose end the model is asked."""
    return pane.suggester._due.isActive()


def test_typing_asks_with_what_stands_around_the_cursor(editor, script, qtbot, asked):
    qtbot.keyClicks(editor, "ret")
    query = asked()
    assert (query.prefix, query.suffix, query.path) == (TEXT + "ret", "", PATH)


def test_pieces_are_shown_as_they_come_and_the_document_never_knows(editor, script, qtbot, asked, pane):
    qtbot.keyClicks(editor, "x")
    asked()
    document = editor.document()
    revision, height = document.revision(), editor.blockBoundingGeometry(editor.textCursor().block()).height()
    line = editor.cursorRect().height()
    script.piece("return ")
    assert editor.shown_ghost == "return " and pane.suggester.state == states.WRITING
    script.piece("a\n    b")
    script.answer("return a\n    b")
    assert editor.shown_ghost == "return a\n    b" and pane.suggester.state == states.SHOWN
    assert editor.toPlainText() == TEXT + "x" and document.revision() == revision
    assert editor.blockBoundingGeometry(editor.textCursor().block()).height() == height + line
    editor.selectAll()
    assert "return a" not in editor.textCursor().selectedText()


def test_tab_takes_all_of_it_at_one_undo(ghost, qtbot):
    key(qtbot, ghost, Qt.Key.Key_Tab)
    assert ghost.toPlainText() == TEXT + "x" + GHOST and ghost.shown_ghost == ""
    ghost.undo()
    assert ghost.toPlainText() == TEXT + "x"


def test_tab_without_a_ghost_indents(editor, qtbot):
    key(qtbot, editor, Qt.Key.Key_Tab)
    assert editor.toPlainText() == TEXT + "    "


def test_ctrl_right_takes_a_word_and_the_rest_stays(ghost, script, qtbot, pane):
    count = len(script.asked)
    key(qtbot, ghost, Qt.Key.Key_Right, CTRL)
    key(qtbot, ghost, Qt.Key.Key_Right, CTRL)
    assert ghost.toPlainText() == TEXT + "xreturn self"
    assert ghost.shown_ghost == ".boxes.pop(name)\n    # gone"
    assert len(script.asked) == count and not will_ask(pane)  # what is left needs no new question


def test_ctrl_down_takes_a_line(ghost, qtbot):
    key(qtbot, ghost, Qt.Key.Key_Down, CTRL)
    assert ghost.toPlainText() == TEXT + "xreturn self.boxes.pop(name)" and ghost.shown_ghost == "\n    # gone"
    key(qtbot, ghost, Qt.Key.Key_Down, CTRL)
    assert ghost.toPlainText().endswith("    # gone") and ghost.shown_ghost == ""


def test_esc_dismisses_and_nothing_asks_again_here(ghost, script, qtbot, pane):
    count = len(script.asked)
    key(qtbot, ghost, Qt.Key.Key_Escape)
    assert ghost.shown_ghost == "" and ghost.toPlainText() == TEXT + "x"
    assert pane.suggester.state == states.DISMISSED
    assert len(script.asked) == count and not will_ask(pane)


def test_typing_along_keeps_it_and_asks_nothing(ghost, script, qtbot, pane):
    count = len(script.asked)
    qtbot.keyClicks(ghost, "return s")
    assert ghost.shown_ghost == GHOST[len("return s") :] and ghost.toPlainText() == TEXT + "xreturn s"
    assert len(script.asked) == count and not will_ask(pane) and not script.cancelled


def test_enter_along_a_line_end_keeps_it_too(ghost, script, qtbot, pane):
    key(qtbot, ghost, Qt.Key.Key_Down, CTRL)
    count = len(script.asked)
    key(qtbot, ghost, Qt.Key.Key_Return)
    assert ghost.toPlainText().endswith("pop(name)\n    ") and ghost.shown_ghost == "# gone"
    assert len(script.asked) == count and not will_ask(pane)


def test_typing_it_to_its_end_asks_for_more(ghost, script, qtbot, asked):
    count = len([query for query in script.asked if query.channel == "ghost"])
    key(qtbot, ghost, Qt.Key.Key_Down, CTRL)
    key(qtbot, ghost, Qt.Key.Key_Return)
    qtbot.keyClicks(ghost, "# gone")
    assert asked(since=count).prefix == TEXT + "x" + GHOST


def test_another_key_takes_it_away_and_cancels(editor, script, qtbot, asked):
    qtbot.keyClicks(editor, "x")
    query = asked()
    script.piece("return ")
    qtbot.keyClicks(editor, "q")
    assert editor.shown_ghost == "" and query.ticket in script.cancelled
    assert asked(since=1).prefix == TEXT + "xq"
    script.piece("late", query)
    assert editor.shown_ghost == ""  # an answer that was overtaken is not shown


@pytest.mark.parametrize("move", [Qt.Key.Key_Left, Qt.Key.Key_Up, Qt.Key.Key_Home])
def test_moving_the_cursor_takes_it_away(ghost, move, qtbot, asked):
    key(qtbot, ghost, move)
    assert ghost.shown_ghost == "" and ghost.toPlainText() == TEXT + "x"
    assert ghost.textCursor().block().layout().preeditAreaText() == ""
    assert asked(since=1).suffix != ""  # a cursor that rests is asked about


def test_text_behind_the_cursor_moves_along_and_comes_back(editor, script, qtbot, asked):
    cursor = editor.textCursor()
    cursor.setPosition(TEXT.index("return"))
    before = len(script.asked)
    editor.setTextCursor(cursor)
    query = asked(since=before)
    assert query.suffix.startswith("return self.boxes")
    block = editor.textCursor().block()
    script.answer("if name:\n        ")
    assert block.layout().lineCount() == 2 and block.text() == "    return self.boxes[name]"
    key(qtbot, editor, Qt.Key.Key_Escape)
    assert editor.blockBoundingRect(block).height() == editor.cursorRect().height()
    formats = [(each.start, each.length) for each in block.layout().formats()]
    assert (4, len("return")) in formats  # colours are back in their places


def test_down_goes_to_the_next_line_of_the_text_not_of_the_ghost(editor, script, qtbot, asked):
    cursor = editor.textCursor()
    cursor.setPosition(TEXT.index("return"))
    before = len(script.asked)
    editor.setTextCursor(cursor)
    asked(since=before)
    script.answer("one\n    two\n    three\n    ")
    qtbot.keyClick(editor, Qt.Key.Key_Down)
    assert editor.textCursor().blockNumber() == 2 and editor.shown_ghost == ""


def test_a_click_behind_the_ghost_goes_where_it_seems_to_go(editor, script, qtbot, asked):
    cursor = editor.textCursor()
    cursor.setPosition(TEXT.index("return"))
    before = len(script.asked)
    editor.setTextCursor(cursor)
    asked(since=before)
    cursor.setPosition(TEXT.index("def take"))
    plain = editor.cursorRect(cursor)
    script.answer("one\n    two\n    three ")
    moved = editor.cursorRect(cursor)
    assert moved.top() == plain.top() + 2 * editor.cursorRect().height()
    qtbot.mouseClick(editor.viewport(), Qt.MouseButton.LeftButton, pos=moved.center() + QPoint(1, 0))
    assert editor.textCursor().position() == TEXT.index("def take") and editor.shown_ghost == ""


def test_a_click_on_the_moved_rest_of_the_line_finds_its_letter(editor, script, qtbot, asked):
    cursor = editor.textCursor()
    cursor.setPosition(TEXT.index("return"))
    before = len(script.asked)
    editor.setTextCursor(cursor)
    asked(since=before)
    script.answer("abcde ")
    width = editor.fontMetrics().horizontalAdvance("a")
    there = editor.cursorRect().center() + QPoint(round(width * (len("abcde ") + 3)), 0)
    qtbot.mouseClick(editor.viewport(), Qt.MouseButton.LeftButton, pos=there)
    assert editor.textCursor().position() == TEXT.index("return") + 3


def ghost_at_the_end(editor, script, qtbot, asked) -> QPoint:
    """A ghost of three lines after the last letter; gives a point in the empty area below it."""
    qtbot.keyClicks(editor, "x")
    asked()
    script.answer("one\n    two\n    three")
    bottom = editor.blockBoundingGeometry(editor.document().lastBlock()).translated(editor.contentOffset()).bottom()
    return QPoint(editor.viewport().width() // 2, int(bottom) + 60)


def test_a_click_below_the_ghost_leaves_the_cursor_in_the_last_line(editor, script, qtbot, asked):
    below = ghost_at_the_end(editor, script, qtbot, asked)
    for point in (below, below - QPoint(0, 58), QPoint(below.x(), editor.cursorRect().center().y())):
        qtbot.mouseClick(editor.viewport(), Qt.MouseButton.LeftButton, pos=point)
        assert editor.textCursor().position() == len(TEXT) + 1
        assert editor.shown_ghost == "one\n    two\n    three"  # the cursor was there already


def test_dragging_over_the_ghost_selects_nothing_of_another_line(editor, script, qtbot, asked):
    below = ghost_at_the_end(editor, script, qtbot, asked)
    where = editor.viewport()
    qtbot.mousePress(where, Qt.MouseButton.LeftButton, pos=below)
    qtbot.mouseMove(where, below - QPoint(0, 70))
    qtbot.mouseMove(where, below - QPoint(30, 72))
    assert editor.textCursor().blockNumber() == editor.document().findBlock(editor.textCursor().anchor()).blockNumber()
    qtbot.mouseRelease(where, Qt.MouseButton.LeftButton, pos=below - QPoint(30, 72))
    qtbot.mouseDClick(where, Qt.MouseButton.LeftButton, pos=below)
    assert editor.textCursor().blockNumber() == 5


def test_a_word_that_is_composed_takes_its_place(ghost, qapp):
    qapp.sendEvent(ghost, QInputMethodEvent("か", []))
    assert ghost.shown_ghost == "" and ghost.textCursor().block().layout().preeditAreaText() == "か"


def test_ctrl_space_asks_though_suggestions_are_off(editor, script, application, qtbot, asked, pane):
    application.settings.completion_enabled = False
    with qtbot.waitSignal(pane.suggester.settled):  # the pause is over
        qtbot.keyClicks(editor, "x")
    assert script.last("ghost") is None
    key(qtbot, editor, Qt.Key.Key_Space, CTRL)
    assert asked(since=0).prefix == TEXT + "x"
    script.answer("y")
    assert editor.shown_ghost == "y"


def test_the_keys_are_those_of_the_settings(ghost, application, qtbot, pane):
    application.settings.key_accept = "Ctrl+Return"
    assert pane.keys.words("key_accept") == "Ctrl+Return" and pane.keys.words("key_accept_line") == "Ctrl+↓"
    key(qtbot, ghost, Qt.Key.Key_Return, CTRL)
    assert ghost.toPlainText() == TEXT + "x" + GHOST


def test_shift_tab_can_be_a_key_of_the_ghost(ghost, application, qtbot):
    application.settings.key_accept = "Shift+Tab"
    key(qtbot, ghost, Qt.Key.Key_Backtab, SHIFT)
    assert ghost.toPlainText() == TEXT + "x" + GHOST


def test_nothing_is_asked_of_a_selection_or_an_empty_text(editor, script, qtbot, pane):
    editor.selectAll()
    pane.suggester.on_due()
    assert script.asked == []
    pane.card.open_scratch()
    pane.suggester.on_due()
    assert script.asked == []


def test_letters_of_two_units_are_counted_right(editor, script, qtbot, asked):
    editor.load('name = "🦊"  # fox\nvalue = ', "a.py", position=len('name = "🦊"  # fox\nvalue = ') + 1)
    qtbot.keyClicks(editor, "x")
    assert asked().prefix == 'name = "🦊"  # fox\nvalue = x'
    script.answer("🦊 + 1")
    key(qtbot, editor, Qt.Key.Key_Tab)
    assert editor.toPlainText().endswith("value = x🦊 + 1")


def test_a_ghost_below_the_last_line_is_brought_into_view(editor, script, qtbot, asked):
    editor.load("\n".join(f"line_{n} = {n}" for n in range(400)), "a.py")
    editor.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClicks(editor, "x")
    asked()
    script.answer("a\nb\nc\nd")
    block = editor.textCursor().block()
    bottom = editor.blockBoundingGeometry(block).translated(editor.contentOffset()).bottom()
    assert bottom <= editor.viewport().height()
    value = editor.verticalScrollBar().value()
    qtbot.keyClicks(editor, "a")  # along: nothing jumps
    assert editor.verticalScrollBar().value() == value and editor.shown_ghost == "\nb\nc\nd"
