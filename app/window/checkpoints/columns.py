"""The columns of the table: how wide they are, which give way where the room is narrow, and which the user wants."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.window.checkpoints.table_model import (
    BASE,
    HEADINGS,
    LOSS,
    MODE,
    PINNED,
    SIZE,
    STEPS,
    TAGS,
    WHEN,
)

WIDTHS = {PINNED: 34, WHEN: 122, BASE: 120, MODE: 94, STEPS: 62, LOSS: 78, SIZE: 78, TAGS: 110}  # NAME: the rest
LEAST_NAME = 130  # what the others give way for
SHORTEST_NAME = 90
GIVE_WAY = (BASE, TAGS, STEPS, SIZE, MODE)  # what is hidden first where the room is narrow
CHOICES = (WHEN, BASE, MODE, STEPS, LOSS, SIZE, TAGS)


@dataclass(frozen=True)
class Columns:
    """What the user said about columns; of the others, the room decides."""

    wanted: frozenset[int] = frozenset()
    unwanted: frozenset[int] = frozenset()

    def chosen(self, column: int, shown: bool) -> Columns:
        """After one was switched on or off."""
        rest = Columns(self.wanted - {column}, self.unwanted - {column})
        if shown:
            return Columns(rest.wanted | {column}, rest.unwanted)
        return Columns(rest.wanted, rest.unwanted | {column})

    def hidden(self, room: int) -> set[int]:
        """What is not shown in so many pixels."""
        hidden = set(self.unwanted)
        for column in GIVE_WAY:
            if room - used(hidden) >= LEAST_NAME:
                break
            if column not in self.wanted:
                hidden.add(column)
        return hidden

    def to_bytes(self) -> bytes:
        """Two bytes, to be remembered."""
        return bytes(sum(1 << CHOICES.index(column) for column in some) for some in (self.wanted, self.unwanted))

    @classmethod
    def from_bytes(cls, kept: bytes) -> Columns:
        """What `to_bytes` gave."""
        return cls(*(frozenset(c for place, c in enumerate(CHOICES) if bits >> place & 1) for bits in kept[:2]))


def used(hidden: set[int]) -> int:
    """Pixels that all columns but the name take."""
    return sum(width for column, width in WIDTHS.items() if column not in hidden)


class ColumnMenu(QMenu):
    """A switch for every column but the star and the name; filled when it opens."""

    switched = Signal(int, bool)  # column, shown

    def __init__(self, view) -> None:
        super().__init__("Columns", view)
        self._view = view
        self.aboutToShow.connect(self.on_about_to_show)
        self.triggered.connect(self.on_triggered)

    @Slot()
    def on_about_to_show(self) -> None:
        self.clear()
        for column in CHOICES:
            action = self.addAction(HEADINGS[column])
            action.setData(column)
            action.setCheckable(True)
            action.setChecked(not self._view.isColumnHidden(column))

    @Slot(QAction)
    def on_triggered(self, action: QAction) -> None:
        self.switched.emit(action.data(), action.isChecked())
