"""The training modes as cards, one of them selected: what each trains, with its memory and time here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.values.training import PlanView
from app.values.words import nbytes
from app.window.adapt.words import about_minutes
from app.window.parts import GAP, ElidedLabel, LayoutButton, label, set_tone, tip

FOR_ATTENTION = "qk"  # left out until a plan says that the model attends: the built-in one does not


@dataclass(frozen=True)
class ModeWords:
    """A mode's name, what it trains in one line, and the tool tip."""

    name: str
    trains: str
    help: str


MODES = {
    "wsla": ModeWords(
        "WSLA",
        "State inputs and outputs · smallest file",
        "Trains only the rows of each layer that write to and read from its state (B and C). The file is a few "
        "kilobytes and little can go wrong, but it learns the least.",
    ),
    "qk": ModeWords(
        "Queries and keys",
        "Where attention looks · small file",
        "Trains only the projections that decide where attention looks (queries and keys): the counterpart of WSLA for "
        "models with attention. Little can go wrong, but it learns the least.",
    ),
    "lora": ModeWords(
        "LoRA",
        "Low-rank adapters · base unchanged",
        "Trains a pair of narrow matrices beside each projection (in a mixture, not beside the experts). The base "
        "stays unchanged and the file is small.",
    ),
    "vocabulary": ModeWords(
        "Vocabulary",
        "LoRA plus the names in your code",
        "LoRA, plus the embeddings of the tokens that occur in this repository: its names and idioms.",
    ),
    "full": ModeWords(
        "Full",
        "Every weight · learns the most",
        "Trains every weight. Learns the most, but also forgets the most, and needs the most memory, time and disk.",
    ),
}


class ModeCard(LayoutButton):
    def __init__(self, mode: str, words: ModeWords) -> None:
        super().__init__("device")
        self.mode, self.words = mode, words
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)  # all equally wide
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 11, 14, 11)
        column.setSpacing(3)
        self.trains = label(words.trains, "label", wrap=True)
        self.takes = ElidedLabel("", "label")
        column.addWidget(label(words.name, "heading"))
        column.addWidget(self.trains)
        column.addStretch(1)  # so that the last line is at one height in all cards, even where the one above wraps
        column.addWidget(self.takes)
        self.pass_clicks()
        self.show_plan(None)

    def show_plan(self, plan: PlanView | None) -> None:
        """What this mode needs; an ellipsis until that is known."""
        if plan is None:
            words, tone = "", ""
        elif plan.problem:
            words, tone = plan.problem, "warn"
        else:
            words, tone = " · ".join(filter(None, (nbytes(plan.memory_total), about_minutes(plan.minutes)))), ""
        self.takes.set_words(words or "…")
        self.setEnabled(plan is None or plan.suits)
        tip(self, f"{self.words.help} {words}" if tone else self.words.help)
        set_tone(self.takes, tone)
        self.setAccessibleName(f"Mode {self.words.name}: {self.words.trains}. {words}".strip())


class ModeCards(QWidget):
    """The row of cards; Left and Right move the selection."""

    chosen = Signal(str)  # a mode, by the user

    def __init__(self, modes: tuple[str, ...]) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        self._group = QButtonGroup(self)
        known = [mode for mode in MODES if mode in modes] + [mode for mode in modes if mode not in MODES]
        self.cards = {mode: ModeCard(mode, MODES.get(mode) or ModeWords(mode, "", mode)) for mode in known}
        for card in self.cards.values():
            self._group.addButton(card)
            row.addWidget(card, 1)
        self._group.buttonClicked.connect(self.on_clicked)

    def show_mode(self, mode: str, plans: Mapping[str, PlanView]) -> None:
        """The selected mode, and what each one needs.

        WSLA and its counterpart share a place: the one without anything to train in this model is left out, unless
        it is selected.
        """
        left_out = {key for key, plan in plans.items() if not plan.suits} if plans else {FOR_ATTENTION}
        for key, card in self.cards.items():
            card.setVisible(key == mode or key not in left_out)
            card.setChecked(key == mode)
            card.show_plan(plans.get(key))

    @Slot(QAbstractButton)
    def on_clicked(self, card: QAbstractButton) -> None:
        self.chosen.emit(card.mode)
