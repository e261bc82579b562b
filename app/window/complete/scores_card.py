"""The scorecard of the last run beside the editor: the two models in figures, on code that neither has seen."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout

from app.state.application import Application
from app.values.training import ScoreView
from app.window.parts import NOTHING, Card, label, rule, tip
from app.words import counted

ROWS = (
    ("bits_per_byte", "bits per byte", False, "How many bits the model needs for a byte of this code; less is better"),
    ("next_line_exact", "next line exact", True, "How often it writes the next line as it is"),
    ("keystrokes_saved", "keystrokes saved", True, "What accepted suggestions would save of typing"),
)


class ScoresCard(Card):
    """`is_known` once a run was measured."""

    known_changed = Signal()

    def __init__(self, application: Application) -> None:
        super().__init__("On code it has not seen", spacing=8)
        self._application = application
        self.is_known = False
        grid = QGridLayout()
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(7)
        grid.setColumnStretch(0, 1)
        self.cells: dict[tuple[str, str], object] = {}
        right = Qt.AlignmentFlag.AlignRight
        for column, words in ((1, "before"), (2, "after")):
            grid.addWidget(label(words, "label"), 0, column, right)
        for place, (field, words, _share, help_words) in enumerate(ROWS):
            grid.addWidget(rule(), 2 * place + 1, 0, 1, 3)
            name = label(words, "body")
            tip(name, help_words)
            grid.addWidget(name, 2 * place + 2, 0)
            for column, which in ((1, "before"), (2, "after")):
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
        for which, score in (("before", training.before), ("after", training.after)):
            for field, _words, is_share, _help in ROWS:
                self.cells[field, which].setText(_words_of(score, field, is_share))


def _words_of(score: ScoreView | None, field: str, is_share: bool) -> str:
    value = getattr(score, field) if score is not None else None
    if value is None:
        return NOTHING
    return f"{value * 100:.1f} %" if is_share else f"{value:.2f}"
