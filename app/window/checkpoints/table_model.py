"""The checkpoints as a table: which are shown, in which order, and the text of each cell.

Sorts and filters without a proxy: a thousand rows take a few milliseconds.  A change that leaves the rows in place
is reported cell by cell, so that an open editor and the scroll position stay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal

from app.values.checkpoints import CheckpointRow
from app.values.words import mode_words, nbytes
from app.window.checkpoints.words import NOTHING, exact_when, loss_words, origin_words, when_words
from app.window.parts import tip_words
from app.window.parts.headed_table import LEFT, RIGHT, Index

PINNED, NAME, WHEN, BASE, MODE, STEPS, LOSS, SIZE, TAGS = range(9)
HEADINGS = ("", "Name", "When", "Base", "Mode", "Steps", "Held-out", "Size", "Tags")
KEYS = ("pinned", "name", "when", "base", "mode", "steps", "loss", "size", "tags")  # in the settings: keep them
HELP = {
    PINNED: "Pinned checkpoints are kept when old ones are cleaned up",
    BASE: "What it was adapted from",
    LOSS: "Loss on held-out code. Lower is better.",
    SIZE: "On disk, without its base",
}
NUMBERS = (STEPS, LOSS, SIZE)
PLAIN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
EDITABLE = PLAIN | Qt.ItemFlag.ItemIsEditable
ROW, MARK, IN_USE = (Qt.ItemDataRole.UserRole + i for i in range(3))

Accept = Callable[[CheckpointRow], bool]


class CheckpointTable(QAbstractTableModel):
    """`rows`: all of them; `shown`: those that pass the filter, sorted."""

    rename_wanted = Signal(str, str)  # id, name
    pin_wanted = Signal(str, bool)

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[CheckpointRow, ...] = ()
        self.shown: list[CheckpointRow] = []
        self.names: dict[str, str] = {}  # of all, by id
        self.marks: dict[str, str] = {}  # token by id: the colour of its curve
        self.in_use = ""  # id of the one that completions come from
        self._accept: Accept | None = None
        self._column, self._order = WHEN, Qt.SortOrder.DescendingOrder

    # ---- what is shown

    def show_rows(self, rows: Sequence[CheckpointRow]) -> None:
        self.rows = tuple(rows)
        self.names = {row.id: row.name for row in rows}
        self._arrange()

    def show_only(self, accept: Accept | None) -> None:
        """Those that pass `accept`; None for all."""
        self._accept = accept
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Rows without a value in this column come last in either order."""
        self._column, self._order = column, order
        self._arrange()

    def set_marks(self, marks: Mapping[str, str]) -> None:
        """Show the colours of the curves beside the names."""
        if dict(marks) != self.marks:
            self.marks = dict(marks)
            self._report_change(NAME, (MARK,))

    def set_in_use(self, id: str) -> None:
        if id != self.in_use:
            self.in_use = id
            self._report_change(NAME, (IN_USE,))

    def row_of(self, id: str) -> int:
        """The row in which a checkpoint is shown; -1 if it is not."""
        return next((place for place, row in enumerate(self.shown) if row.id == id), -1)

    def _arrange(self) -> None:
        wanted = [row for row in self.rows if self._accept is None or self._accept(row)]
        wanted = self._sorted(wanted, self._order == Qt.SortOrder.DescendingOrder)
        if [row.id for row in wanted] == [row.id for row in self.shown]:
            changed = [place for place, pair in enumerate(zip(wanted, self.shown, strict=True)) if pair[0] != pair[1]]
            self.shown = wanted
            for place in changed:
                self.dataChanged.emit(self.index(place, 0), self.index(place, len(HEADINGS) - 1))
            return
        self.beginResetModel()
        self.shown = wanted
        self.endResetModel()

    def _report_change(self, column: int, roles: Sequence[int]) -> None:
        if self.shown:
            self.dataChanged.emit(self.index(0, column), self.index(len(self.shown) - 1, column), list(roles))

    # ---- the model that Qt asks

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.shown)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(HEADINGS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADINGS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section in NUMBERS else LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return HELP.get(section)
        return "Pinned" if role == Qt.ItemDataRole.AccessibleTextRole and section == PINNED else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        editable = index.isValid() and index.column() == NAME and self.shown[index.row()].kind
        return EDITABLE if editable else PLAIN

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self.shown[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.words(row, column)
        if role == ROW:
            return row
        if role == MARK:
            return self.marks.get(row.id, "")
        if role == IN_USE:
            return row.id == self.in_use
        if role == Qt.ItemDataRole.EditRole:
            return row.name
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column in NUMBERS else LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == PINNED:
            return "pinned" if row.pinned else "not pinned"
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A new name is shown at once; the store accepts or refuses it later."""
        row, name = self.shown[index.row()], str(value).strip()
        if role != Qt.ItemDataRole.EditRole or index.column() != NAME or name in ("", row.name):
            return False
        self._put(index.row(), replace(row, name=name))
        self.rename_wanted.emit(row.id, name)
        return True

    def toggle_pin(self, place: int) -> None:
        """Shown at once."""
        row = self.shown[place]
        if row.kind:
            self._put(place, replace(row, pinned=not row.pinned))
            self.pin_wanted.emit(row.id, not row.pinned)

    def _put(self, place: int, row: CheckpointRow) -> None:
        self.shown[place] = row
        self.dataChanged.emit(self.index(place, 0), self.index(place, len(HEADINGS) - 1))

    # ---- words and order

    def words(self, row: CheckpointRow, column: int) -> str:
        if not row.kind and column not in (NAME, MODE):
            return ""
        return {
            PINNED: lambda: "★" if row.pinned else "",
            NAME: lambda: row.name,
            WHEN: lambda: when_words(row.created),
            BASE: lambda: origin_words(row, self.names) or NOTHING,
            MODE: lambda: mode_words(row.mode) if row.mode else "unreadable",
            STEPS: lambda: f"{row.step:,}" if row.step else NOTHING,
            LOSS: lambda: loss_words(row.held_out_loss),
            SIZE: lambda: nbytes(row.nbytes),
            TAGS: lambda: ", ".join(row.tags),
        }[column]()

    def _tip(self, row: CheckpointRow, column: int) -> str:
        if column == PINNED:
            return "Pinned. Click to unpin." if row.pinned else "Click to pin"
        if column == WHEN:
            return exact_when(row.created)
        if column == NAME:
            used = "In use for completions." if row.id == self.in_use else ""
            return tip_words("\n".join(filter(None, (row.name, row.note, used, row.problem))))
        return tip_words(self.words(row, column)) if column in (BASE, TAGS) else ""

    def _sorted(self, rows: list[CheckpointRow], descending: bool) -> list[CheckpointRow]:
        rows = sorted(rows, key=lambda row: (row.created, row.id), reverse=True)  # ties: newest first
        key = {
            PINNED: lambda row: not row.pinned,
            NAME: lambda row: natural(row.name),
            WHEN: lambda row: row.created,
            BASE: lambda row: natural(origin_words(row, self.names)) or None,
            MODE: lambda row: mode_words(row.mode),
            STEPS: lambda row: row.step or None,
            LOSS: lambda row: finite(row.held_out_loss),
            SIZE: lambda row: row.nbytes,
            TAGS: lambda row: tuple(map(str.casefold, row.tags)) or None,
        }[self._column]
        missing = [row for row in rows if key(row) is None]
        present = [row for row in rows if key(row) is not None]
        return sorted(present, key=key, reverse=descending) + missing


def finite(loss: float | None) -> float | None:
    """The loss if it is a finite number, else None."""
    return loss if loss is not None and math.isfinite(loss) else None


def natural(name: str) -> tuple:
    """A sort key that puts "#9" before "#10"."""
    parts = re.split(r"(\d+)", name.casefold())
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts if part)
