"""How long to teach (a preset) and from which model to start."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.values.completion import BUILT_IN
from app.values.training import BaseChoice
from app.window.parts import Choice, Segmented, label, tip

CUSTOM = "custom"
PRESETS = (
    ("quick", "Quick", "A first impression: few steps on small batches."),
    ("balanced", "Balanced", "Enough steps for most repositories."),
    ("thorough", "Thorough", "Many steps; stops early when held-out code no longer improves."),
    (CUSTOM, "Custom", "Options that you have set yourself."),
)
BASE_WIDTH = 260


class PresetRow(QWidget):
    """Presets on the left, the base on the right."""

    preset_chosen = Signal(str)
    base_chosen = Signal(str)  # id; "" for the built-in model

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        self.presets = Segmented(PRESETS, "Preset")
        self.presets.chosen.connect(self.on_preset_chosen)
        self.bases = Choice((("", BUILT_IN),), "Start from", BASE_WIDTH)
        self.bases.chosen.connect(self.base_chosen)
        row.addWidget(self.presets)
        row.addStretch(1)
        row.addWidget(label("Start from", "label"))
        row.addWidget(self.bases)

    def show_choice(self, preset: str, base: str, bases: Sequence[BaseChoice]) -> None:
        """What is chosen and what there is to choose from."""
        self.presets.buttons[CUSTOM].setVisible(preset == CUSTOM)
        self.presets.set_value(preset)
        choices = tuple((each.id, each.name) for each in bases) or (("", BUILT_IN),)
        shown = tuple((self.bases.itemData(i), self.bases.itemText(i)) for i in range(self.bases.count()))
        if choices != shown:
            self.bases.set_choices(choices)
        self.bases.set_value(base)
        words = next((each.words for each in bases if each.id == base), "")
        tip(self.bases, f"The model that learns. {words}".strip())

    @Slot(str)
    def on_preset_chosen(self, preset: str) -> None:
        if preset != CUSTOM:
            self.preset_chosen.emit(preset)
