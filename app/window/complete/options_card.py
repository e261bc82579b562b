"""Options of suggestions: minimum confidence, where they stop and how tokens are sampled."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from app.data.settings_file import USUAL_COMPLETION, USUAL_LEAST_CHANCE
from app.state.completion import CompletionController
from app.state.settings import Settings
from app.window.parts import Card, FieldRow, LinkButton, Number, SectionTitle, Switch, WholeNumber, label, rule, tip
from engine.generate.options import SAMPLING, STOPS, SUGGESTION_STOPS, Sampling, Stops
from engine.option_info import OptionInfo

CONTROL_WIDTH = 124
FULL = 100  # percent


class OptionsCard(Card):
    """The confidence slider, and below it the engine's options in two columns: stops and sampling."""

    def __init__(self, completion: CompletionController, settings: Settings) -> None:
        super().__init__("Options", spacing=12)
        self._completion, self._settings = completion, settings
        self.confidence = ConfidenceSlider(settings)
        self.rows: dict[str, OptionField] = {}
        columns = QHBoxLayout()
        columns.setSpacing(32)
        for table in (STOPS, SAMPLING):
            column = QVBoxLayout()
            column.setSpacing(9)
            for name, info in table.items():
                if not info.advanced:
                    row = OptionField(name, info)
                    row.entered.connect(self.on_entered)
                    self.rows[name] = row
                    column.addWidget(row)
            column.addStretch(1)
            columns.addLayout(column, 1)
        self.reset_button = LinkButton("Restore defaults")
        for widget in (self.confidence, rule()):
            self.column.addWidget(widget)
        self.column.addLayout(columns)
        self.column.addWidget(self.reset_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.reset_button.clicked.connect(self.on_reset)
        completion.changed.connect(self.refresh)
        settings.changed.connect(self.on_setting_changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        for name, row in self.rows.items():
            row.show_value(getattr(self._completion.sampling if name in SAMPLING else self._completion.stops, name))
        self.heading.say(summary(self._completion.sampling, self._completion.stops))
        usual = (Sampling(), SUGGESTION_STOPS)
        is_usual = (self._completion.sampling, self._completion.stops) == usual
        self.reset_button.setEnabled(not is_usual or self._settings.least_chance != USUAL_LEAST_CHANCE)

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "least_chance":
            self.refresh()

    @Slot(str, object)
    def on_entered(self, name: str, value: Any) -> None:
        self.rows[name].complain(self._set(name, value))

    @Slot()
    def on_reset(self) -> None:
        self._settings.reset("least_chance")
        for name in self.rows:
            self._set(name, USUAL_COMPLETION[name])

    def _set(self, name: str, value: Any) -> str:
        change = self._completion.set_sampling if name in SAMPLING else self._completion.set_stops
        return change(name, value)


class OptionField(FieldRow):
    """One option of the engine's table, with the control that fits its kind."""

    entered = Signal(str, object)  # name, value

    def __init__(self, name: str, info: OptionInfo) -> None:
        self.option, self.info = name, info
        if info.kind is bool:
            control = Switch()
        elif info.kind is int:
            control = WholeNumber(info.low, info.high, info.unit, info.step, width=CONTROL_WIDTH)
        else:
            control = Number(info.low, info.high, info.unit, info.step, 2, CONTROL_WIDTH)
        tool_tip = f"{info.help} 0: {info.zero}." if info.zero else info.help
        super().__init__(info.label, control, tool_tip=tool_tip)
        control.changed.connect(self.on_changed)

    def show_value(self, value: Any) -> None:
        self.control.set_value(value)

    @Slot(object)
    def on_changed(self, value: Any) -> None:
        self.entered.emit(self.option, value)


def summary(sampling: Sampling, stops: Stops) -> str:
    """Greedy, up to 48 tokens, to the end of the block"""
    how = "Greedy"
    if sampling.temperature > 0:
        how = f"Temperature {sampling.temperature:g}, seed {sampling.seed}"
    end = "to the end of the line" if stops.end_of_line else "to the end of the block" if stops.end_of_block else ""
    return ", ".join(filter(None, (how, f"up to {stops.max_tokens:,} tokens", end)))


class ConfidenceSlider(QWidget):
    """The setting `least_chance`: suggestions less likely to be accepted as they are stay hidden."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.heading = SectionTitle("Minimum confidence")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, FULL)
        self.slider.setSingleStep(1)
        self.slider.setPageStep(10)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.setAccessibleName("Minimum confidence of a suggestion, in percent")
        tip(self.slider, "A suggestion is shown if you are at least this likely to accept it as it is")
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(label("Show more", "label"))
        row.addWidget(self.slider, 1)
        row.addWidget(label("Show fewer", "label"))
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
            self.heading.say(f"at least {chance * FULL:.0f} %" if chance else "show everything")
