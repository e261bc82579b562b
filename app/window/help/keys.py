"""The keys of the program as a table, read from the actions and buttons themselves, so that they cannot go stale."""

from __future__ import annotations

from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.settings import Settings

GHOST_KEYS = {
    "key_accept": "Take the suggestion",
    "key_accept_word": "Take one word of it",
    "key_accept_line": "Take one line of it",
    "key_dismiss": "Dismiss it",
}


def keys_of(widget: QWidget) -> list[tuple[str, str]]:
    """What can be done by a key in a widget, and the key: its actions, and shortcuts that a button has as well."""
    lines = [
        (action.text().replace("&", ""), native(action.shortcut()))
        for action in widget.actions()
        if not action.shortcut().isEmpty()
    ]
    for shortcut in widget.findChildren(QShortcut):
        keys = native(shortcut.key())
        words = shortcut.whatsThis() or _button_with(widget, keys)
        if words:
            lines.append((words, keys))
    return list(dict.fromkeys(lines))


def ghost_keys(settings: Settings) -> list[tuple[str, str]]:
    """The keys of suggestions, as they are set now."""
    lines = [(words, native(QKeySequence(settings.value(name)))) for name, words in GHOST_KEYS.items()]
    return [line for line in lines if line[1]]


def table(heading: str, lines: list[tuple[str, str]]) -> str:
    """As Markdown; nothing where there is nothing."""
    if not lines:
        return ""
    rows = [f"| {words} | `{keys}` |" for words, keys in lines]
    return "\n".join([f"\n## {heading}\n", "| what | key |", "|---|---|", *rows, ""])


def native(keys: QKeySequence) -> str:
    """Keys as this system writes them."""
    return keys.toString(QKeySequence.SequenceFormat.NativeText)


def _button_with(widget: QWidget, keys: str) -> str:
    for button in widget.findChildren(QAbstractButton):
        if f"({keys})" in button.toolTip():
            return button.accessibleName() or button.text()
    return ""
