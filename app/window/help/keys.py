"""The program's keys as a table, read from the actions and buttons themselves, so that it cannot go stale."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QDialog, QMenu, QWidget

from app.state.settings import Settings

GHOST_KEYS = {
    "key_accept": "Accept the suggestion",
    "key_accept_word": "Accept one word of it",
    "key_accept_line": "Accept one line of it",
    "key_dismiss": "Dismiss it",
    "key_next": "Next suggestion",
    "key_previous": "Previous suggestion",
}


def keys_of(root: QWidget, without: Collection[QWidget] = ()) -> list[tuple[str, str]]:
    """(what it does, key) for every key of a widget and its children.

    From actions, shortcuts and buttons, and from `help_keys` of widgets that handle keys themselves.  `without`:
    children that have a table of their own, as dialogs and menus do.
    """
    lines: list[tuple[str, str]] = []
    for widget in _widgets(root, without):
        lines += [(plain(action.text()), native(action.shortcut())) for action in widget.actions()]
        if isinstance(widget, QAbstractButton):
            lines.append((widget.accessibleName() or plain(widget.text()), native(widget.shortcut())))
        for shortcut in widget.findChildren(QShortcut, options=Qt.FindChildOption.FindDirectChildrenOnly):
            keys = native(shortcut.key())
            lines.append((shortcut.whatsThis() or _button_with(root, keys), keys))
        lines += getattr(widget, "help_keys", ())
    return list(dict.fromkeys((words, keys) for words, keys in lines if words and keys))


def _widgets(root: QWidget, without: Collection[QWidget]) -> Iterator[QWidget]:
    yield root
    for child in root.children():
        if isinstance(child, QWidget) and child not in without and not isinstance(child, QMenu | QDialog):
            yield from _widgets(child, without)


def ghost_keys(settings: Settings) -> list[tuple[str, str]]:
    """The keys of suggestions, from the settings."""
    lines = [(words, native(QKeySequence(settings.value(name)))) for name, words in GHOST_KEYS.items()]
    return [line for line in lines if line[1]]


def table(heading: str, lines: list[tuple[str, str]]) -> str:
    """A Markdown table; "" without lines."""
    if not lines:
        return ""
    rows = [f"| {words} | `{keys}` |" for words, keys in lines]
    return "\n".join([f"\n## {heading}\n", "| what | key |", "|---|---|", *rows, ""])


def native(keys: QKeySequence) -> str:
    """Keys as this platform writes them."""
    return keys.toString(QKeySequence.SequenceFormat.NativeText)


def plain(words: str) -> str:
    """The text of a menu entry without its mnemonic mark."""
    return words.replace("&", "")


def _button_with(widget: QWidget, keys: str) -> str:
    for button in widget.findChildren(QAbstractButton):
        if f"({keys})" in button.toolTip():
            return button.accessibleName() or button.text()
    return ""
