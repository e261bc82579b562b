"""Tool tips: plain text, wrapped at a readable width, with the keys that do the same."""

from __future__ import annotations

import html

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

WIDE = 60  # characters; longer words are wrapped


def tip_words(words: str, keys: str = "") -> str:
    """The tool tip for `words`; what looks like markup is shown as it is."""
    shown = f"{words} ({QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)})" if keys else words
    if max(map(len, shown.splitlines()), default=0) <= WIDE:
        return shown if "<" not in shown else f"<span>{_escaped(shown)}</span>"
    # Qt wraps rich text only, and respects a width only on tables.
    return f'<table width="340"><tr><td>{_escaped(shown)}</td></tr></table>'


def tip(widget: QWidget, words: str, keys: str = "") -> None:
    """Give a widget its tool tip, and the same words to a screen reader."""
    widget.setToolTip(tip_words(words, keys))
    widget.setAccessibleDescription(words)


def _escaped(words: str) -> str:
    return html.escape(words).replace("\n", "<br>")
