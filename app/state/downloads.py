"""What is being fetched, for the window.  A download begins with an `Agreement`, which only the user can give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QThread, Signal, Slot

from app.values.events import Failure
from app.workers.cancellation import Flag
from app.workers.downloading import DownloadWorker

if TYPE_CHECKING:
    from app.network.base_model_fetching import Agreement


class DownloadController(QObject):
    """At most one download at a time, in a thread that lives as long as it."""

    changed = Signal()  # `agreement`, `done`, `total`, `words`
    fetched = Signal(str, str)  # id and name of the checkpoint
    failed = Signal(object)  # Failure

    _fetch_wanted = Signal(object)

    def __init__(self, data_folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_folder = data_folder
        self._flag = Flag(self)
        self._thread: QThread | None = None
        self._worker: DownloadWorker | None = None
        self.agreement: Agreement | None = None  # of the download that runs
        self.done, self.total, self.words = 0, 0, ""

    @property
    def active(self) -> bool:
        return self.agreement is not None

    def start(self, agreement: Agreement) -> None:
        """The user has said yes to exactly this."""
        if self.active:
            return
        self.agreement = agreement
        self.done, self.total, self.words = 0, agreement.nbytes, f"Asking {agreement.hosts[0]}"
        self._flag.arm()
        self._thread, self._worker = QThread(self), DownloadWorker(self._data_folder, self._flag)
        self._thread.setObjectName("downloads")
        self._worker.moveToThread(self._thread)
        self._thread.finished.connect(self._worker.deleteLater)
        self._fetch_wanted.connect(self._worker.fetch)
        self._worker.progressed.connect(self.on_progress)
        self._worker.fetched.connect(self.on_fetched)
        self._worker.cancelled.connect(self.on_cancelled)
        self._worker.failed.connect(self.on_failed)
        self._thread.start()
        self._fetch_wanted.emit(agreement)
        self.changed.emit()

    def cancel(self) -> None:
        """Stop at the next block, or when the line has been silent for some seconds; what is there is kept."""
        self._flag.cancel()

    def stop(self) -> None:
        """The program ends: nothing more is fetched.  `wait` comes when all else is saved."""
        self._flag.close()

    def wait(self) -> None:
        """Until the line is let go."""
        self._end()

    @Slot(object, object, str)
    def on_progress(self, done: int, total: int, words: str) -> None:
        self.done, self.total, self.words = done, total, words
        self.changed.emit()

    @Slot(str, str)
    def on_fetched(self, id: str, name: str) -> None:
        self._end()
        self.fetched.emit(id, name)

    @Slot()
    def on_cancelled(self) -> None:
        self._end()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self._end()
        self.failed.emit(failure)

    def _end(self) -> None:
        if self._thread is None:
            return
        self._fetch_wanted.disconnect(self._worker.fetch)
        self._thread.quit()
        self._thread.wait()
        self._thread.deleteLater()
        self._thread = self._worker = self.agreement = None
        self.changed.emit()
