"""What a run will need, before its first step: steps, time, memory by kind against the ceiling; and its start."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout

from app.theme.plots import MEMORY_TOKENS
from app.values.repository import ChangesSince
from app.values.training import PlanView, SpeedBasis
from app.values.words import about, counted, nbytes, thousands
from app.window.adapt.memory_bar import KINDS_HELP, MemoryBar, in_order
from app.window.adapt.plots.legend import Legend
from app.window.parts import NOTHING, Card, FigureLabel, PlainButton, PrimaryButton, label, set_tone, tip

TIME_HELP = {
    SpeedBasis.MEASURED: "A training step was measured just now. Other programs make a run slower.",
    SpeedBasis.EARLIER_RUNS: "From earlier runs on this machine. Other programs make a run slower.",
    SpeedBasis.FEW_LAYERS: "A step of a few of its layers was measured just now; others like them take as long.",
    SpeedBasis.UNKNOWN: "Known after the first steps",
}
TIME_WORDS = {
    SpeedBasis.MEASURED: "measured just now",
    SpeedBasis.EARLIER_RUNS: "as in earlier runs",
    SpeedBasis.FEW_LAYERS: "from a few of its layers",
}
WORKING_OUT = "Estimating time and memory…"
START_KEYS, CHANGES_KEYS = "Ctrl+Shift+A", "Ctrl+Shift+C"  # of the window's menu


class PreflightCard(Card):
    """Figures, the memory bar and the Adapt button."""

    start_wanted = Signal()
    changes_wanted = Signal()

    def __init__(self) -> None:
        super().__init__(margins=(16, 14, 16, 14), spacing=10)
        self.steps = FigureLabel("Steps", 90)
        self.minutes = FigureLabel("Time, about", 100)
        self.memory = FigureLabel("Memory", 150)
        self.trained = FigureLabel("Trained weights", 110)
        tip(self.steps, "Number of weight updates; each step reads a few excerpts of your code")
        tip(self.minutes, TIME_HELP[SpeedBasis.UNKNOWN])
        tip(self.memory, "The most that the run will hold, against the ceiling in Settings")
        tip(self.trained, "How many of the model's weights this mode changes")
        self.start_button = PrimaryButton("Adapt", "Train the model on this repository", START_KEYS)
        self.start_button.clicked.connect(self.start_wanted)
        self.changes_button = PlainButton("Adapt to changes", "", CHANGES_KEYS)
        self.changes_button.clicked.connect(self.changes_wanted)
        self.changes_button.hide()
        row = QHBoxLayout()
        row.setSpacing(16)
        for figure in (self.steps, self.minutes, self.memory, self.trained):
            row.addWidget(figure)
        row.addStretch(1)
        row.addWidget(self.changes_button)
        row.addWidget(self.start_button)
        self.bar = MemoryBar()
        self.legend = Legend()
        tip(self.bar, KINDS_HELP)
        tip(self.legend, KINDS_HELP)
        self.words = label("", "label", wrap=True)
        self.column.addLayout(row)
        self.column.addWidget(self.bar)
        self.column.addWidget(self.legend)
        self.column.addWidget(self.words)

    def show_plan(self, plan: PlanView | None, planning: bool, problem: str, code: int = 0) -> None:
        """`problem`: why a run cannot be started now.  While `planning`, the figures are those of the previous options.
        `code`: tokens to learn; 0 if unknown."""
        self.start_button.setEnabled(not problem)
        known = plan is not None and not plan.problem
        self._say_figures(plan if known else None)
        if planning and (not problem or (plan is not None and problem == plan.problem)):
            words, tone = WORKING_OUT, ""
        elif problem:
            words, tone = problem, "warn" if plan is not None and plan.problem else ""
        else:
            words, tone = self._sentence(plan, code) if known else "", ""
        self.words.setText(words)
        set_tone(self.words, tone)

    def show_changes(self, changes: ChangesSince, can_start: bool) -> None:
        """Offer the short run if something has changed since the last one."""
        self.changes_button.setVisible(changes.any)
        self.changes_button.setEnabled(can_start)
        if changes.any:
            amount = f"{counted(changes.files, 'file')}, {counted(changes.lines, 'line')}"
            time = f", about {about(changes.seconds)}" if changes.seconds else ""
            words = f"Train only on what has changed since {changes.checkpoint_name}: {amount}{time}"
            tip(self.changes_button, words, CHANGES_KEYS)

    def _say_figures(self, plan: PlanView | None) -> None:
        if plan is None:
            for figure in (self.steps, self.minutes, self.memory, self.trained):
                figure.say()
            self.bar.show_memory({}, 0)
            self.legend.set_entries(())
            return
        self.steps.say(f"{plan.steps:,}" if plan.steps else NOTHING, "" if plan.steps else "by time")
        self.minutes.say(about(plan.minutes * 60) if plan.minutes > 0 else NOTHING)
        tip(self.minutes, TIME_HELP[plan.speed_basis])
        over = bool(plan.ceiling) and plan.memory_total > plan.ceiling
        ceiling = f"of {nbytes(plan.ceiling)}" if plan.ceiling else ""
        self.memory.say(nbytes(plan.memory_total), ceiling, "bad" if over else "")
        self.trained.say(thousands(plan.trained_parameters))
        self.bar.show_memory(plan.memory, plan.ceiling)
        kinds = in_order(plan.memory)
        self.legend.set_entries(
            [(MEMORY_TOKENS.get(kind, "mute"), "area", f"{kind} {nbytes(plan.memory[kind])}") for kind in kinds]
        )

    @staticmethod
    def _sentence(plan: PlanView, code: int) -> str:
        batch = f"{plan.tokens_per_step:,} tokens per step"
        if plan.micro_batches > 1:
            batch += f", in {plan.micro_batches} micro-batches of {plan.micro_batch} to stay under the memory ceiling"
        base = "" if plan.mode == "full" else f" The base is kept in {plan.base_precision}."
        where = f" on {plan.device}" if plan.device else ""
        time = " The time will be known after the first steps." if not plan.minutes else ""
        if plan.speed_basis in TIME_WORDS:
            speed = f"{plan.tokens_per_second:,.0f} tokens/s, {TIME_WORDS[plan.speed_basis]}"
            time = f" The time assumes {speed}, and that the machine does not get busier."
        reads = ""
        if plan.steps and plan.tokens_per_step and code:
            share = plan.steps * plan.tokens_per_step / code
            reads = (
                f" It reads {share * 100:.0f} % of the code." if share < 1 else f" It reads the code {share:.0f} times."
            )
            reads = reads.replace(" 1 times.", " once.")
        measured = " The held-out loss is measured before the first step and during the run."
        return f"{batch}{where}.{base}{reads}{measured}{time}"
