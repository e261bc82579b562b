"""Messages in the page itself, where a dialog would be in the way: one line, and what can be done about it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy

from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.window.parts.buttons import IconButton, PlainButton, PrimaryButton
from app.window.parts.labels import label, set_style

SIGNS = {"plain": "info", "accent": "info", "warn": "warning", "error": "warning"}


class InlineMessage(QFrame):
    """Hidden until it says something.  Icon and text carry the meaning; the colour of the border only adds to it."""

    dismissed = Signal()

    def __init__(self, closable: bool = True) -> None:
        super().__init__()
        self.setProperty("card", "plain")
        self._kind = "plain"
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(14, 9, 10, 9)
        self.row.setSpacing(10)
        self._sign = QLabel()
        self.heading = label("", "heading")
        self.words = label("", "text", wrap=True)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.row.addWidget(self._sign)
        self.row.addWidget(self.heading)
        self.row.addWidget(self.words, 1)
        self.close_button = IconButton("close", "Dismiss")
        self.close_button.clicked.connect(self.on_close_clicked)
        self.row.addWidget(self.close_button)
        self.close_button.setVisible(closable)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)
        self.hide()

    def add_button(self, words: str, primary: bool = False, help_words: str = "") -> PlainButton:
        """A button at the right end; the caller connects it."""
        button = (PrimaryButton if primary else PlainButton)(words, help_words)
        self.row.insertWidget(self.row.count() - 1, button, 0, Qt.AlignmentFlag.AlignVCenter)
        return button

    def say(self, words: str, heading: str = "", kind: str = "plain") -> None:
        """Show it.  `kind`: plain, accent, warn or error."""
        self._kind = kind
        self.heading.setText(heading)
        self.heading.setVisible(bool(heading))
        self.words.setText(words)
        self.setAccessibleName(f"{heading} {words}".strip())
        set_style(self, "card", kind)
        self.on_restyled(Theme.current().tokens)
        self.show()

    def put_away(self) -> None:
        """Hide it: it no longer holds."""
        self.hide()

    @Slot()
    def on_close_clicked(self) -> None:
        self.hide()
        self.dismissed.emit()

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        colour = {"accent": tokens.accent, "warn": tokens.warn, "error": tokens.bad}.get(self._kind, tokens.mute)
        self._sign.setPixmap(pixmap(SIGNS[self._kind], colour, 18, self.devicePixelRatioF()))
