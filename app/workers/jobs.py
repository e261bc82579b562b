"""How a controller asks a worker for something: a job by name, with arguments, and exactly one answer.

    jobs.ask(EngineWorker.check, "cpu", then=self.on_check_ended)

    controller ──▶ Jobs.ask ──(queued)──▶ JobWorker: EngineWorker.check(worker, "cpu"), in the worker's thread
        ▲                                      │ report(…), progress(…)    any number of times
        └── then, failed or cancelled ◀────────┘ the answer                once

A job is a method of a worker class.  `Jobs` lives in the GUI thread and calls every callback there: a callback may be
any callable.  What happens without being asked for (a file was edited, the memory changed) is a signal of the worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.values.events import Failure
from app.values.failures import Cancelled, failure_from

Result = TypeVar("Result")
MIB = 2**20


class Progress(NamedTuple):
    """How far a job is; `total` is 0 where that is not known."""

    done: int
    total: int
    what: str


@dataclass(frozen=True, eq=False)
class Job:
    """One thing to do.  Any thread may look at it."""

    work: Callable[..., Any]  # a method of a JobWorker class
    arguments: tuple[Any, ...] = ()
    _begun: threading.Event = field(default_factory=threading.Event, repr=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def name(self) -> str:
        return self.work.__name__

    @property
    def worker(self) -> str:
        """The class that the job is a method of."""
        return self.work.__qualname__.split(".")[0]

    def begin(self) -> None:
        self._begun.set()

    def has_begun(self) -> bool:
        return self._begun.is_set()

    def cancel(self) -> None:
        """End it the next time it looks."""
        self._cancelled.set()

    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def look(self) -> None:
        """Raise if the job was cancelled."""
        if self._cancelled.is_set():
            raise Cancelled


@dataclass(frozen=True)
class Answer:
    """How a job ended: with a result, a failure, or because it was cancelled."""

    result: Any = None
    failure: Failure | None = None
    cancelled: bool = False


class JobWorker(QObject):
    """Does jobs one after the other, in the thread that it was moved to."""

    reported = Signal(object, object)  # Job, Progress or anything else that it has to say on the way
    answered = Signal(object, object)  # Job, Answer

    _posted = Signal(object)  # Job

    def __init__(self) -> None:
        super().__init__()
        self.job = Job(JobWorker.post)  # the present one, or the last
        self._posted.connect(self.on_posted, Qt.ConnectionType.QueuedConnection)

    def post(self, job: Job) -> None:
        """Put a job in the queue.  From any thread."""
        self._posted.emit(job)

    def report(self, value: object) -> None:
        """Send an intermediate result to the caller of the current job."""
        self.reported.emit(self.job, value)

    def progress(self, done: int, total: int, what: str) -> None:
        """Report the progress of the current job; leaves the job here if it was cancelled."""
        self.report(Progress(done, total, what))
        self.job.look()

    def bytes_done(self, what: str) -> Callable[[int, int], None]:
        """What reports bytes done in MiB, as often as that changes; ends the job if it was cancelled."""
        reported = -1
        self.progress(0, 0, what)

        def report(done: int, total: int) -> None:
            nonlocal reported
            if done // MIB != reported:
                reported = done // MIB
                self.progress(reported, -(-total // MIB), f"{what}, in MiB")
            self.job.look()

        return report

    @Slot(object)
    def on_posted(self, job: Job) -> None:
        self.job = job
        job.begin()
        try:
            job.look()
            answer = Answer(job.work(self, *job.arguments))
        except Cancelled:
            answer = Answer(cancelled=True)
        except Exception as error:
            answer = Answer(failure=replace(failure_from(error), job=job.name))
        self.answered.emit(job, answer)


@dataclass(frozen=True)
class _Asker:
    """The callbacks of a job's caller."""

    then: Callable[[Any], object] | None
    failed: Callable[[Failure], object] | None
    cancelled: Callable[[], object] | None
    progressed: Callable[[int, int, str], object] | None
    reported: Callable[[Any], object] | None


class Jobs(QObject):
    """Sends every job to its worker and every answer back to its caller.  Lives in the GUI thread."""

    asked = Signal(object)  # Job
    failed = Signal(object)  # Failure of a job that was asked for without `failed`

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workers: dict[str, JobWorker] = {}
        self._waiting: dict[Job, _Asker] = {}
        self._closed = False

    def serve(self, worker: JobWorker) -> None:
        """From now on jobs of its class go to this worker."""
        self._workers[type(worker).__name__] = worker
        worker.reported.connect(self.on_reported)
        worker.answered.connect(self.on_answered)

    def ask(
        self,
        work: Callable[..., Result],
        *arguments: Any,
        then: Callable[[Result], object] | None = None,
        failed: Callable[[Failure], object] | None = None,
        cancelled: Callable[[], object] | None = None,
        progressed: Callable[[int, int, str], object] | None = None,
        reported: Callable[[Any], object] | None = None,
    ) -> Job:
        """Have `work` done.  One of `then`, `failed` and `cancelled` is called, and after `close` none."""
        job = Job(work, arguments)
        if not self._closed:
            self._waiting[job] = _Asker(then, failed, cancelled, progressed, reported)
            self.send(job)
            self.asked.emit(job)
        return job

    def send(self, job: Job) -> None:
        self._workers[job.worker].post(job)

    def cancel(self, job: Job) -> None:
        """End a job at its next look; one that still waits for another is over at once."""
        job.cancel()
        if not job.has_begun():
            self.on_answered(job, Answer(cancelled=True))

    def cancel_all(self, worker: type[JobWorker]) -> None:
        """Cancel every job of a worker."""
        for job in [job for job in self._waiting if job.worker == worker.__name__]:
            self.cancel(job)

    def close(self) -> None:
        """The program is ending: cancel everything, answer nothing more."""
        self._closed = True
        waiting, self._waiting = self._waiting, {}
        for job in waiting:
            job.cancel()

    @Slot(object, object)
    def on_reported(self, job: Job, value: object) -> None:
        asker = self._waiting.get(job)
        if asker is None:
            return  # the caller is no longer interested
        if isinstance(value, Progress):
            if asker.progressed is not None:
                asker.progressed(*value)
        elif asker.reported is not None:
            asker.reported(value)

    @Slot(object, object)
    def on_answered(self, job: Job, answer: Answer) -> None:
        asker = self._waiting.pop(job, None)
        if asker is None:
            return
        if answer.cancelled:
            if asker.cancelled is not None:
                asker.cancelled()
        elif answer.failure is not None:
            (asker.failed or self.failed.emit)(answer.failure)
        elif asker.then is not None:
            asker.then(answer.result)
