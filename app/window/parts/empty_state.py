"""What a page shows while it is empty: what it is for, and the one or two things to do about it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.window.parts.buttons import PlainButton, PrimaryButton
from app.window.parts.labels import label

SIZE = 48
WIDTH = 460


class EmptyState(QWidget):
    """An icon, a heading, a sentence and buttons, centred."""

    def __init__(self, icon_name: str, heading: str, words: str) -> None:
        super().__init__()
        self._icon_name = icon_name
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(10)
        self._picture = QLabel()
        self._picture.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.heading = label(heading, "title")
        self.heading.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.words = label(words, "text", wrap=True)
        self.words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.words.setFixedWidth(WIDTH)
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(10)
        self.buttons.addStretch(1)
        self.buttons.addStretch(1)
        column.addStretch(2)
        column.addWidget(self._picture)
        column.addSpacing(6)
        column.addWidget(self.heading)
        row = QHBoxLayout()  # and not an alignment: that would cut words that wrap
        row.addStretch(1)
        row.addWidget(self.words)
        row.addStretch(1)
        column.addLayout(row)
        column.addSpacing(8)
        column.addLayout(self.buttons)
        self.below = QVBoxLayout()  # for a line or a list under the buttons
        self.below.setSpacing(6)
        column.addSpacing(8)
        column.addLayout(self.below)
        column.addStretch(3)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    def add_button(self, words: str, primary: bool = False, help_words: str = "", keys: str = "") -> PlainButton:
        """A button in the middle row; the caller connects it."""
        button = (PrimaryButton if primary else PlainButton)(words, help_words, keys)
        self.buttons.insertWidget(self.buttons.count() - 1, button)
        return button

    def say(self, heading: str, words: str) -> None:
        """Other words, for another reason."""
        self.heading.setText(heading)
        self.words.setText(words)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._picture.setPixmap(pixmap(self._icon_name, tokens.dim, SIZE, self.devicePixelRatioF()))
