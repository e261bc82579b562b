"""The rail: one word for each page, and a count of what needs attention there."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QVBoxLayout

from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.window.pages import PageEntry
from app.window.parts import LayoutButton, label, set_style, tip

RAIL_WIDTH = 184
ICON = 18


class RailButton(LayoutButton):
    """One page: its icon, its word, and a count."""

    def __init__(self, entry: PageEntry, keys: str) -> None:
        super().__init__("rail")
        self.title, self._icon_name = entry.title, entry.icon
        self.setCheckable(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 8, 10, 8)
        row.setSpacing(10)
        self._picture = label()
        self._word = label(entry.title, "rail_word")
        self.count = label("", "count")
        self.count.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.count.hide()
        row.addWidget(self._picture)
        row.addWidget(self._word, 1)
        row.addWidget(self.count)
        self.setMinimumHeight(38)
        self.pass_clicks()
        tip(self, entry.title, keys)
        self.say(0, "")
        self.toggled.connect(self.on_toggled)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    def say(self, count: int, words: str) -> None:
        """Show a count, with words for screen readers; 0 hides it."""
        self.count.setText(f"{count:,}" if count < 1000 else "999+")
        self.count.setVisible(count > 0)
        self.setAccessibleName(f"Page {self.title}" + (f", {words}" if count else ""))

    @Slot(bool)
    def on_toggled(self, on: bool) -> None:
        set_style(self._word, "chosen", "yes" if on else "")
        self.on_restyled(Theme.current().tokens)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.on_restyled(Theme.current().tokens)  # the screen's pixel ratio is known only now

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        colour = tokens.accent if self.isChecked() else tokens.mute
        self._picture.setPixmap(pixmap(self._icon_name, colour, ICON, self.devicePixelRatioF()))


class Rail(QFrame):
    """Choosing a word shows its page."""

    page_chosen = Signal(str)

    def __init__(self, entries: Sequence[PageEntry], keys: Sequence[str]) -> None:
        super().__init__()
        self.setObjectName("rail")
        self.setFixedWidth(RAIL_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 12, 10, 12)
        column.setSpacing(4)
        self._group = QButtonGroup(self)
        self.buttons: dict[str, RailButton] = {}
        for entry, key in zip(entries, keys, strict=True):
            button = RailButton(entry, QKeySequence(key).toString())
            self._group.addButton(button)
            self.buttons[entry.title] = button
            column.addWidget(button)
        column.addStretch(1)
        self._group.buttonClicked.connect(self.on_clicked)

    def mark(self, title: str) -> None:
        """Show which page is in front."""
        self.buttons[title].setChecked(True)

    @Slot(object)
    def on_clicked(self, button: RailButton) -> None:
        self.page_chosen.emit(button.title)
