"""Which checkpoints are shown: results or also snapshots, pinned ones, one mode, one repository, a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.values.checkpoints import CheckpointRow
from app.values.words import MODES, mode_words
from app.window.parts import Choice, SearchField, tip

RESULTS, EVERYTHING, PINNED, HERE = "", "+all", "+pinned", "+here"


@dataclass(frozen=True)
class CheckpointFilter:
    """`what` is one of the constants above or a mode."""

    what: str = RESULTS
    words: tuple[str, ...] = ()  # each in the name, the note, the tags or the base, ignoring case
    root: str = ""  # the repository that is open

    def accept(self) -> Callable[[CheckpointRow], bool]:
        return lambda row: self._kind(row) and self._has_words(row)

    def _kind(self, row: CheckpointRow) -> bool:
        if self.what == EVERYTHING:
            return True
        if self.what == PINNED:
            return row.pinned
        if row.is_snapshot:
            return False
        if self.what == HERE:
            return bool(self.root) and row.repository == self.root
        return not self.what or row.mode == self.what

    def _has_words(self, row: CheckpointRow) -> bool:
        if not self.words:
            return True
        text = " ".join((row.name, row.note, *row.tags, row.base_name, mode_words(row.mode))).lower()
        return all(word in text for word in self.words)


class FilterRow(QWidget):
    """Emits `changed` once the user has stopped typing."""

    changed = Signal(object)  # CheckpointFilter

    def __init__(self) -> None:
        super().__init__()
        self._root = ""
        self.setMaximumWidth(400)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.search = SearchField("Find", "Find checkpoints", "Search names, notes, tags and bases", self)
        self.search.setMinimumWidth(78)
        self.search.setMaximumWidth(240)
        self.what = Choice(name="Which checkpoints")
        self.what.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.what.setMinimumWidth(116)
        self.what.setMaximumWidth(190)
        tip(self.what, "Which checkpoints to show")
        self.what.chosen.connect(self.on_chosen)
        row.addWidget(self.search, 3)
        row.addWidget(self.what, 2)
        self.search.settled.connect(self.on_settled)
        self.show_choices((), "")

    @property
    def filter(self) -> CheckpointFilter:
        return CheckpointFilter(self.what.value, self.search.words, self._root)

    def show_choices(self, rows: Sequence[CheckpointRow], root: str) -> None:
        """Offer what there is, with counts."""
        self._root = root
        results = [row for row in rows if not row.is_snapshot]
        choices = [(RESULTS, f"Results  {len(results):,}")]
        if len(rows) != len(results):
            choices.append((EVERYTHING, f"With snapshots  {len(rows):,}"))
        pinned = sum(row.pinned for row in rows)
        if pinned:
            choices.append((PINNED, f"Pinned  {pinned:,}"))
        here = sum(bool(root) and row.repository == root for row in results)
        if here and here != len(results):
            choices.append((HERE, f"This repository  {here:,}"))
        modes = Counter(row.mode for row in results if row.mode)
        if len(modes) > 1:
            known = [*(mode for mode in MODES if mode in modes), *sorted(modes.keys() - MODES.keys())]
            choices += [(mode, f"{mode_words(mode)}  {modes[mode]:,}") for mode in known]
        before = self.what.value
        self.what.set_choices(choices)
        self.what.view().setMinimumWidth(220)
        if self.what.value != before:  # the chosen filter is gone
            self.on_settled()

    def clear(self) -> None:
        self.search.clear()
        self.what.set_value(RESULTS)
        self.on_settled()

    def show_everything(self) -> None:
        """Snapshots as well, and without the search."""
        self.search.clear()
        self.what.set_value(EVERYTHING)
        self.on_settled()

    @Slot(str)
    def on_chosen(self, _key: str) -> None:
        self.on_settled()

    @Slot()
    def on_settled(self) -> None:
        self.changed.emit(self.filter)
