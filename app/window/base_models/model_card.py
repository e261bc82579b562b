"""One base model: description, licence and size, the memory that each mode needs, and a button."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from app.network.base_models import BaseModel
from app.values.words import nbytes
from app.window.parts import Card, PlainButton, label, set_tone, tip

MODE_WORDS = {"wsla": "WSLA", "lora": "LoRA", "vocabulary": "Vocabulary", "full": "Full"}


class ModelCard(Card):
    """Its button only asks: `wanted` is emitted with the model."""

    wanted = Signal(object)  # BaseModel

    def __init__(self, model: BaseModel) -> None:
        super().__init__(model.name)
        self.model = model
        self.heading.say(f"{nbytes(model.nbytes)} · {model.parameters / 1e6:.0f} M parameters · {model.licence}")
        row = QHBoxLayout()
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(6)
        words.addWidget(label(model.words, "text"))
        modes = QHBoxLayout()
        modes.setSpacing(6)
        modes.addWidget(label("Memory to train:", "label"))
        self.badges = {}
        for mode, amount in model.memory_by_mode.items():
            badge = label(f"{MODE_WORDS[mode]} {nbytes(amount)}", "badge")
            self.badges[mode] = badge
            modes.addWidget(badge)
        modes.addStretch(1)
        words.addLayout(modes)
        self.button = PlainButton("Get…", f"Download {model.repository}; asks before connecting")
        self.button.setAccessibleName(f"Get {model.name}")
        self.button.clicked.connect(self.on_clicked)
        row.addLayout(words, 1)
        row.addWidget(self.button)
        self.column.addLayout(row)

    def show_for(self, ceiling: int, is_here: bool, may_start: bool) -> None:
        """Which modes fit under the memory ceiling, and whether the model is in the store already."""
        for mode, amount in self.model.memory_by_mode.items():
            fits = amount <= ceiling
            set_tone(self.badges[mode], "" if fits else "warn")
            words = "Estimated for one sequence of 256 tokens."
            tip(
                self.badges[mode],
                words if fits else f"Above the memory ceiling of {nbytes(ceiling)}. {words}",
            )
        self.button.setText("Installed" if is_here else "Get…")
        self.button.setEnabled(may_start and not is_here)

    @Slot()
    def on_clicked(self) -> None:
        self.wanted.emit(self.model)
