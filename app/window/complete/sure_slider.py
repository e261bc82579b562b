"""How sure a suggestion has to be: a slider from "show more" to "only what is sure"."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from app.state.settings import Settings
from app.window.parts import SectionTitle, label, tip

FULL = 100  # per cent


class SureSlider(QWidget):
    """The setting `least_chance`: what is less likely to be taken as it is stays unshown."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.heading = SectionTitle("How sure a suggestion has to be")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, FULL)
        self.slider.setSingleStep(1)
        self.slider.setPageStep(10)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.setAccessibleName("How sure a suggestion has to be, in per cent")
        tip(self.slider, "A suggestion is shown if the chance that you take it as it is reaches this")
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(label("Show more", "label"))
        row.addWidget(self.slider, 1)
        row.addWidget(label("Only what is sure", "label"))
        column.addWidget(self.heading)
        column.addLayout(row)
        self.slider.valueChanged.connect(self.on_moved)
        settings.changed.connect(self.on_setting_changed)
        self.on_setting_changed("least_chance")

    @Slot(int)
    def on_moved(self, value: int) -> None:
        self._settings.least_chance = value / FULL

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "least_chance":
            chance = self._settings.least_chance
            blocked = self.slider.blockSignals(True)
            self.slider.setValue(round(chance * FULL))
            self.slider.blockSignals(blocked)
            self.heading.say(f"at least {chance * FULL:.0f} %" if chance else "everything is shown")
