"""The blend: a slider from one model to the other, and the start of what the blend suggests."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QSlider, QVBoxLayout, QWidget

from app.state.completion import CompletionController
from app.values.completion import IN_TRAINING, MODEL
from app.window.complete.arrangement import UNRELATED, Arrangement
from app.window.complete.suggester import Suggester
from app.window.parts import ElidedLabel, SectionTitle, tip

FULL = 100


class BlendRow(QWidget):
    """0 is the left one of the two models, 100 the right one."""

    def __init__(self, completion: CompletionController, suggester: Suggester) -> None:
        super().__init__()
        self._completion = completion
        self._arrangement: Arrangement = UNRELATED
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.heading = SectionTitle("Blend")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, FULL)
        self.slider.setSingleStep(1)
        self.slider.setPageStep(10)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.setAccessibleName("Blend of the two models")
        tip(self.slider, "Interpolate the weights of the two models; the suggestion in the editor follows")
        self.words = ElidedLabel("", "label")
        column.addWidget(self.heading)
        column.addWidget(self.slider)
        column.addWidget(self.words)
        self.slider.valueChanged.connect(self.on_slider_moved)
        completion.changed.connect(self.refresh)
        suggester.suggestion_changed.connect(self.on_suggestion)
        suggester.left.connect(self.on_left)
        self.refresh()

    @Slot(object)
    def on_arranged(self, arrangement: Arrangement) -> None:
        """Which of the two is on the left."""
        self._arrangement = arrangement
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        problem = self._problem()
        self.slider.setEnabled(not problem)
        share = self._arrangement.share(self._completion.blend)
        blocked = self.slider.blockSignals(True)
        self.slider.setValue(round(share * FULL) if not problem else 0)
        self.slider.blockSignals(blocked)
        self.heading.say("" if problem else self.share_words)
        if problem:
            self.words.set_words(problem)
        elif self.words.words == "" or not self._completion.blend:
            self.words.set_words(self._ends())

    def _problem(self) -> str:
        completion = self._completion
        if not completion.second:
            return "Choose two models to blend" if len(completion.model_choices) > 1 else "Blending needs two models"
        if IN_TRAINING in (completion.model, completion.second):
            return "A model in training cannot be blended"
        return "These are the same model" if completion.model == completion.second else ""

    @property
    def share_words(self) -> str:
        """The share of the right model in the blend: "89 % adapted"."""
        share = self._arrangement.share(self._completion.blend)
        what = "adapted" if self._arrangement.related else self._name(self._arrangement.after)
        return f"{share * FULL:.0f} % {what}"

    def _ends(self) -> str:
        return f"{self._name(self._arrangement.before)} … {self._name(self._arrangement.after)}"

    def _name(self, channel: str) -> str:
        model = self._completion.model if channel == MODEL else self._completion.second
        choice = self._completion.choice(model)
        return choice.name if choice is not None else model

    @Slot(int)
    def on_slider_moved(self, value: int) -> None:
        self._completion.set_blend(self._arrangement.blend(value / FULL))

    @Slot(str)
    def on_suggestion(self, text: str) -> None:
        if self._completion.blend and not self._problem():
            first = next((line.strip() for line in text.split("\n") if line.strip()), "nothing")
            self.words.set_words(f"Suggests: {first}")

    @Slot()
    def on_left(self) -> None:
        self.refresh()
