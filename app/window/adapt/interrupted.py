"""Runs that a crash, a kill or a power cut interrupted: the newest in one line, to resume or discard."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import Signal, Slot

from app.values.training import ResumableRun
from app.window.adapt.mode_cards import MODES
from app.window.adapt.words import ago
from app.window.parts import InlineMessage


class InterruptedRun(InlineMessage):
    """Shows the newest run; the next one appears once that is dealt with."""

    resume_wanted = Signal(str)
    discard_wanted = Signal(str)

    def __init__(self) -> None:
        super().__init__(closable=False)
        self.run: ResumableRun | None = None
        self.discard_button = self.add_button("Discard", help_words="Delete what was saved of this run")
        self.resume_button = self.add_button("Resume", help_words="Continue from the last save")
        self.discard_button.clicked.connect(self.on_discard_clicked)
        self.resume_button.clicked.connect(self.on_resume_clicked)

    def show_runs(self, runs: tuple[ResumableRun, ...], can_start: bool) -> None:
        """`can_start` is False while another run is active."""
        self.run = max(runs, key=lambda run: run.saved, default=None)
        if self.run is None or not can_start:
            self.put_away()
            return
        run = self.run
        mode = MODES[run.mode].name if run.mode in MODES else run.mode
        where = f"step {run.step:,} of {run.steps:,}" if run.steps else f"step {run.step:,}"
        others = len(runs) - 1
        more = f"There {'is' if others == 1 else 'are'} {others} more." if others else ""
        said = f"{PurePath(run.root).name}, {mode}, {where}, saved {ago(run.saved)}."
        words = " ".join(filter(None, (said, run.problem, more)))
        self.resume_button.setEnabled(not run.problem)
        self.say(words, "Interrupted run", "warn" if run.problem else "accent")

    @Slot()
    def on_resume_clicked(self) -> None:
        self.resume_wanted.emit(self.run.id)

    @Slot()
    def on_discard_clicked(self) -> None:
        self.discard_wanted.emit(self.run.id)
