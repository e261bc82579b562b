"""How suggestions are written and where they end.  Folded: the defaults need no touching."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QToolButton, QVBoxLayout, QWidget

from app.state.completion import CompletionController
from app.theme import Theme, Tokens
from app.theme.icons import icon
from app.values.completion import SamplingSettings, StopSettings
from app.window.parts import Card, FieldRow, LinkButton, Number, Switch, WholeNumber, label


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
    Control(SAMPLING, "repetition_penalty", "Against repeating", "1: none; more makes repeating rarer.", 0.5, 2),
    Control(SAMPLING, "seed", "Seed", "The same seed gives the same suggestion again.", 0, 999_999, 1),
)
CONTROL_WIDTH = 104


class SamplingDrawer(Card):
    """A fold with a line that says what is set, and the controls below it."""

    def __init__(self, completion: CompletionController) -> None:
        super().__init__(margins=(10, 8, 16, 10), spacing=6)
        self._completion = completion
        self.fold = QToolButton()
        self.fold.setText("Sampling")
        self.fold.setProperty("role", "fold")
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.setCheckable(True)
        self.fold.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.fold.setAccessibleName("Show how suggestions are written")
        self.summary = label("", "label", wrap=True)
        self.summary.setContentsMargins(6, 0, 0, 2)
        self.body = QWidget()
        inner = QVBoxLayout(self.body)
        inner.setContentsMargins(6, 2, 0, 0)
        inner.setSpacing(9)
        self.rows: dict[str, SettingField] = {}
        for control in CONTROLS:
            row = SettingField(control)
            row.entered.connect(self.on_entered)
            self.rows[control.name] = row
            inner.addWidget(row)
        self.reset_button = LinkButton("Back to the defaults")
        inner.addWidget(self.reset_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.hide()
        for widget in (self.fold, self.summary, self.body):
            self.column.addWidget(widget)
        self.fold.toggled.connect(self.on_fold_toggled)
        self.reset_button.clicked.connect(self.on_reset)
        completion.changed.connect(self.refresh)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what is set."""
        for row in self.rows.values():
            row.show_value(getattr(getattr(self._completion, row.setting.group), row.setting.name))
        self.summary.setText(summary(self._completion.sampling, self._completion.stops))
        usual = (SamplingSettings(), StopSettings())
        self.reset_button.setEnabled((self._completion.sampling, self._completion.stops) != usual)

    @Slot(str, object)
    def on_entered(self, name: str, value: Any) -> None:
        self.rows[name].complain(self._set(self.rows[name].setting.group, name, value))

    @Slot()
    def on_reset(self) -> None:
        for group, usual in ((SAMPLING, SamplingSettings()), (STOPS, StopSettings())):
            for field in fields(usual):
                self._set(group, field.name, getattr(usual, field.name))

    def _set(self, group: str, name: str, value: Any) -> str:
        change = self._completion.set_sampling if group == SAMPLING else self._completion.set_stops
        return change(name, value)

    @Slot(bool)
    def on_fold_toggled(self, is_open: bool) -> None:
        self.body.setVisible(is_open)
        self.on_restyled(Theme.current().tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self.fold.setIcon(icon("chevron_down" if self.fold.isChecked() else "chevron_right", tokens.mute, 14))


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
