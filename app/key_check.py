"""Whether a text names a key that an action can have."""

from __future__ import annotations

FIRST_NAMED = 0x01000000  # Qt's numbers below it are characters


def key_problem(keys: str) -> str:
    """ "" or, in words, why these keys cannot be an action's; an empty text is no key, and that can be."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QKeySequence

    if not keys:
        return ""
    known = QKeySequence(keys)
    if known.count() != 1 or known[0].key() in (Qt.Key.Key_unknown, Qt.Key(0)):
        return f"{keys} is no key that Codecoil knows."
    plain = not known[0].keyboardModifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
    if plain and known[0].key() < FIRST_NAMED:
        return f"{keys} is for typing. Hold Ctrl or Alt with it, or take another key."
    return ""
