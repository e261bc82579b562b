"""What a user does to a window: clicks, keys, typing; and the patience to wait for what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEventLoop, QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QLineEdit, QPlainTextEdit, QWidget

PATIENCE = 600.0  # seconds without anything moving: the first start compiles kernels, on a busy machine for minutes
TURN = 20  # milliseconds of events at a time
PAUSE = 0.002  # seconds: leaves the processor to the engine
NO_MODIFIER = Qt.KeyboardModifier.NoModifier
CONTROL = Qt.KeyboardModifier.ControlModifier


class StationMissed(Exception):
    """The window did not get where the tour wanted it; the words say where that was."""


class Hands:
    """Waits until a thing can be pressed, presses it, and lets the window live in between."""

    def __init__(self, application: QApplication, window: QWidget) -> None:
        self._application, self._window = application, window

    # ---- waiting

    def until(
        self,
        reached: Callable[[], object],
        what: str,
        moving: Callable[[], object] = lambda: None,
        broken: Callable[[], str] = lambda: "",
    ) -> None:
        """Let the window live until a state is reached.

        `moving` gives something that changes while there is hope (a step, a count): patience begins anew with it.
        `broken` gives words once there is none.
        """
        before, deadline = moving(), time.monotonic() + PATIENCE
        while not reached():
            if problem := broken():
                raise StationMissed(f"The tour could not {what}: {problem}")
            if (now := moving()) != before:
                before, deadline = now, time.monotonic() + PATIENCE
            if time.monotonic() > deadline:
                raise StationMissed(f"The tour could not {what}: nothing moved for {PATIENCE:.0f} seconds.")
            self._application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, TURN)
            time.sleep(PAUSE)

    def settle(self) -> None:
        """Let the window do what it has put off until its next turns."""
        for _ in range(3):
            self._application.processEvents()

    # ---- the mouse

    def click(self, button: QAbstractButton) -> None:
        """Press a button once it is there and can be pressed."""
        words = button.text() or button.accessibleName() or type(button).__name__
        self.until(lambda: button.isVisible() and button.isEnabled(), f"press {words!r}")
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        self.settle()

    def click_row(self, view: QAbstractItemView, index: QModelIndex, control: bool = False) -> None:
        """Press a row of a list; with Ctrl, another one beside it."""
        view.scrollTo(index)
        self.settle()
        place = view.visualRect(index).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CONTROL if control else NO_MODIFIER, place)
        self.settle()

    # ---- the keyboard

    def press(self, widget: QWidget, key: Qt.Key, control: bool = False, times: int = 1) -> None:
        """A key for a widget, which takes the focus first."""
        self._focus(widget)
        for _ in range(times):
            QTest.keyClick(widget, key, CONTROL if control else NO_MODIFIER)
        self.settle()

    def enter(self, field: QLineEdit, words: str) -> None:
        """Replace what a field says, and press Enter."""
        self._focus(field)
        QTest.keyClick(field, Qt.Key.Key_A, CONTROL)
        QTest.keyClicks(field, words)
        QTest.keyClick(field, Qt.Key.Key_Return)
        self.settle()

    def type_code(self, editor: QPlainTextEdit, text: str) -> None:
        """Type lines of code; where the editor indents a new line otherwise, mend that as one would."""
        self._focus(editor)
        for number, line in enumerate(text.split("\n")):
            if number:
                QTest.keyClick(editor, Qt.Key.Key_Return)
            wanted = len(line) - len(line.lstrip(" "))
            while editor.textCursor().positionInBlock() > wanted:
                QTest.keyClick(editor, Qt.Key.Key_Backspace)
            QTest.keyClicks(editor, " " * (wanted - editor.textCursor().positionInBlock()) + line.lstrip(" "))
            self.settle()

    def _focus(self, widget: QWidget) -> None:
        self.until(lambda: widget.isVisible() and widget.isEnabled(), f"reach {widget.accessibleName()!r}")
        if not widget.hasFocus():
            widget.setFocus(Qt.FocusReason.MouseFocusReason)
