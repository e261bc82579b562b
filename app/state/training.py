"""Training as the Adapt page sees it: the options and their plan, the run and its history, and its result."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.state.run_history import RunHistory
from app.state.run_options import RunOptions
from app.state.run_scoring import RunScoring
from app.state.settings import Settings
from app.values.events import Failure
from app.values.repository import ChangesSince
from app.values.training import BaseChoice, FinishedView, PlanView, ResumableRun, RunRequest
from app.workers.files import FilesWorker
from app.workers.jobs import Job, Jobs
from app.workers.training import TrainingWorker

if TYPE_CHECKING:
    from engine.train.options import TrainingOptions

PLAN_DELAY = 150  # milliseconds of quiet before a changed option asks for a new plan
NO_FOLDER, READING = "Choose a folder first.", "The folder is being read."
NOTHING = "There is nothing to learn in this folder."
ACTIVE = ("preparing", "running", "paused", "stopping")


class TrainingController(RunScoring):
    """One run at a time."""

    changed = Signal()  # phase, options, base, resumable
    planned = Signal()  # plan, mode_plans
    progressed = Signal()  # history has grown: at most ten times a second
    noted = Signal(str)
    finished_run = Signal()
    failed = Signal(object)  # Failure

    discard_wanted = Signal(str)  # checkpoint id; from here on: to other controllers
    use_wanted = Signal(str)  # checkpoint id
    back_wanted = Signal()  # to `model_before`
    compare_wanted = Signal(str, str)
    began_automatically = Signal()  # to the idle rules

    def __init__(self, settings: Settings, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(jobs, parent)
        self._settings = settings
        self._options = RunOptions(settings)
        self._start_job: Job | None = None
        self._repository = ""
        self._missing = NO_FOLDER  # why there is no repository to learn
        self._changes = ChangesSince()
        self.phase = "idle"  # idle, preparing, running, paused, stopping, finished, failed
        self.base = settings.base  # id or name of what training starts from; "": the built-in model, or a new one
        self.bases: tuple[BaseChoice, ...] = ()
        self.plan: PlanView | None = None
        self.mode_plans: dict[str, PlanView] = {}  # the same options in each mode, for the mode cards
        self.planning = False
        self.preparing = (0, 0, "")  # done, total, of what: while the phase is "preparing"
        self.automatic = False  # whether the run was started by the idle rules
        self.request: RunRequest | None = None  # of the present run, or the last one
        self.run = ""
        self.run_plan: PlanView | None = None  # of the present run
        self.history = RunHistory()
        self.finished: FinishedView | None = None
        self.model_before = ""  # the model that was in use before the result of the run
        self.failure: Failure | None = None
        self.resumable: tuple[ResumableRun, ...] = ()
        self._plan_timer = QTimer(self)
        self._plan_timer.setSingleShot(True)
        self._plan_timer.setInterval(PLAN_DELAY)
        self._plan_timer.timeout.connect(self.on_plan_due)
        settings.changed.connect(self.on_setting_changed)

    @property
    def run_folder(self) -> str:
        """The folder that the present or last run is about, which may have been closed meanwhile."""
        return self.request.root if self.request is not None else self._repository

    # ---- options

    @property
    def options(self) -> TrainingOptions:
        """All options; change them by `set_option`."""
        return self._options.values

    @property
    def preset(self) -> str:
        """The name of the preset, or "custom" once an option was changed."""
        return self._options.preset

    @property
    def mode(self) -> str:
        return self.options.mode

    @property
    def modes(self) -> tuple[str, ...]:
        """Every mode there is, in the order of the cards."""
        from engine.model.modes import MODES

        return tuple(MODES)

    @property
    def presets(self) -> tuple[str, ...]:
        from engine.train.options import PRESETS

        return tuple(PRESETS)

    def set_option(self, name: str, value: Any) -> str:
        """Change one option; "", or why the value is not possible."""
        changed, problem = self._options.set(name, value)
        if changed:
            self._options_changed()
        return problem

    def set_mode(self, mode: str) -> str:
        """Train what this mode selects; "" or why not."""
        return self.set_option("mode", mode)

    def choose_preset(self, name: str) -> None:
        """Take all options of a preset, but keep the mode."""
        self._options.choose_preset(name)
        self._options_changed()

    def choose_base(self, base: str) -> None:
        """Start from this checkpoint; "" for the built-in model."""
        if base != self.base:
            self.base = self._settings.base = base
            self._options_changed()

    # ---- running

    @property
    def active(self) -> bool:
        """Whether a run is in progress, also while it is being prepared or paused."""
        return self.phase in ACTIVE

    @property
    def start_problem(self) -> str:
        """Why a run cannot be started; "" if it can."""
        if self.active:
            return "A run is in progress."
        if not self._repository:
            return self._missing
        if self.plan is not None and self.plan.problem:
            return self.plan.problem
        return ""

    @property
    def step(self) -> int:
        return int(self.history.step[-1]) if len(self.history) else 0

    @property
    def steps(self) -> int:
        plan = self.run_plan or self.plan
        return plan.steps if plan else self.options.steps

    @property
    def seconds_left(self) -> float:
        return self.history.seconds_left

    def start(self) -> None:
        """Adapt the base to the repository."""
        self._start(self._plan_request())

    def adapt_to_changes(self) -> None:
        """A short run on what changed since the checkpoint, mixed with older code."""
        if self._changes.any:
            changes = self._changes
            self._start(RunRequest(self._repository, asdict(self.options), changes.checkpoint, changes=changes))

    @Slot()
    def adapt_automatically(self) -> None:
        """As `adapt_to_changes`, until the user is back."""
        if self._changes.any and not self.start_problem:
            self.adapt_to_changes()
            self.automatic = True
            self.began_automatically.emit()

    @Slot()
    def on_user_active(self) -> None:
        """Stop a run that was started automatically; what it has learned is kept."""
        if self.automatic:
            self.stop()

    def resume_run(self, run: str) -> None:
        """Resume an interrupted run."""
        found = next((each for each in self.resumable if each.id == run), None)
        if found is not None and not self.active:
            self._begin(RunRequest(found.root, {}, found.base, resume=run))

    def pause(self) -> None:
        """Pause after the current step."""
        if self.phase == "running":
            self._jobs.ask(TrainingWorker.pause)
            self._enter("paused")

    def resume(self) -> None:
        if self.phase == "paused":
            self._jobs.ask(TrainingWorker.resume)
            self._enter("running")

    def stop(self) -> None:
        """End the run and save the best result so far; while it is being prepared, cancel it."""
        if self.phase == "preparing":
            self._enter("stopping")
            self._jobs.cancel(self._start_job)
        elif self.phase in ("running", "paused"):
            self._enter("stopping")
            self._jobs.ask(TrainingWorker.stop)

    @property
    def can_suspend(self) -> bool:
        """Whether there is a run whose progress can be saved and resumed later."""
        return self.phase in ("running", "paused")

    def suspend(self) -> None:
        """Save the run's progress and end it: `resume_run` continues it, also after a restart of the program."""
        if self.can_suspend:
            self._enter("stopping")
            self._jobs.ask(TrainingWorker.suspend)

    # ---- afterwards

    def use(self) -> None:
        """Complete with the result of the run."""
        if self.finished is not None and self.finished.checkpoint:
            self.use_wanted.emit(self.finished.checkpoint)

    def go_back(self) -> None:
        """Complete with the model that was in use before the run."""
        if self.finished is not None and self.finished.checkpoint:
            self.back_wanted.emit()

    def compare(self) -> None:
        """Show base and result side by side."""
        if self.finished is not None and self.finished.checkpoint:
            self.compare_wanted.emit(self.finished.base, self.finished.checkpoint)

    def discard(self) -> None:
        """Move the result of the run to the trash."""
        if self.phase in ("finished", "failed"):
            self.cancel_scoring()
            if self.finished is not None and self.finished.checkpoint:
                self.go_back()
                self.discard_wanted.emit(self.finished.checkpoint)
            self.forget()

    def discard_run(self, run: str) -> None:
        """Delete what was saved of an interrupted run."""
        self._jobs.ask(FilesWorker.forget_run, run, then=self.on_runs)

    def find_runs(self) -> None:
        """Look for interrupted runs: `resumable`."""
        self._jobs.ask(FilesWorker.find_runs, then=self.on_runs)

    def forget(self) -> None:
        """Close the finished run: back to the options."""
        if not self.active:
            self.finished = self.failure = None
            self.forget_scores()
            self.history = RunHistory()
            self._enter("idle")

    # ---- what the workers answer

    @Slot(str, object)
    def on_repository(self, root: str, changes: ChangesSince, reading: bool = False, nothing: bool = False) -> None:
        """The repository to adapt to; "" while there is none, it is being read, or it has nothing to learn."""
        self._changes = changes
        missing = READING if reading else NOTHING if nothing else NO_FOLDER
        if (root, missing) != (self._repository, self._missing):
            self._repository, self._missing = root, missing
            self._options_changed()

    @Slot(object)
    def on_bases(self, bases: tuple[BaseChoice, ...]) -> None:
        self.bases = bases
        if self.base and all(each.id != self.base for each in bases):
            self.base = self._settings.base = ""
        self._options_changed()

    def on_planned(self, plans: tuple[PlanView, dict[str, PlanView]] | None, request: RunRequest) -> None:
        """None: a run is in progress, and the plan is asked for again when it is over.

        A plan for options that have changed since is dropped: the newer one is on its way.
        """
        if plans is not None and request == self._plan_request():
            (self.plan, self.mode_plans), self.planning = plans, False
            self.planned.emit()

    def on_preparing(self, done: int, total: int, what: str) -> None:
        self.preparing = (done, total, what)
        self.progressed.emit()

    @Slot(str, object)
    def on_began(self, run: str, plan: PlanView) -> None:
        """The first step is next: the run has a name, and a plan that is no longer an estimate."""
        self.run, self.run_plan = run, plan
        if self.phase == "preparing":
            self._enter("running")

    @Slot(object)
    def on_events(self, events: tuple) -> None:
        """The trainer's events since the last time."""
        for event in events:
            self.history.add(event)
            if getattr(event, "event", "") == "note":
                self.noted.emit(event.text)
        self.progressed.emit()

    def on_cancelled(self) -> None:
        """While it was being prepared."""
        self.on_finished(None)

    @Slot(object)
    def on_finished(self, finished: FinishedView | None) -> None:
        """The run is over, and its result is in use at once; None: it was cancelled or suspended."""
        self.finished = finished
        self.find_runs()
        self._enter("finished" if finished is not None else "idle")
        if finished is not None:
            self.use()
            self.finished_run.emit()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.failure = failure
        self.find_runs()
        self._enter("failed")
        self.failed.emit(failure)

    def on_runs(self, runs: tuple[ResumableRun, ...]) -> None:
        self.resumable = tuple(each for each in runs if not (self.active and each.id == self.run))
        self.changed.emit()

    @Slot()
    def on_plan_due(self) -> None:
        request = self._plan_request()
        self._jobs.ask(TrainingWorker.plan, request, then=lambda plans: self.on_planned(plans, request))

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "duty_cycle":
            self.set_option("duty_cycle", self._settings.duty_cycle)
            self._jobs.ask(TrainingWorker.set_duty_cycle, self._settings.duty_cycle)
        elif name in ("memory_ceiling", "device"):
            self._options_changed()

    # ---- inside

    def _plan_request(self) -> RunRequest:
        """A run with the present options."""
        return RunRequest(self._repository, asdict(self.options), self.base)

    def _start(self, request: RunRequest) -> None:
        if not self.start_problem:
            self._begin(request)

    def _begin(self, request: RunRequest) -> None:
        self.automatic, self.request, self.history = False, request, RunHistory()
        self.finished = self.failure = self.run_plan = None
        self.forget_scores()
        self.run, self.preparing = request.resume, (0, 0, "")
        self._enter("preparing")
        self._start_job = self._jobs.ask(
            *(TrainingWorker.start, request),
            failed=self.on_failed,
            cancelled=self.on_cancelled,
            progressed=self.on_preparing,
        )

    def _options_changed(self) -> None:
        self.planning = True
        self._plan_timer.start()
        self.changed.emit()

    def _enter(self, phase: str) -> None:
        self.phase = phase
        if self.planning and not self.active:
            self._plan_timer.start()  # plans are not answered during a run
        self.changed.emit()
