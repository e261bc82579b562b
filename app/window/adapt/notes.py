"""What a person should know about the run, in words: how held-out code does, then the health notes, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.state.run_history import Note, RunHistory
from app.window.parts import Card, dot, label, set_tone

STANDSTILL = 3  # evaluations without a better one that are worth a word


def held_out_words(steps: np.ndarray, losses: np.ndarray, kept: int = 0) -> tuple[str, str]:
    """How held-out code does, and the tone of it.  `kept`: the step whose weights the run keeps, where it has chosen; a
    run on changed files looks at those, too, and may keep a later step than that of the lowest loss."""
    if not len(losses):
        return "Held-out code is measured first, so that there is something to compare with.", ""
    if len(losses) == 1:
        return f"Before adapting, held-out loss is {losses[0]:.3f}.", ""
    best = int(np.argmin(losses))
    if kept:
        best = int(np.searchsorted(steps, kept))
    since = len(losses) - 1 - best
    if best == 0:
        return "Nothing is better than the start on held-out code yet.", "warn" if since >= STANDSTILL else ""
    if since >= STANDSTILL:
        return (
            f"Held-out code was best at step {steps[best]:,.0f}, {since} evaluations ago: that is what is kept.",
            "warn",
        )
    if np.all(np.diff(losses) < 0):
        return "Held-out loss has improved at every evaluation.", "good"
    return f"Held-out code is best at step {steps[best]:,.0f}.", "good"


class NoteRow(QWidget):
    """A dot, the words, and the step that they were said at."""

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
        """Other words."""
        if self.words.text() != words:
            self.words.setText(words)
        set_tone(self.dot, tone)


class NotesCard(Card):
    """Rows are added, never rebuilt: nothing flickers while a run goes on."""

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
        """Say what is new; another run starts an empty list."""
        if history is not self._history:
            self._history = history
            self._clear()
        self.summary.say(*held_out_words(history.evaluation_step, history.evaluation_loss, history.best_step))
        for note in history.notes[len(self._shown) :]:
            self._rows.insertWidget(1, NoteRow(note.words, "warn" if note.cause else "", note.step or None))
            self._shown.append(note)

    def words(self) -> Sequence[str]:
        """Everything that is shown, from the top."""
        rows = (self._rows.itemAt(place).widget() for place in range(self._rows.count()))
        return [row.words.text() for row in rows if row is not None]

    def _clear(self) -> None:
        self._shown = []
        while self._rows.count() > 2:  # the summary and the stretch stay
            self._rows.takeAt(1).widget().deleteLater()
