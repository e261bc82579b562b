"""Progress and cancellation of a scan."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import TypeVar

from engine.errors import CorpusError

Result = TypeVar("Result")
Progress = Callable[[int, int, str], None]
"""Called with the number done, the total (0 while unknown), and the stage."""

POLL = 0.02  # seconds between two checks of `cancelled` during a long call
REPORT_EVERY = 0.05  # seconds between two calls of `progress`


class ScanCancelledError(CorpusError):
    """The scan was cancelled.  What it had read and tokenised is kept."""

    def __init__(self) -> None:
        super().__init__("The scan was cancelled.", "Scan again to continue where it stopped.")


class Watch:
    """Progress and cancellation of one scan."""

    def __init__(self, progress: Progress | None, cancelled: Callable[[], bool] | None) -> None:
        self._progress = progress
        self.cancelled = cancelled or (lambda: False)
        self._last = ("", 0.0)

    def check(self) -> None:
        """Raise if the scan was cancelled."""
        if self.cancelled():
            raise ScanCancelledError

    def step(self, done: int, total: int, what: str) -> None:
        """Report progress, rate-limited, and raise if the scan was cancelled."""
        self.check()
        if self._progress is None:
            return
        now = time.monotonic()
        stage, before = self._last
        if stage != what or done == total or now - before >= REPORT_EVERY:
            self._last = (what, now)
            self._progress(done, total, what)

    def wait(self, future: Future[Result]) -> Result:
        """The result of a call in another thread; stops waiting when the scan is cancelled."""
        while True:
            try:
                return future.result(timeout=POLL)
            except TimeoutError:
                if future.done():
                    return future.result()
                self.check()

    def run(self, long: Callable[[], Result]) -> Result:
        """Run an uninterruptible call in a thread, which is abandoned when the scan is cancelled."""
        worker = ThreadPoolExecutor(1, "corpus")
        try:
            return self.wait(worker.submit(long))
        finally:
            worker.shutdown(wait=False, cancel_futures=True)
