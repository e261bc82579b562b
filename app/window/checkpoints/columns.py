"""The columns of the table: how wide they are, which are hidden in a narrow window, and which the user wants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.window.checkpoints.table_model import (
    BASE,
    HEADINGS,
    KEYS,
    LOSS,
    MODE,
    PINNED,
    SIZE,
    STEPS,
    TAGS,
    WHEN,
)

WIDTHS = {PINNED: 34, WHEN: 122, BASE: 120, MODE: 94, STEPS: 62, LOSS: 78, SIZE: 78, TAGS: 110}  # at most; NAME: rest
LONGEST_NAME, LEAST_NAME, SHORTEST_NAME = 340, 130, 90  # pixels
GIVE_WAY = {  # what is hidden first where the room is narrow, and the longest name that it is hidden for
    BASE: LONGEST_NAME,
    TAGS: LONGEST_NAME,
    STEPS: LONGEST_NAME,
    SIZE: LEAST_NAME,
    MODE: LEAST_NAME,
}
CHOICES = (WHEN, BASE, MODE, STEPS, LOSS, SIZE, TAGS)


@dataclass(frozen=True)
class Columns:
    """The user's choices; the other columns are shown where there is room."""

    wanted: frozenset[int] = frozenset()
    unwanted: frozenset[int] = frozenset()

    def chosen(self, column: int, shown: bool) -> Columns:
        """With one switched on or off."""
        rest = Columns(self.wanted - {column}, self.unwanted - {column})
        if shown:
            return Columns(rest.wanted | {column}, rest.unwanted)
        return Columns(rest.wanted, rest.unwanted | {column})

    def hidden(self, room: int, widths: Mapping[int, int] = WIDTHS, name: int = LEAST_NAME) -> set[int]:
        """What is not shown in `room` pixels.  `widths` that the columns need, and that of the longest `name`."""
        hidden = set(self.unwanted)
        for column, longest in GIVE_WAY.items():
            if room - used(hidden, widths) < min(name, longest) and column not in self.wanted:
                hidden.add(column)
        return hidden


@dataclass(frozen=True)
class TableLayout:
    """What is remembered of the table, by the names of its columns: their order in the table may change."""

    columns: Columns = Columns()
    sorted_by: int = WHEN
    descending: bool = True
    widths: dict[int, int] = field(default_factory=dict)  # pixels, of the columns that the user has dragged

    def to_bytes(self) -> bytes:
        """JSON, for the settings."""
        kept = {
            "shown": [KEYS[column] for column in sorted(self.columns.wanted)],
            "hidden": [KEYS[column] for column in sorted(self.columns.unwanted)],
            "sorted by": KEYS[self.sorted_by],
            "descending": self.descending,
            "widths": {KEYS[column]: width for column, width in self.widths.items()},
        }
        return json.dumps(kept).encode()

    @classmethod
    def from_bytes(cls, kept: bytes) -> TableLayout | None:
        """What `to_bytes` gave, without columns that are gone; None for anything else."""
        try:
            found = json.loads(kept)
            return cls(
                Columns(*(frozenset(_places(found[key])) & frozenset(CHOICES) for key in ("shown", "hidden"))),
                next(_places([found["sorted by"]]), WHEN),
                bool(found["descending"]),
                {KEYS.index(key): int(width) for key, width in found["widths"].items() if key in KEYS},
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _places(keys: Iterable[str]) -> Iterator[int]:
    return (KEYS.index(key) for key in keys if key in KEYS)


def used(hidden: set[int], widths: Mapping[int, int] = WIDTHS) -> int:
    """Pixels that all columns but the name take."""
    return sum(width for column, width in widths.items() if column not in hidden)


class ColumnMenu(QMenu):
    """A checkbox for every column but the star and the name; filled when it opens."""

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
