"""What a person should know about the run: how the held-out loss is doing, then the health notes, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.state.run_history import Note, RunHistory
from app.window.parts import Card, dot, label, set_tone

STANDSTILL = 3  # evaluations without improvement that are worth a note


def held_out_words(steps: np.ndarray, losses: np.ndarray, kept: int = 0) -> tuple[str, str]:
    """How the held-out loss is doing, and the tone of that.  `kept`: the step whose weights the run keeps, once it has
    chosen.  A run on changed files considers those, too, and may keep a later step than the one of the lowest loss."""
    if not len(losses):
        return "Measuring the held-out loss first, to have something to compare with.", ""
    if len(losses) == 1:
        return f"Held-out loss before adapting: {losses[0]:.3f}.", ""
    best = int(np.argmin(losses))
    if kept:
        best = int(np.searchsorted(steps, kept))
    since = len(losses) - 1 - best
    if best == 0:
        return "No improvement on held-out code yet.", "warn" if since >= STANDSTILL else ""
    if since >= STANDSTILL:
        return (
            f"The best weights are those of step {steps[best]:,.0f}, {since} evaluations ago. They are kept.",
            "warn",
        )
    if np.all(np.diff(losses) < 0):
        return "Held-out loss has improved at every evaluation.", "good"
    return f"The best weights so far are those of step {steps[best]:,.0f}.", "good"


class NoteRow(QWidget):
    """A dot, the note, and its step."""

    def __init__(self, words: str, tone: str = "", step: int | None = None) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 4, 0)
        row.setSpacing(8)
        self.dot = dot(tone)
        self.words = label("", "label", wrap=True)
        mark = QVBoxLayout()
        mark.setContentsMargins(0, 4, 0, 0)
        mark.addWidget(self.dot)
        mark.addStretch(1)
        row.addLayout(mark)
        row.addWidget(self.words, 1)
        self.say(words if step is None else f"Step {step:,}: {words}", tone)

    def say(self, words: str, tone: str) -> None:
        if self.words.text() != words:
            self.words.setText(words)
        set_tone(self.dot, tone)


class NotesCard(Card):
    """Rows are added, never rebuilt, so that nothing flickers during a run."""

    def __init__(self) -> None:
        super().__init__("Notes", margins=(14, 10, 6, 8), spacing=6)
        self._shown: list[Note] = []
        self._history: RunHistory | None = None
        self.summary = NoteRow("", "")
        inner = QWidget()
        self._rows = QVBoxLayout(inner)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(8)
        self._rows.addWidget(self.summary)
        self._rows.addStretch(1)
        view = QScrollArea()
        view.setWidgetResizable(True)
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setWidget(inner)
        view.viewport().setAutoFillBackground(False)
        inner.setAutoFillBackground(False)
        self.column.addWidget(view, 1)

    def show_history(self, history: RunHistory) -> None:
        """Add what is new; another run starts with an empty list."""
        if history is not self._history:
            self._history = history
            self._clear()
        self.summary.say(*held_out_words(history.evaluation_step, history.evaluation_loss, history.best_step))
        for note in history.notes[len(self._shown) :]:
            self._rows.insertWidget(1, NoteRow(note.words, "warn" if note.cause else "", note.step or None))
            self._shown.append(note)

    def words(self) -> Sequence[str]:
        """All notes, from the top."""
        rows = (self._rows.itemAt(place).widget() for place in range(self._rows.count()))
        return [row.words.text() for row in rows if row is not None]

    def _clear(self) -> None:
        self._shown = []
        while self._rows.count() > 2:  # the summary and the stretch stay
            self._rows.takeAt(1).widget().deleteLater()
