"""What a user does to a window: clicks, keys and typing, and waiting for the result."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEventLoop, QModelIndex, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QLineEdit, QPlainTextEdit, QWidget

PATIENCE = 600.0  # seconds without any progress: the first start compiles kernels, on a busy machine for minutes
TURN = 20  # milliseconds of events at a time
PAUSE = 0.002  # seconds: leaves the processor to the engine
NO_MODIFIER = Qt.KeyboardModifier.NoModifier
CONTROL = Qt.KeyboardModifier.ControlModifier


class SceneFailed(Exception):
    """A scene could not be completed; the message says what was missing."""


class SimulatedUser:
    """Waits until a control can be used, uses it, and lets the window process events in between."""

    def __init__(self, application: QApplication, window: QWidget) -> None:
        self._application, self._window = application, window

    # ---- waiting

    def until(
        self,
        reached: Callable[[], object],
        what: str,
        progress: Callable[[], object] = lambda: None,
        broken: Callable[[], str] = lambda: "",
    ) -> None:
        """Process events until `reached` is true.

        `progress` returns something that changes while there is hope (a step, a count), which restarts the time limit.
        `broken` returns a reason once there is none.
        """
        before, deadline = progress(), time.monotonic() + PATIENCE
        while not reached():
            if problem := broken():
                raise SceneFailed(f"could not {what}: {problem}")
            if (now := progress()) != before:
                before, deadline = now, time.monotonic() + PATIENCE
            if time.monotonic() > deadline:
                raise SceneFailed(f"could not {what}: no progress for {PATIENCE:.0f} seconds")
            self._application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, TURN)
            time.sleep(PAUSE)

    def settle(self) -> None:
        """Process the events that are pending."""
        for _ in range(3):
            self._application.processEvents()

    # ---- the mouse

    def click(self, button: QAbstractButton) -> None:
        """Click a button once it is visible and enabled."""
        words = button.text() or button.accessibleName() or type(button).__name__
        self.until(lambda: button.isVisible() and button.isEnabled(), f"click {words!r}")
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        self.settle()

    def click_row(self, view: QAbstractItemView, index: QModelIndex, control: bool = False) -> None:
        """Click a row of a list; with Ctrl it is added to the selection."""
        view.scrollTo(index)
        self.settle()
        place = view.visualRect(index).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CONTROL if control else NO_MODIFIER, place)
        self.settle()

    # ---- the keyboard

    def press(self, widget: QWidget, key: Qt.Key, control: bool = False, times: int = 1) -> None:
        """Focus a widget and press a key."""
        self._focus(widget)
        for _ in range(times):
            QTest.keyClick(widget, key, CONTROL if control else NO_MODIFIER)
        self.settle()

    def enter(self, field: QLineEdit, words: str) -> None:
        """Replace the text of a field and press Enter."""
        self._focus(field)
        QTest.keyClick(field, Qt.Key.Key_A, CONTROL)
        QTest.keyClicks(field, words)
        QTest.keyClick(field, Qt.Key.Key_Return)
        self.settle()

    def type_code(self, editor: QPlainTextEdit, text: str) -> None:
        """Type lines of code, correcting the editor's automatic indentation where it differs."""
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
