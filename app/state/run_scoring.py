"""Whether the last run helped: the scorecards of its base and its result, measured after it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.values.completion import STARTER
from app.values.events import Failure
from app.values.repository import FileLosses
from app.values.training import FinishedView, RunScores, ScoreView
from app.workers.jobs import Job, Jobs
from app.workers.measuring import MeasuringWorker


class RunScoring(QObject):
    """The part of the training controller that knows the scorecards."""

    scored = Signal()  # before, after, scoring, score_problem
    losses_measured = Signal(object)  # FileLosses of the run's result, for the repository

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._score_job: Job | None = None
        self._scored_run: FinishedView | None = None
        self.before: ScoreView | None = None
        self.after: ScoreView | None = None
        self.scoring = (0, 0, "")  # done, total, of what: while the scorecards are measured
        self.score_problem = ""  # why they are not complete

    def score(self, run: FinishedView) -> None:
        """Measure base and result; `before` and `after` become more precise as the job proceeds."""
        self._scored_run = run
        self.on_scoring(0, 1)
        self._score_job = self._jobs.ask(
            *(MeasuringWorker.score_run, run.base or STARTER, run.checkpoint),
            then=self.on_scored,
            failed=self.on_score_failed,
            cancelled=self.on_score_cancelled,
            progressed=self.on_scoring,
            reported=self.on_score_report,
        )

    def cancel_scoring(self) -> None:
        """End the measurement; what it has found so far stays."""
        if self.scoring[1]:
            self._jobs.cancel(self._score_job)

    def forget_scores(self) -> None:
        self._scored_run = self.before = self.after = None
        self.scoring, self.score_problem = (0, 0, ""), ""

    def on_score_report(self, report: RunScores | FileLosses) -> None:
        if isinstance(report, FileLosses):
            self.losses_measured.emit(report)
        else:
            self.on_scores(report.before, report.after)

    def on_scores(self, before: ScoreView | None, after: ScoreView | None) -> None:
        self.before, self.after = before, after
        self.scored.emit()

    def on_scoring(self, done: int = 0, total: int = 0, what: str = "") -> None:
        """How far the measurement is; 0 of 0: it is over."""
        self.scoring = (done, total, what)
        self.scored.emit()

    def on_scored(self, _result: None) -> None:
        self.on_scoring()

    def on_score_cancelled(self) -> None:
        """By the user, or by a new run, which has forgotten this one already."""
        if self._scored_run is not None:
            self.score_problem = "it was cancelled."
        self.on_scoring()

    def on_score_failed(self, failure: Failure) -> None:
        """The run is kept; only its scorecard is not complete."""
        self.score_problem = failure.cause
        self.on_scoring()
