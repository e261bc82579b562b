"""The downloads' worker: downloads one base model that the user has agreed to.

Why a thread of its own: a download takes minutes, and neither the store nor the device should wait for it.  The thread
runs only during a download.
"""

from __future__ import annotations

import time
from pathlib import Path

from app.workers.jobs import JobWorker

BETWEEN = 0.1  # seconds between two reports


class DownloadWorker(JobWorker):
    """Lives for one download."""

    def __init__(self, data_folder: Path) -> None:
        super().__init__()
        self._data_folder = data_folder
        self._reported, self._words = 0.0, ""

    def fetch(self, agreement) -> tuple[str, str]:
        """Download what was agreed to; returns id and name of the checkpoint."""
        from app.network.base_model_fetching import fetch

        manifest = fetch(agreement, self._data_folder, self._bytes)
        return manifest.id, manifest.name

    def _bytes(self, done: int, total: int, words: str) -> None:
        self.job.look()
        now = time.monotonic()
        if words != self._words or now - self._reported >= BETWEEN or done >= total:
            self._reported, self._words = now, words
            self.progress(done, total, words)
