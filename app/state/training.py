"""Training as the Adapt page sees it: options with a plan, the run with its history, and what came of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.state.own_options import CUSTOM, keep_options, remembered_options, remembered_preset
from app.state.run_history import RunHistory
from app.state.settings import Settings
from app.values.events import Failure
from app.values.repository import ChangesSince
from app.values.training import BaseChoice, FinishedView, PlanView, ResumableRun, RunRequest, ScoreView

if TYPE_CHECKING:
    from engine.train.options import TrainingOptions

PLAN_DELAY = 150  # milliseconds of quiet before a changed option asks for a new plan
NO_FOLDER, READING = "Choose a folder first.", "The folder is being read."
NOTHING = "There is nothing to learn in this folder."
ACTIVE = ("preparing", "running", "paused", "stopping")


class TrainingController(QObject):
    """One run at a time."""

    changed = Signal()  # phase, options, base, resumable
    planned = Signal()  # plan, mode_plans
    progressed = Signal()  # history has grown: at most ten times a second
    noted = Signal(str)
    finished_run = Signal()
    scored = Signal()  # before, after, scoring, score_problem
    failed = Signal(object)  # Failure

    start_wanted = Signal(object)  # RunRequest; from here on: to the workers
    plan_wanted = Signal(object)  # RunRequest
    pause_wanted = Signal()
    resume_wanted = Signal()
    stop_wanted = Signal()
    suspend_wanted = Signal()
    cancel_wanted = Signal()
    duty_cycle_changed = Signal(float)
    discard_wanted = Signal(str, str)  # checkpoint id, interrupted run's id
    use_wanted = Signal(str)  # checkpoint id
    back_wanted = Signal()  # to `model_before`
    compare_wanted = Signal(str, str)
    runs_wanted = Signal()
    cancel_score_wanted = Signal()
    began_by_itself = Signal()  # to the idle rules

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._options: TrainingOptions | None = None
        self._repository = ""
        self._missing = NO_FOLDER  # why there is no repository to learn
        self._changes = ChangesSince()
        self.phase = "idle"  # idle, preparing, running, paused, stopping, finished, failed
        self.preset = remembered_preset(settings)
        self.base = ""  # id or name of what training starts from; "": the built-in model, or a new one
        self.bases: tuple[BaseChoice, ...] = ()
        self.plan: PlanView | None = None
        self.mode_plans: dict[str, PlanView] = {}  # the same options in each mode, for the mode cards
        self.planning = False
        self.preparing = (0, 0, "")  # done, total, of what: while the phase is "preparing"
        self.automatic = False  # whether the run began by itself
        self.request: RunRequest | None = None  # of the run that is going on, or was last
        self.run = ""
        self.run_plan: PlanView | None = None  # of the run that is going on
        self.history = RunHistory()
        self.finished: FinishedView | None = None
        self.model_before = ""  # the model that was in use before the result of the run
        self.before: ScoreView | None = None
        self.after: ScoreView | None = None
        self.scoring = (0, 0, "")  # done, total, of what: while the scorecard is measured after a run
        self.score_problem = ""  # why it could not be
        self.failure: Failure | None = None
        self.resumable: tuple[ResumableRun, ...] = ()
        self._plan_timer = QTimer(self)
        self._plan_timer.setSingleShot(True)
        self._plan_timer.setInterval(PLAN_DELAY)
        self._plan_timer.timeout.connect(self.on_plan_due)
        settings.changed.connect(self.on_setting_changed)

    # ---- options

    @property
    def options(self) -> TrainingOptions:
        """All options; change them by `set_option`."""
        if self._options is None:
            self._options, self.preset = remembered_options(self._settings)
        return self._options

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
        """Change one option; "" or, in words, why that value cannot be."""
        from engine.errors import ConfigError

        try:
            changed = self.options.changed(**{name: value})
        except ConfigError as error:
            return " ".join(filter(None, (error.message, error.remedy)))
        if changed != self._options:
            self._options = changed
            if name == "mode":
                self._settings.training_mode = value
            elif name != "duty_cycle":
                self.preset = CUSTOM
                keep_options(self._settings, changed)
            self._options_changed()
        return ""

    def set_mode(self, mode: str) -> str:
        """Train what this mode selects; "" or why not."""
        return self.set_option("mode", mode)

    def choose_preset(self, name: str) -> None:
        """Take all options of a preset, but keep the mode."""
        from engine.train.options import preset

        self._options = preset(name).changed(mode=self.options.mode, duty_cycle=self._settings.duty_cycle)
        self.preset = name
        self._settings.preset = name
        self._settings.training_options = {}
        self._options_changed()

    def choose_base(self, base: str) -> None:
        """Start from this checkpoint; "" for the built-in model."""
        if base != self.base:
            self.base = base
            self._options_changed()

    # ---- running

    @property
    def active(self) -> bool:
        """Whether a run is going on."""
        return self.phase in ACTIVE

    @property
    def start_problem(self) -> str:
        """ "" where `start` would start, otherwise why it would not, in words."""
        if self.active:
            return "A run is going on."
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
    def adapt_by_itself(self) -> None:
        """As `adapt_to_changes`, until somebody comes back."""
        if self._changes.any and not self.start_problem:
            self.adapt_to_changes()
            self.automatic = True
            self.began_by_itself.emit()

    @Slot()
    def on_user_active(self) -> None:
        """What began by itself ends, and what it learned is kept: the machine is somebody's again."""
        if self.automatic:
            self.stop()

    def resume_run(self, run: str) -> None:
        """Go on with an interrupted run."""
        found = next((each for each in self.resumable if each.id == run), None)
        if found is not None and not self.active:
            self._begin(RunRequest(found.root, {}, found.base, resume=run))

    def pause(self) -> None:
        """Hold after the step that is running."""
        if self.phase == "running":
            self.pause_wanted.emit()
            self._enter("paused")

    def resume(self) -> None:
        """Go on after a pause."""
        if self.phase == "paused":
            self.resume_wanted.emit()
            self._enter("running")

    def stop(self) -> None:
        """End the run and keep the best so far; while it is being prepared, give it up."""
        if self.phase == "preparing":
            self.cancel_wanted.emit()
            self._enter("stopping")
        elif self.phase in ("running", "paused"):
            self.stop_wanted.emit()
            self._enter("stopping")

    @property
    def can_suspend(self) -> bool:
        """Whether there is a run whose progress can be saved and resumed later."""
        return self.phase in ("running", "paused")

    def suspend(self) -> None:
        """Save the run's progress and leave it: `resume_run` continues it, also after the program was restarted."""
        if self.can_suspend:
            self.suspend_wanted.emit()
            self._enter("stopping")

    # ---- afterwards

    def cancel_scoring(self) -> None:
        """End the scorecard; what it has measured stays."""
        if self.scoring[1]:
            self.cancel_score_wanted.emit()

    def use(self) -> None:
        """Complete with what the run made."""
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
        """Move what the run made to the trash."""
        if self.phase in ("finished", "failed"):
            self.cancel_scoring()
            if self.finished is not None and self.finished.checkpoint:
                self.go_back()
                self.discard_wanted.emit(self.finished.checkpoint, "")
            self.forget()

    def discard_run(self, run: str) -> None:
        """Delete what was kept of an interrupted run."""
        self.discard_wanted.emit("", run)

    def forget(self) -> None:
        """Put the finished run away: back to the options."""
        if not self.active:
            self.finished = self.before = self.after = self.failure = None
            self.history = RunHistory()
            self._enter("idle")

    # ---- what the workers answer

    @Slot(str, object)
    def on_repository(self, root: str, changes: ChangesSince, reading: bool = False, nothing: bool = False) -> None:
        """The repository that a run would learn; "" while there is none, it is `reading` or has `nothing` to learn."""
        self._changes = changes
        missing = READING if reading else NOTHING if nothing else NO_FOLDER
        if (root, missing) != (self._repository, self._missing):
            self._repository, self._missing = root, missing
            self._options_changed()

    @Slot(object)
    def on_bases(self, bases: tuple[BaseChoice, ...]) -> None:
        self.bases = bases
        if self.base and all(each.id != self.base for each in bases):
            self.base = ""
        self._options_changed()

    @Slot(object, object, object)
    def on_planned(self, plan: PlanView, by_mode: dict[str, PlanView], request: RunRequest) -> None:
        """A plan; one for options that have been changed since is dropped, the newer one is on its way."""
        if request != self._plan_request():
            return
        self.plan, self.mode_plans, self.planning = plan, by_mode, False
        self.planned.emit()

    @Slot(int, int, str)
    def on_preparing(self, done: int, total: int, what: str) -> None:
        self.preparing = (done, total, what)
        self.progressed.emit()

    @Slot(str, object)
    def on_began(self, run: str, plan: PlanView) -> None:
        """The first step is near: the run has a name and a plan that is no longer an estimate."""
        self.run, self.run_plan = run, plan
        if self.phase == "preparing":
            self._enter("running")

    @Slot(object)
    def on_events(self, events: tuple) -> None:
        """What the trainer has told since the last time."""
        for event in events:
            self.history.add(event)
            if getattr(event, "event", "") == "note":
                self.noted.emit(event.text)
        self.progressed.emit()

    @Slot(object)
    def on_finished(self, finished: FinishedView | None) -> None:
        """The run is over and what it made is in use at once; None: it was cancelled or suspended."""
        self.finished = finished
        self.runs_wanted.emit()
        self._enter("finished" if finished is not None else "idle")
        if finished is not None:
            self.use()
            self.finished_run.emit()

    @Slot(object, object)
    def on_scores(self, before: ScoreView | None, after: ScoreView | None) -> None:
        self.before, self.after = before, after
        self.scored.emit()

    @Slot(int, int, str)
    def on_scoring(self, done: int, total: int, what: str) -> None:
        self.scoring = (done, total, what)
        self.scored.emit()

    @Slot()
    def on_score_cancelled(self) -> None:
        """By the user, or by a new run, which has forgotten this one already."""
        self.scoring = (0, 0, "")
        if self.phase == "finished":
            self.score_problem = "it was cancelled."
        self.scored.emit()

    @Slot(object)
    def on_score_failed(self, failure: Failure) -> None:
        """The run is kept; only the question whether it helped has no full answer."""
        self.scoring = (0, 0, "")
        self.score_problem = failure.cause
        self.scored.emit()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.failure = failure
        self.runs_wanted.emit()
        self._enter("failed")
        self.failed.emit(failure)

    @Slot(object)
    def on_runs(self, runs: tuple[ResumableRun, ...]) -> None:
        self.resumable = tuple(each for each in runs if not (self.active and each.id == self.run))
        self.changed.emit()

    @Slot()
    def on_plan_due(self) -> None:
        self.plan_wanted.emit(self._plan_request())

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "duty_cycle":
            self.set_option("duty_cycle", self._settings.duty_cycle)
            self.duty_cycle_changed.emit(self._settings.duty_cycle)
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
        self.finished = self.failure = self.before = self.after = self.run_plan = None
        self.scoring, self.score_problem = (0, 0, ""), ""
        self.run, self.preparing = request.resume, (0, 0, "")
        self._enter("preparing")
        self.start_wanted.emit(request)

    def _options_changed(self) -> None:
        self.planning = True
        self._plan_timer.start()
        self.changed.emit()

    def _enter(self, phase: str) -> None:
        self.phase = phase
        if self.planning and not self.active:
            self._plan_timer.start()  # nobody answered during the run
        self.changed.emit()
