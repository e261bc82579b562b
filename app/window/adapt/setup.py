"""Setting up a run: mode, preset, base model, its cost, and the advanced options."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QApplication, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from app.state.application import Application
from app.theme import Theme, Tokens
from app.theme.icons import icon
from app.values.completion import BUILT_IN
from app.values.training import BaseChoice
from app.window.adapt.advanced_drawer import AdvancedDrawer
from app.window.adapt.mode_cards import ModeCards
from app.window.adapt.past_runs import PastRunsCard, past_runs_of
from app.window.adapt.preflight import PreflightCard
from app.window.parts import GAP, Choice, Segmented, label, tip

CUSTOM = "custom"
PRESETS = (
    ("quick", "Quick", "A first impression: few steps, small batches."),
    ("balanced", "Balanced", "Enough steps for most repositories."),
    ("thorough", "Thorough", "Many steps; stops early when held-out code no longer improves."),
    (CUSTOM, "Custom", "Your own options."),
)
BASE_WIDTH = 260


class PresetRow(QWidget):
    """Presets on the left, the base model on the right."""

    preset_chosen = Signal(str)
    base_chosen = Signal(str)  # id; "": the built-in model

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
        self.presets.buttons[CUSTOM].setVisible(preset == CUSTOM)
        self.presets.set_value(preset)
        choices = tuple((each.id, each.name) for each in bases) or (("", BUILT_IN),)
        shown = tuple((self.bases.itemData(i), self.bases.itemText(i)) for i in range(self.bases.count()))
        if choices != shown:
            self.bases.set_choices(choices)
        self.bases.set_value(base)
        words = next((each.words for each in bases if each.id == base), "")
        tip(self.bases, f"The model to train. {words}".strip())

    @Slot(str)
    def on_preset_chosen(self, preset: str) -> None:
        if preset != CUSTOM:
            self.preset_chosen.emit(preset)


class Setup(QWidget):
    """Everything above the Adapt button, and the button."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._application = application
        self._training = training = application.training
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        self.modes = ModeCards(training.modes)
        self.modes.chosen.connect(self.on_mode_chosen)
        self.presets = PresetRow()
        self.presets.preset_chosen.connect(self.on_preset_chosen)
        self.presets.base_chosen.connect(training.choose_base)
        self.preflight = PreflightCard()
        self.preflight.start_wanted.connect(training.start)
        self.preflight.changes_wanted.connect(training.adapt_to_changes)
        self.fold = QToolButton()
        self.fold.setText("Advanced options")
        self.fold.setProperty("role", "fold")
        self.fold.setCheckable(True)
        self.fold.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.toggled.connect(self.on_fold_toggled)
        tip(self.fold, "Every option of a run")
        self.drawer: AdvancedDrawer | None = None  # made when first opened
        self.past_runs = PastRunsCard()
        row = QHBoxLayout()
        row.setContentsMargins(6, 0, 0, 0)
        row.addWidget(self.fold)
        row.addStretch(1)
        for widget in (self.modes, self.presets, self.preflight):
            column.addWidget(widget)
        column.addLayout(row)
        column.addWidget(self.past_runs, 1)
        self._column = column
        self._root = ""  # the folder whose past runs are listed
        training.changed.connect(self.refresh)
        training.planned.connect(self.refresh)
        application.repository.changed.connect(self.refresh)
        application.repository.changes_counted.connect(self.on_changes_counted)
        application.checkpoints.changed.connect(self.on_checkpoints_changed)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)
        self.refresh()
        self.on_checkpoints_changed()

    @Slot()
    def refresh(self) -> None:
        """Read the controller again."""
        training = self._training
        self.modes.show_mode(training.mode, training.mode_plans)
        self.presets.show_choice(training.preset, training.base, training.bases)
        problem = training.start_problem
        corpus = self._application.repository.corpus
        code = corpus.totals.learned.tokens - corpus.totals.held_out.tokens if corpus is not None else 0
        self.preflight.show_plan(training.plan, training.planning, problem, code)
        self.preflight.show_changes(self._application.repository.changes, not problem)
        if self._application.repository.root != self._root:
            self.on_checkpoints_changed()

    @Slot(object)
    def on_changes_counted(self, _changes) -> None:
        self.refresh()

    @Slot()
    def on_checkpoints_changed(self) -> None:
        application = self._application
        self._root = application.repository.root
        self.past_runs.show_rows(past_runs_of(application.checkpoints.rows, self._root))

    @Slot(str)
    def on_mode_chosen(self, mode: str) -> None:
        self._training.set_mode(mode)

    @Slot(str)
    def on_preset_chosen(self, preset: str) -> None:
        self._training.choose_preset(preset)
        if self.drawer is not None:
            self.drawer.reset()

    @Slot(bool)
    def on_fold_toggled(self, is_open: bool) -> None:
        if is_open and self.drawer is None:
            self.drawer = AdvancedDrawer(self._training)
            self._column.insertWidget(self._column.indexOf(self.past_runs), self.drawer)
        if self.drawer is not None:
            if not is_open and self.drawer.isAncestorOf(QApplication.focusWidget() or self):
                self.setFocus()  # or Qt would give it to the next widget
            self.drawer.setVisible(is_open)
        self.on_restyled(Theme.current().tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self.fold.setIcon(icon("chevron_down" if self.fold.isChecked() else "chevron_right", tokens.mute, 14))
