"""The downloads' worker: fetches one base model that the user has agreed to.

Why a thread of its own: a download takes minutes, and neither the store nor the device should wait for it.  The thread
runs only while something is fetched.
"""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.workers.cancellation import Flag
from app.workers.failures import Cancelled, failure_from

BETWEEN = 0.1  # seconds between two reports


class DownloadWorker(QObject):
    """One download; says exactly one of `fetched`, `cancelled` and `failed` for it."""

    progressed = Signal(object, object, str)  # bytes, of bytes (more than a C int holds), what is being done
    fetched = Signal(str, str)  # id and name of the checkpoint
    cancelled = Signal()
    failed = Signal(object)  # Failure

    def __init__(self, data_folder: Path, flag: Flag) -> None:
        super().__init__()
        self._data_folder, self._flag = data_folder, flag
        self._told, self._words = 0.0, ""

    @Slot(object)
    def fetch(self, agreement) -> None:
        """Fetch what was agreed to."""
        from app.network.base_model_fetching import fetch

        try:
            manifest = fetch(agreement, self._data_folder, self._report)
            self.fetched.emit(manifest.id, manifest.name)
        except Cancelled:
            self.cancelled.emit()
        except Exception as error:
            self.failed.emit(failure_from(error))

    def _report(self, done: int, total: int, words: str) -> None:
        if self._flag.is_raised():
            raise Cancelled
        now = time.monotonic()
        if words != self._words or now - self._told >= BETWEEN or done >= total:
            self._told, self._words = now, words
            self.progressed.emit(done, total, words)
