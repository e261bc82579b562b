"""Every option of a run, in groups, each with a tool tip; an invalid value is explained below its field.

Options, labels and help come from `engine.train.options.OPTIONS`; one that is added there appears here, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from app.window.parts import Card, Choice, FieldRow, Line, label

if TYPE_CHECKING:
    from app.state.training import TrainingController
    from engine.option_info import OptionInfo

FIELD = 132
ELSEWHERE = ("mode",)  # set by the cards above
GROUPS = (
    ("Length", ("steps", "epochs", "minutes", "patience", "duty_cycle")),
    ("Learning", ("learning_rate", "schedule", "warm_up", "weight_decay", "max_gradient_norm")),
    ("Data", ("batch_size", "micro_batch", "sequence_length", "fim_share", "canaries", "seed")),
    ("Evaluation", ("evaluations", "evaluate_every", "insight_interval")),
    ("Optimiser", ("beta1", "beta2", "epsilon", "trust_region")),
    ("Memory and changes", ("rank", "base_precision", "recompute", "replay_share", "skip_below")),
)
COLUMNS = 3
NARROW, WIDE, BETWEEN = 270, 440, 36  # of a column, and between two


class OptionField(FieldRow):
    """One option.  Numbers are typed as text, since both 3e-4 and 8,192 should be accepted."""

    entered = Signal(str, object)  # name, value or text that is not a number

    def __init__(self, name: str, info: OptionInfo) -> None:
        self.option, self.info = name, info
        if info.choices:
            control = Choice(tuple((choice, choice.capitalize()) for choice in info.choices), info.label, FIELD)
        else:
            control = Line(info.zero if info.default == 0 else "", FIELD)
            control.setAlignment(Qt.AlignmentFlag.AlignRight)
        super().__init__(info.label, control, tool_tip=self._help())
        (control.chosen if info.choices else control.changed).connect(self.on_entered)

    def show_value(self, value: Any) -> None:
        """A 0 with a meaning of its own is an empty field with that meaning as its placeholder."""
        if self.info.choices:
            self.control.set_value(value)
        elif value == 0 and self.info.zero:
            self.control.setPlaceholderText(self.info.zero)
            self.control.set_value("")
        else:
            self.control.set_value(f"{value:,}" if self.info.whole else f"{value:g}")
        self.complain("")

    def complain(self, words: str) -> None:
        super().complain(words)
        if not words:
            self.control.setAccessibleDescription(self._help())

    @Slot(str)
    def on_entered(self, words: str) -> None:
        self.entered.emit(self.option, words if self.info.choices else self._number(words))

    def _number(self, words: str) -> object:
        """The number that was typed, or the text where it is not one: the error message quotes it."""
        plain = words.strip().replace(",", "").replace(" ", "")
        if not plain and self.info.zero:
            return 0 if self.info.whole else 0.0
        try:
            number = float(plain)
        except ValueError:
            return words
        if not self.info.whole:
            return number
        return int(number) if number == number // 1 else number

    def _help(self) -> str:
        info = self.info
        allowed = "" if info.choices else f"From {info.low:,g} to {info.high:,g}{' ' + info.unit if info.unit else ''}."
        zero = f"0: {info.zero}." if info.zero else ""
        return " ".join(filter(None, (info.help, allowed, zero)))


class AdvancedDrawer(Card):
    """The options in up to three columns."""

    def __init__(self, training: TrainingController) -> None:
        super().__init__(margins=(16, 12, 16, 14))
        from engine.train.options import OPTIONS

        self._training = training
        self.fields: dict[str, OptionField] = {}
        grouped = {name for _, names in GROUPS for name in names}
        rest = tuple(name for name in OPTIONS if name not in grouped and name not in ELSEWHERE)
        groups = [*GROUPS, ("Others", rest)] if rest else list(GROUPS)
        self._groups = [self._group(title, names, OPTIONS) for title, names in groups]
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(BETWEEN)
        self._grid.setVerticalSpacing(14)
        self.columns = 0
        self._lay_out(COLUMNS)
        self.column.addLayout(self._grid)
        self.column.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # never wider than the page
        training.changed.connect(self.on_changed)
        self.on_changed()

    def _lay_out(self, columns: int) -> None:
        if columns == self.columns:
            return
        self.columns = columns
        for place, group in enumerate(self._groups):
            self._grid.addWidget(group, place // columns, place % columns, Qt.AlignmentFlag.AlignTop)
        for column in range(COLUMNS):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self._grid.geometry().width() + BETWEEN
        self._lay_out(max(1, min(COLUMNS, room // (NARROW + BETWEEN))))

    def _group(self, title: str, names: tuple[str, ...], options: dict[str, OptionInfo]) -> QWidget:
        group = QWidget()
        group.setMaximumWidth(WIDE)  # a label and its field must not drift apart
        column = QVBoxLayout(group)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(label(title, "strong"))
        for name in names:
            if name in options:
                field = OptionField(name, options[name])
                field.entered.connect(self.on_entered)
                self.fields[name] = field
                column.addWidget(field)
        return group

    def reset(self) -> None:
        """Show the values that are set in place of invalid ones that were typed."""
        for field in self.fields.values():
            field.complain("")
        self.on_changed()

    @Slot(str, object)
    def on_entered(self, name: str, value: object) -> None:
        self.fields[name].complain("")
        problem = self._training.set_option(name, value)
        if problem:
            for known, field in self.fields.items():
                problem = problem.replace(known, field.info.label)  # use the names on the form
            self.fields[name].complain(problem)
        else:
            self.on_changed()

    @Slot()
    def on_changed(self) -> None:
        options = self._training.options
        for name, field in self.fields.items():
            if not field.error.text():
                field.show_value(getattr(options, name))
