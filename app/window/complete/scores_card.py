"""The scorecard of the last run: base and adapted model on held-out code, alone and with the memory."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout

from app.state.application import Application
from app.values.training import ScoreView
from app.values.words import counted
from app.window.parts import NOTHING, Card, label, rule, tip

ROWS = (
    (
        "bits_per_byte",
        "bits per byte",
        False,
        "Bits the model needs per byte of this code; lower is better",
    ),
    ("next_line_exact", "next line exact", True, "How often the next line is predicted exactly"),
    ("keystrokes_saved", "keystrokes saved", True, "Share of typing that accepted suggestions would save"),
    ("shown", "shown", True, "How often a suggestion is confident enough to be shown"),
    ("taken", "accepted", True, "How often a suggestion that is shown is exactly right"),
)
BASE, BASE_MEMORY, ADAPTED, ADAPTED_MEMORY = COLUMNS = ("base", "base + memory", "adapted", "adapted + memory")


class ScoresCard(Card):
    """`is_known` once a run has been scored."""

    known_changed = Signal()

    def __init__(self, application: Application) -> None:
        super().__init__("On held-out code", spacing=8)
        self._application = application
        self.is_known = False
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(7)
        grid.setColumnStretch(0, 1)
        self.cells: dict[tuple[str, str], object] = {}
        right = Qt.AlignmentFlag.AlignRight
        for column, words in enumerate(COLUMNS, 1):
            grid.addWidget(label(words, "label"), 0, column, right)
        for place, (field, words, _share, help_words) in enumerate(ROWS):
            grid.addWidget(rule(), 2 * place + 1, 0, 1, len(COLUMNS) + 1)
            name = label(words, "body")
            tip(name, help_words)
            grid.addWidget(name, 2 * place + 2, 0)
            for column, which in enumerate(COLUMNS, 1):
                cell = label(NOTHING, "body")
                cell.setMinimumWidth(52)
                cell.setAlignment(right)
                self.cells[field, which] = cell
                grid.addWidget(cell, 2 * place + 2, column, right)
        self.column.addLayout(grid)
        self.column.addStretch(1)
        application.training.scored.connect(self.refresh)
        application.training.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        training, corpus = self._application.training, self._application.repository.corpus
        known = training.before is not None and training.after is not None
        if known != self.is_known:
            self.is_known = known
            self.known_changed.emit()
        files = corpus.totals.held_out.files if corpus is not None else 0
        self.heading.say(counted(files, "held-out file") if files else "")
        before, after = training.before, training.after
        scores = {BASE: before, ADAPTED: after}
        scores[BASE_MEMORY] = before.with_memory if before is not None else None
        scores[ADAPTED_MEMORY] = after.with_memory if after is not None else None
        for field, _words, is_share, _help in ROWS:
            for which, score in scores.items():
                self.cells[field, which].setText(_words_of(score, field, is_share))


def _words_of(score: ScoreView | None, field: str, is_share: bool) -> str:
    value = getattr(score, field) if score is not None else None
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value * 100:.1f} %" if is_share else f"{value:.2f}"
