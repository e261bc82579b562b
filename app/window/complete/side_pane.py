"""One of the compared models: a chooser, its relation to the other, and its answers alone and with the memory."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.window.complete.suggestion_view import SuggestionView
from app.window.parts import Card, Choice, ElidedLabel, label, set_tone, tip

ROOM = 60  # pixels that a chooser needs at least
LINES = 4  # of every answer: rows line up, and the editor above keeps its height while answers arrive
ALONE, WITH_MEMORY = "Model alone", "With memory"


class Answer(QWidget):
    """A text under its caption, with a muted remark beside that."""

    def __init__(self, caption: str, name: str) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.caption = label(caption, "body")
        self.words = ElidedLabel("", "label")
        self.words.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.caption)
        row.addWidget(self.words, 1)
        self.view = SuggestionView(name, LINES, LINES)
        column.addLayout(row)
        column.addWidget(self.view)

    def say(self, words: str, tone: str = "") -> None:
        self.words.set_words(words)
        set_tone(self.words, tone)


class SidePane(Card):
    """`alone` is always shown, `memory` if there is one; `words` replaces both while no model is chosen."""

    chosen = Signal(str)

    def __init__(self, place: str) -> None:
        super().__init__(margins=(16, 10, 14, 12), spacing=8)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.title = label("", "heading")
        self.choice = Choice(name=f"{place} model")
        self.choice.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.choice.setMinimumWidth(ROOM)
        self.badge = label("", "badge")
        row.addWidget(self.title)
        row.addWidget(self.choice, 1)
        row.addWidget(self.badge, 0, Qt.AlignmentFlag.AlignVCenter)
        self.alone = Answer(ALONE, f"Suggestion of the {place.lower()} model alone")
        self.memory = Answer(WITH_MEMORY, f"Suggestion of the {place.lower()} model with memory")
        self.words = label("", "label", wrap=True)
        self.column.addLayout(row)
        for widget in (self.alone, self.memory, self.words):
            self.column.addWidget(widget)
        self.column.addStretch(1)
        self.choice.chosen.connect(self.chosen)
        self._choices: tuple = ()

    def show_choices(self, choices: tuple[tuple[str, str], ...], chosen: str, help_words: str) -> None:
        if choices != self._choices:
            self._choices = choices
            self.choice.set_choices(choices)
        self.choice.set_value(chosen)
        tip(self.choice, help_words or "Model on this side")

    def show_answers(self, has_model: bool, has_memory: bool, words: str) -> None:
        """Which of the two answers to show; without a model, show `words` instead."""
        self.alone.setVisible(has_model)
        self.alone.caption.setVisible(has_memory)
        self.memory.setVisible(has_model and has_memory)
        self.words.setText(words)
        self.words.setVisible(not has_model)
