"""The keys that act on ghost text, from the settings."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence

from app.state.settings import Settings

ALL, WORD, LINE, DISMISS = "key_accept", "key_accept_word", "key_accept_line", "key_dismiss"
NEXT, PREVIOUS = "key_next", "key_previous"  # other suggestions for the same cursor
ACTIONS = (ALL, WORD, LINE, DISMISS, NEXT, PREVIOUS)
ARROWS = {"Right": "→", "Left": "←", "Up": "↑", "Down": "↓"}


class GhostKeys(QObject):
    """Maps keys to actions; follows the settings."""

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._actions: dict[int, str] = {}
        settings.changed.connect(self.on_setting_changed)
        self._read()

    def action(self, event: QKeyEvent) -> str:
        """One of ACTIONS, or "" for any other key."""
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.GroupSwitchModifier)
        key = (
            Qt.Key.Key_Tab if event.key() == Qt.Key.Key_Backtab else event.key()
        )  # Qt reports Shift+Tab as a key of its own
        return self._actions.get(modifiers.value | key, "")

    def words(self, action: str) -> str:
        """The keys of an action as shown: "Ctrl+→"; "" if it has none."""
        keys = QKeySequence(self._settings.value(action)).toString(QKeySequence.SequenceFormat.NativeText)
        head, plus, last = keys.rpartition("+")
        return head + plus + ARROWS.get(last, last)

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name in ACTIONS:
            self._read()

    def _read(self) -> None:
        self._actions = {}
        for action in ACTIONS:
            keys = QKeySequence(self._settings.value(action))
            if keys.count():
                self._actions[keys[0].toCombined()] = action
