"""The training worker: a run, one step at a time, in the engine's thread.

A step is one slot that posts itself again.  Whatever was asked for meanwhile (a pause, a stop) is in the queue before
the next step and runs first; a completion is answered in the middle of a step (`engine.devices.interludes`).  The
trainer's events are gathered and sent ten times a second: the window could not draw more, and a small model takes
hundreds of steps a second.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot

from app.values.failures import failure_from
from app.values.repository import ChangesSince
from app.values.training import FinishedView, PlanView, RunRequest
from app.workers.completing import CompletionWorker
from app.workers.jobs import Job, JobWorker
from app.workers.open_device import OpenDevice
from app.workers.planning import plan_run, plan_view
from app.workers.replayed_history import replayed_history
from app.workers.speeds import Speed, Speeds

SEND_EVERY = 0.1  # seconds
SETTLED = 5  # steps after which a speed is worth remembering
TIMELINE = 8  # snapshots along a run


class TrainingWorker(JobWorker):
    """One run at a time."""

    began = Signal(str, object)  # run, PlanView
    events_arrived = Signal(object)  # tuple of the trainer's events
    finished = Signal(object)  # FinishedView; None if the run was cancelled before its first step, or suspended
    failed = Signal(object)  # Failure
    checkpoint_saved = Signal(str)  # id

    _again = Signal()

    def __init__(self, open_device: OpenDevice, completing: CompletionWorker) -> None:
        super().__init__()
        self._open_device, self._completing = open_device, completing
        self._speeds = Speeds(open_device.data_folder)
        self._session = None
        self._start: Job | None = None  # the job that the run was started by
        self._paused = False
        self._events: list = []
        self._sent = 0.0
        self._plan_event = None
        self._step_event = None
        self._again.connect(self.on_turn, Qt.ConnectionType.QueuedConnection)

    # ---- before

    @Slot(object)
    def keep_corpus(self, corpus) -> None:
        """The repository as last read: a run need not read it again."""
        self._open_device.corpus = corpus

    def plan(self, request: RunRequest) -> tuple[PlanView, dict[str, PlanView]] | None:
        """What a run with these options would do, in its own mode and, by name, in all; None during a run."""
        if self._session is not None:
            return None
        try:
            return plan_run(self._open_device, self._speeds, request)
        except Exception as error:
            return PlanView(str(request.options.get("mode", "")), problem=failure_from(error).cause), {}

    def start(self, request: RunRequest) -> None:
        """Read the repository, load the base, and begin."""
        if self._session is not None:
            return
        self._events, self._paused, self._start = [], False, self.job
        self._plan_event = self._step_event = self._open_device.run_corpus = None
        try:
            self._open_device.show_activity("Preparing a run", 0.0)
            self._open_device.release_models()
            self._session = self._prepared(request)
            self.job.look()
            for events in replayed_history(self._session.history):
                self.events_arrived.emit(events)  # the plots begin where the run did, not where it is resumed
            self._open_device.training_began(self._session)
        except Exception:
            self._end()
            self.job.look()  # an error after a cancel is irrelevant
            raise
        self._again.emit()

    def _prepared(self, request: RunRequest):
        from engine.devices.single_kernel import warm_up
        from engine.session import Session, SessionPlan, resume_session
        from engine.train.options import TrainingOptions

        device = self._open_device.opened(self.progress)
        warm_up(device, lambda kernel, done, total: self.progress(done, total, "Preparing kernels"))
        self.progress(0, 0, "Checking the device")
        self._open_device.require_right_numbers(self.job.look)
        self.job.look()
        data_folder = self._open_device.data_folder
        if request.resume:
            reopen = self._open_device.reopen
            return resume_session(request.resume, data_folder, lambda: device, self.progress, reopen)
        plan = SessionPlan(
            Path(request.root), data_folder, TrainingOptions(**request.options), request.base, timeline=TIMELINE
        )
        if request.changes is not None:
            plan = self._for_changes(plan, request.changes)
        corpus = self._open_device.corpus
        if corpus is not None and str(corpus.root) != request.root:
            corpus = None
        cancelled, reopen = self.job.is_cancelled, self._open_device.reopen
        return Session(plan, device, self.progress, corpus=corpus, cancelled=cancelled, reopen=reopen)

    def _for_changes(self, plan, changes: ChangesSince):
        """A short run that continues from the checkpoint, in its own mode."""
        options = plan.options.for_changes(self._open_device.store.get(changes.checkpoint).mode)
        return replace(plan, options=options, changed=changes.paths, changed_since=changes.checkpoint, timeline=0)

    # ---- during

    @Slot()
    def on_turn(self) -> None:
        """One step's worth of work."""
        session = self._session
        if session is None or self._paused:
            return
        if self._start.is_cancelled() and self._given_up():
            return
        try:
            with self._open_device.device.interludes.during(self._completing.serve):
                events = session.advance()
            if events:
                self._open_device.weights_moved()
            for event in events:
                self._take(event)
            if session.finished:
                self._finish()
                return
        except Exception as error:
            self._send()
            self._end()
            self.failed.emit(failure_from(error))
            return
        if time.monotonic() - self._sent >= SEND_EVERY:
            self._send()
        self._again.emit()

    def _given_up(self) -> bool:
        """Cancelled before the window heard that the run had begun: over, or stopped if there are steps to keep."""
        if self._step_event is not None:
            self._session.stop()
            return False
        self._end()
        self.finished.emit(None)
        return True

    def pause(self) -> None:
        if self._session is not None and not self._paused:
            self._paused = True
            self._session.pause()
            self._send()
            self._open_device.show_activity("Paused", 0.0)

    def resume(self) -> None:
        if self._session is not None and self._paused:
            self._paused = False
            self._session.resume()
            self._show_activity()
            self._again.emit()

    def suspend(self) -> None:
        """Save the run's progress and end it: it can be resumed later, also by another process."""
        session = self._session
        if session is None:
            return
        self._open_device.show_activity("Saving", 0.0)
        try:
            session.resume()
            while not session.trainer.between_steps:  # a batch that did not fit is still to be learned
                for event in session.advance():
                    self._take(event)
            session.save_progress()
        except Exception as error:
            self._send()
            self._end()
            self.failed.emit(failure_from(error))
            return
        self._send()
        self._end()
        self.finished.emit(None)

    def set_duty_cycle(self, share: float) -> None:
        """The share of the time that the run may compute, from the next step on."""
        if self._session is not None:
            self._session.set_duty_cycle(share)

    def stop(self) -> None:
        """End with the best so far, also from a pause."""
        if self._session is not None:
            self._session.stop()
            self._open_device.show_activity("Saving", 0.0)
            if self._paused:
                self._paused = False
                self._session.resume()
                self._again.emit()

    @Slot()
    def close(self) -> None:
        """The program is ending: stop and save what there is."""
        if self._session is None:
            return
        try:
            self._session.stop()
            self._session.resume()
            while not self._session.finished:
                self._session.advance()
        except Exception as error:
            self.failed.emit(failure_from(error))
        self._end()

    # ---- inside

    def _take(self, event) -> None:
        kind = event.event
        self._events.append(event)
        if kind == "plan":
            self._plan_event = event
            self.began.emit(event.run, plan_view(event))
        elif kind == "step":
            self._step_event = event
        elif kind == "checkpoint":
            self.checkpoint_saved.emit(event.checkpoint)

    def _send(self) -> None:
        """Send the events gathered so far, in a copy."""
        self._sent = time.monotonic()
        if self._events:
            self.events_arrived.emit(tuple(self._events))
            self._events = []
        if not self._paused:
            self._show_activity()

    def _show_activity(self) -> None:
        step, plan = self._step_event, self._plan_event
        if step is None or plan is None:
            self._open_device.show_activity("Measuring held-out loss", 0.0)  # before the first step
            return
        of = f" of {plan.steps:,}" if plan.steps else ""
        self._open_device.show_activity(f"Training step {step.step:,}{of}", step.tokens_per_second)

    def _finish(self) -> None:
        events = self._events
        self._send()
        finished = next(event for event in reversed(events) if event.event == "finished")
        saved = [event for event in events if event.event == "checkpoint" and not event.timeline]
        step = self._step_event
        if step is not None and step.step >= SETTLED:
            parameters = self._session.model.config.parameter_count
            device = self._open_device.device.description
            self._speeds.keep(Speed(device, self._plan_event.mode, parameters, step.tokens_per_second))
        view = FinishedView(
            self._session.run_id,
            finished.reason,
            finished.step,
            finished.best_step,
            finished.held_out_before,
            finished.held_out_after,
            finished.rolled_back,
            finished.seconds,
            saved[-1].checkpoint if saved else "",
            saved[-1].name if saved else "",
            self._session.base.id,
            finished.changed_before,
            finished.changed_after,
        )
        self._open_device.run_corpus = self._session.corpus
        self._end()
        self.finished.emit(view)

    def _end(self) -> None:
        """Release the run's memory."""
        session, self._session = self._session, None
        self._open_device.training_ended()
        if session is not None:
            session.close()
        self._open_device.show_activity("Idle", 0.0)
