"""Progress of a run: steps, held-out loss, speed, time left; and the buttons Pause, Resume and Stop."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QProgressBar

from app.state.training import TrainingController
from app.window.adapt.words import change, clock
from app.window.parts import NOTHING, Card, ElidedLabel, FigureLabel, PlainButton, label, set_tone, tip

PAUSE_KEYS, STOP_KEYS = "Ctrl+Shift+P", "Ctrl+Shift+S"  # of the window's menu
FINE = 1000  # parts of the bar
STATES = {"preparing": "Preparing", "running": "Running", "paused": "Paused", "stopping": "Stopping"}


class RunHeader(Card):
    """Reads the controller; user actions leave as signals."""

    pause_wanted = Signal()
    resume_wanted = Signal()
    stop_wanted = Signal()

    def __init__(self) -> None:
        super().__init__(margins=(16, 12, 16, 14), spacing=10)
        self._paused = False
        self.step = FigureLabel("Step", 150)
        self.held_out = FigureLabel("Held-out loss", 140)
        self.speed = FigureLabel("Tokens / s", 90)
        self.left = FigureLabel("Time left", 90)
        tip(self.step, "Number of weight updates so far")
        tip(self.held_out, "How surprised the model is by code it is not trained on. Lower is better.")
        tip(self.speed, "Tokens processed per second")
        tip(self.left, "Estimated from the last steps")
        self.state = label("", "badge")
        self.pause_button = PlainButton("Pause", "", PAUSE_KEYS)
        self.pause_button.clicked.connect(self.on_pause_clicked)
        self.stop_button = PlainButton("Stop and save", "", STOP_KEYS)
        self.stop_button.clicked.connect(self.stop_wanted)
        for button, longest in ((self.pause_button, "Resume"), (self.stop_button, "Stop and save")):
            width = button.fontMetrics().horizontalAdvance(longest) + 40
            button.setMinimumSize(QSize(width, 0))  # the text changes, the position does not
        row = QHBoxLayout()
        row.setSpacing(12)
        for figure in (self.step, self.held_out, self.speed, self.left):
            row.addWidget(figure)
        row.addStretch(1)
        for button in (self.pause_button, self.stop_button):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.words = ElidedLabel("", "label")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress of the run")
        self.column.addLayout(row)
        self.column.addWidget(self.bar)
        said = QHBoxLayout()
        said.setSpacing(8)
        said.addWidget(self.state)
        said.addWidget(self.words, 1)
        self.column.addLayout(said)

    def show_run(self, training: TrainingController) -> None:
        phase = training.phase
        self._paused = phase == "paused"
        self.state.setText(STATES.get(phase, phase.capitalize()))
        set_tone(self.state, {"running": "good", "paused": "warn"}.get(phase, ""))
        self._say_buttons(phase)
        if phase == "preparing":
            self._say_preparing(*training.preparing)
        else:
            self._say_figures(training)

    def _say_buttons(self, phase: str) -> None:
        words = "Resume" if self._paused else "Pause"
        if self.pause_button.text() != words:
            self.pause_button.setText(words)
            self.pause_button.setAccessibleName(words)
            tip(self.pause_button, "Resume the run" if self._paused else "Pause after the current step", PAUSE_KEYS)
        self.pause_button.setEnabled(phase in ("running", "paused"))
        words = "Cancel" if phase == "preparing" else "Stop and save"
        if self.stop_button.text() != words or not self.stop_button.toolTip():
            self.stop_button.setText(words)
            self.stop_button.setAccessibleName(words)
            help_words = "Cancel this run" if phase == "preparing" else "End the run and keep the best weights so far"
            tip(self.stop_button, help_words, STOP_KEYS)
        self.stop_button.setEnabled(phase in ("preparing", "running", "paused"))

    def _say_preparing(self, done: int, total: int, what: str) -> None:
        for figure in (self.step, self.held_out, self.speed, self.left):
            figure.say()
        self.bar.setRange(0, total)
        self.bar.setValue(done)
        count = f" · {done:,} of {total:,}" if total else ""
        self.words.set_words(f"{what or 'Preparing'}{count}")

    def _say_figures(self, training: TrainingController) -> None:
        history, step, steps = training.history, training.step, training.steps
        self.step.say(f"{step:,}", f"of {steps:,}" if steps else "")
        losses = history.evaluation_loss
        if len(losses):
            changed = change(float(losses[0]), float(losses[-1])) if len(losses) > 1 else ""
            better = losses[-1] < losses[0]
            self.held_out.say(f"{losses[-1]:.3f}", changed, ("good" if better else "warn") if changed else "")
        else:
            self.held_out.say(NOTHING, "measuring")
        self.speed.say(f"{history.tokens_per_second[-1]:,.0f}" if len(history) else NOTHING)
        self.left.say(clock(training.seconds_left) if len(history) else NOTHING)
        measuring_first = training.phase == "running" and not len(history)  # of unknown length
        self.bar.setRange(0, 0 if measuring_first else FINE)
        self.bar.setValue(round(FINE * min(1.0, history.progress)))
        self.words.set_words(self._sentence(training))

    @staticmethod
    def _sentence(training: TrainingController) -> str:
        if training.phase == "stopping":
            return "Finishing this step, then measuring and saving the best weights…"
        if training.phase == "paused":
            return "The run stays in memory and can be resumed at any time. Completions keep working."
        if not len(training.history):
            return "Measuring the held-out loss before the first step…"
        best = training.history.best_step
        return f"Best so far: step {best:,}. Those weights will be kept." if best else "The best weights will be kept."

    @Slot()
    def on_pause_clicked(self) -> None:
        (self.resume_wanted if self._paused else self.pause_wanted).emit()
