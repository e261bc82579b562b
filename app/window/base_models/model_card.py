"""One base model, of the list or on this computer: size, licence, the memory that each mode needs, and a button."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout

from app.data.model_folders import FoundModel
from app.network.base_models import BaseModel
from app.values.words import mode_words, nbytes
from app.window.parts import Card, PlainButton, label, set_tone, tip


class ModelCard(Card):
    """Its button only asks: `wanted` is emitted with the model."""

    wanted = Signal(object)  # BaseModel

    def __init__(self, model: BaseModel) -> None:
        super().__init__(model.name)
        self.model = model
        facts = [nbytes(model.nbytes), f"{model.parameters / 1e6:.0f} M parameters", model.licence]
        self.heading.say(" · ".join([*facts, "fills in the middle"] if model.has_fim else facts))
        row = QHBoxLayout()
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(6)
        words.addWidget(label(model.words, "text"))
        self._modes = QHBoxLayout()
        self._modes.setSpacing(6)
        self.memory_label = label("Estimating the memory to train it…", "label")
        self._modes.addWidget(self.memory_label)
        self._modes.addStretch(1)
        self.badges: dict[str, QLabel] = {}
        self._memory: dict[str, int] = {}
        self._batch = ""
        words.addLayout(self._modes)
        self.button = PlainButton("Get…", f"Download {model.repository}; asks before connecting")
        self.button.setAccessibleName(f"Get {model.name}")
        self.button.clicked.connect(self.on_clicked)
        row.addLayout(words, 1)
        row.addWidget(self.button)
        self.column.addLayout(row)

    def show_memory(self, memory: dict[str, int], batch: str) -> None:
        """Bytes by mode that training takes with `batch`."""
        if self.badges:
            return
        self.memory_label.setText("Memory to train:")
        self._memory, self._batch = memory, batch
        for mode, amount in memory.items():
            self.badges[mode] = label(f"{mode_words(mode)} {nbytes(amount)}", "badge")
            self._modes.insertWidget(self._modes.count() - 1, self.badges[mode])

    def show_for(self, ceiling: int, is_here: bool, may_start: bool) -> None:
        """Which modes fit under the memory ceiling, and whether the model is in the store already."""
        for mode, amount in self._memory.items():
            fits = amount <= ceiling
            set_tone(self.badges[mode], "" if fits else "warn")
            words = f"Estimated for {self._batch}; smaller batches and a base in fewer bits take less."
            tip(
                self.badges[mode],
                words if fits else f"Above the memory ceiling of {nbytes(ceiling)}. {words}",
            )
        self.button.setText("Installed" if is_here else "Get…")
        self.button.setEnabled(may_start and not is_here)

    @Slot()
    def on_clicked(self) -> None:
        self.wanted.emit(self.model)


class FoundCard(Card):
    """A model of another program on this computer, with a button that imports it or the reason why that cannot be."""

    wanted = Signal(object)  # FoundModel

    def __init__(self, model: FoundModel) -> None:
        super().__init__(model.name)
        self.model = model
        facts = [nbytes(model.nbytes), model.program]
        if model.stored:
            facts[1:1] = [f"{model.parameters / 1e6:,.0f} M parameters", model.architecture, model.stored]
        self.heading.say(" · ".join(facts))
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(label(model.problem or str(model.path), "label", wrap=True), 1)
        self.button = PlainButton("Import", f"Import it as {model.short_name}")
        self.button.setAccessibleName(f"Import {model.name}")
        self.button.setEnabled(not model.problem)
        self.button.clicked.connect(self.on_clicked)
        row.addWidget(self.button)
        self.column.addLayout(row)

    @Slot()
    def on_clicked(self) -> None:
        self.wanted.emit(self.model)
