"""How sure suggestions have to be, how they are written and where they end.  The defaults need no touching."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from app.state.completion import CompletionController
from app.state.settings import USUAL_LEAST_CHANCE, Settings
from app.values.completion import SamplingSettings, StopSettings
from app.window.complete.sure_slider import SureSlider
from app.window.parts import Card, FieldRow, LinkButton, Number, Switch, WholeNumber, rule


@dataclass(frozen=True)
class Control:
    """One setting: `group` is the controller's attribute."""

    group: str
    name: str
    words: str
    help: str
    least: float = 0
    most: float = 1
    step: float = 0.05
    unit: str = ""


SAMPLING, STOPS = "sampling", "stops"
CONTROLS = (
    Control(STOPS, "max_tokens", "Longest suggestion", "In tokens; a token is a few letters.", 1, 512, 8),
    Control(
        STOPS,
        "milliseconds",
        "Longest time",
        "Writing a suggestion ends after this; 0: no limit.",
        0,
        60_000,
        250,
        "ms",
    ),
    Control(STOPS, "end_of_line", "End with the line", "One line at a time."),
    Control(STOPS, "end_of_block", "End with the block", "Stops before a line that is less indented."),
    Control(SAMPLING, "temperature", "Temperature", "0 always takes the likeliest; more is more varied.", 0, 2),
    Control(SAMPLING, "top_k", "Among the likeliest (top-k)", "Only so many are considered; 0: all.", 0, 1000, 5),
    Control(SAMPLING, "top_p", "Within a share (top-p)", "Only the likeliest that together have this share.", 0, 1),
    Control(SAMPLING, "min_p", "Not much rarer (min-p)", "Leaves out what is this much rarer than the best.", 0, 1),
    Control(SAMPLING, "repetition_penalty", "Repetition penalty", "1: none; more makes repeating rarer.", 1, 2),
    Control(SAMPLING, "seed", "Seed", "The same seed gives the same suggestion again.", 0, 999_999, 1),
)
CONTROL_WIDTH = 104


class OptionsCard(Card):
    """A slider, and the controls below it in two columns: where a suggestion ends, and how it is sampled."""

    def __init__(self, completion: CompletionController, settings: Settings) -> None:
        super().__init__("Options", spacing=12)
        self._completion, self._settings = completion, settings
        self.sure = SureSlider(settings)
        self.rows: dict[str, SettingField] = {}
        columns = QHBoxLayout()
        columns.setSpacing(32)
        for group in (STOPS, SAMPLING):
            column = QVBoxLayout()
            column.setSpacing(9)
            for control in CONTROLS:
                if control.group == group:
                    row = SettingField(control)
                    row.entered.connect(self.on_entered)
                    self.rows[control.name] = row
                    column.addWidget(row)
            column.addStretch(1)
            columns.addLayout(column, 1)
        self.reset_button = LinkButton("Back to the defaults")
        for widget in (self.sure, rule()):
            self.column.addWidget(widget)
        self.column.addLayout(columns)
        self.column.addWidget(self.reset_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.reset_button.clicked.connect(self.on_reset)
        completion.changed.connect(self.refresh)
        settings.changed.connect(self.on_setting_changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what is set."""
        for row in self.rows.values():
            row.show_value(getattr(getattr(self._completion, row.setting.group), row.setting.name))
        self.heading.say(summary(self._completion.sampling, self._completion.stops))
        usual = (SamplingSettings(), StopSettings())
        is_usual = (self._completion.sampling, self._completion.stops) == usual
        self.reset_button.setEnabled(not is_usual or self._settings.least_chance != USUAL_LEAST_CHANCE)

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "least_chance":
            self.refresh()

    @Slot(str, object)
    def on_entered(self, name: str, value: Any) -> None:
        self.rows[name].complain(self._set(self.rows[name].setting.group, name, value))

    @Slot()
    def on_reset(self) -> None:
        self._settings.reset("least_chance")
        for group, usual in ((SAMPLING, SamplingSettings()), (STOPS, StopSettings())):
            for field in fields(usual):
                self._set(group, field.name, getattr(usual, field.name))

    def _set(self, group: str, name: str, value: Any) -> str:
        change = self._completion.set_sampling if group == SAMPLING else self._completion.set_stops
        return change(name, value)


class SettingField(FieldRow):
    """One setting with the control that fits its kind."""

    entered = Signal(str, object)  # name, value

    def __init__(self, setting: Control) -> None:
        self.setting = setting
        kind = type(getattr(SamplingSettings() if setting.group == SAMPLING else StopSettings(), setting.name))
        if kind is bool:
            control = Switch()
        elif kind is int:
            control = WholeNumber(
                int(setting.least), int(setting.most), setting.unit, int(setting.step), width=CONTROL_WIDTH
            )
        else:
            control = Number(setting.least, setting.most, setting.unit, setting.step, 2, CONTROL_WIDTH)
        super().__init__(setting.words, control, tool_tip=setting.help)
        control.changed.connect(self.on_changed)

    def show_value(self, value: Any) -> None:
        self.control.set_value(value)

    @Slot(object)
    def on_changed(self, value: Any) -> None:
        self.entered.emit(self.setting.name, value)


def summary(sampling: SamplingSettings, stops: StopSettings) -> str:
    """The likeliest token each time, up to 48 tokens, to the end of the block"""
    how = "The likeliest token each time"
    if sampling.temperature > 0:
        how = f"Temperature {sampling.temperature:g}, seed {sampling.seed}"
    end = "to the end of the line" if stops.end_of_line else "to the end of the block" if stops.end_of_block else ""
    return ", ".join(filter(None, (how, f"up to {stops.max_tokens:,} tokens", end)))
