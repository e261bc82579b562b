"""The download under way, for the window.  It begins with an `Agreement`, which only the user can give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QThread, Signal

from app.network import base_models
from app.values.events import Failure
from app.workers.downloading import DownloadWorker
from app.workers.files import FilesWorker
from app.workers.jobs import Job, Jobs

if TYPE_CHECKING:
    from app.network.agreement import Agreement


class DownloadController(QObject):
    """At most one download at a time, in a thread that lives as long as it."""

    changed = Signal()  # `agreement`, `done`, `total`, `words`
    fetched = Signal(str, str)  # id and name of the checkpoint
    failed = Signal(object)  # Failure
    cancelled = Signal()  # the download
    model_found = Signal(object)  # FoundModel on this computer
    search_ended = Signal(int)  # how many were found
    memory_estimated = Signal(str)  # the name of a base model: `memory` has it now

    def __init__(self, data_folder: Path, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_folder, self._jobs = data_folder, jobs
        self._job: Job | None = None
        self._thread: QThread | None = None
        self.agreement: Agreement | None = None  # of the download that runs
        self.done, self.total, self.words = 0, 0, ""
        self.memory: dict[str, tuple[dict[str, int], str]] = {}  # by name: bytes by mode, and for how large a batch
        self._estimating: set[str] = set()

    @property
    def active(self) -> bool:
        return self.agreement is not None

    def start(self, agreement: Agreement) -> None:
        """The user has agreed to exactly this."""
        if self.active:
            return
        self.agreement = agreement
        self.done, self.total, self.words = 0, agreement.nbytes, f"Connecting to {agreement.hosts[0]}"
        self._thread, worker = QThread(self), DownloadWorker(self._data_folder)
        self._thread.setObjectName("downloads")
        worker.moveToThread(self._thread)
        self._thread.finished.connect(worker.deleteLater)
        self._jobs.serve(worker)
        self._thread.start()
        self._job = self._jobs.ask(
            *(DownloadWorker.fetch, agreement),
            then=self.on_fetched,
            failed=self.on_failed,
            cancelled=self.on_cancelled,
            progressed=self.on_progress,
        )
        self.changed.emit()

    def find_models(self) -> None:
        """Look for models of other programs on this computer; only on request."""
        self._jobs.ask(
            FilesWorker.find_models,
            then=self.search_ended.emit,
            failed=self.failed.emit,
            reported=self.model_found.emit,
        )

    def estimate_memory(self) -> None:
        """Estimate what training each model of the list takes; one job a model, so that others are not kept waiting."""
        for model in base_models.available():
            if model.name not in self._estimating:
                self._estimating.add(model.name)
                self._jobs.ask(FilesWorker.base_memory, model.name, then=self.on_memory, failed=self.failed.emit)

    def on_memory(self, answer: tuple[str, dict[str, int], str]) -> None:
        name, *estimate = answer
        self.memory[name] = tuple(estimate)
        self.memory_estimated.emit(name)

    def cancel(self) -> None:
        """Stop at the next block, or when the connection has been silent for some seconds; what is there is kept."""
        if self._job is not None:
            self._jobs.cancel(self._job)

    def wait(self) -> None:
        """The program is ending, and the job was cancelled: wait until the connection is closed."""
        self._end()

    def on_progress(self, done: int, total: int, words: str) -> None:
        self.done, self.total, self.words = done, total, words
        self.changed.emit()

    def on_fetched(self, checkpoint: tuple[str, str]) -> None:
        self._end()
        self.fetched.emit(*checkpoint)

    def on_failed(self, failure: Failure) -> None:
        self._end()
        self.failed.emit(failure)

    def on_cancelled(self) -> None:
        self._end()
        self.cancelled.emit()

    def _end(self) -> None:
        if self._thread is None:
            return
        self._thread.quit()
        self._thread.wait()
        self._thread.deleteLater()
        self._thread = self._job = self.agreement = None
        self.changed.emit()
