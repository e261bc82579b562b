"""A field to find something by words; Ctrl+F leads to it from anywhere on its page."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QWidget

from app.theme import Theme, Tokens
from app.theme.icons import icon
from app.window.parts.tool_tips import tip

TYPING = 150  # milliseconds of quiet before what is typed counts
SIGN = 16


class SearchField(QLineEdit):
    """`settled` once the user has stopped typing; setting the text from outside tells nobody."""

    settled = Signal()

    def __init__(self, placeholder: str, name: str, help_words: str, page: QWidget) -> None:
        super().__init__()
        self.setProperty("role", "search")
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(name)
        tip(self, help_words, "Ctrl+F")
        self._sign = self.addAction(icon("search", "#888888", SIGN), QLineEdit.ActionPosition.LeadingPosition)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING)
        self._typing.timeout.connect(self.settled)
        self.textEdited.connect(self.on_edited)
        find = QShortcut(QKeySequence.StandardKey.Find, page)
        find.setWhatsThis(name)
        find.activated.connect(self.on_find_wanted)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """What is looked for, in lower case."""
        return tuple(self.text().lower().split())

    @Slot(str)
    def on_edited(self, _text: str) -> None:
        self._typing.start()

    @Slot()
    def on_find_wanted(self) -> None:
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._sign.setIcon(icon("search", tokens.mute, SIGN))
