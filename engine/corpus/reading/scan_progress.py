"""Who looks on while a repository is scanned: told how far it is, and able to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import TypeVar

from engine.errors import CorpusError

Result = TypeVar("Result")
Progress = Callable[[int, int, str], None]
"""Called with how many are done, how many there are (0 if that is not known yet), and of what."""

POLL = 0.02  # seconds between two looks at `cancelled` while something long runs
REPORT_EVERY = 0.05  # seconds between two calls of `progress`


class ScanCancelledError(CorpusError):
    """The scan was stopped on request.  What it had read and tokenised is kept."""

    def __init__(self) -> None:
        super().__init__("The scan was stopped.", "Scan again to go on where it was.")


class Watch:
    """Progress and cancellation of one scan."""

    def __init__(self, progress: Progress | None, cancelled: Callable[[], bool] | None) -> None:
        self._progress = progress
        self.cancelled = cancelled or (lambda: False)
        self._last = ("", 0.0)

    def check(self) -> None:
        """Raise if the scan is to stop."""
        if self.cancelled():
            raise ScanCancelledError

    def step(self, done: int, total: int, what: str) -> None:
        """Say how far it is, but not too often, and stop if that is wanted."""
        self.check()
        if self._progress is None:
            return
        now = time.monotonic()
        stage, before = self._last
        if stage != what or done == total or now - before >= REPORT_EVERY:
            self._last = (what, now)
            self._progress(done, total, what)

    def wait(self, future: Future[Result]) -> Result:
        """The result of something that runs in another thread; gives up waiting when the scan is to stop."""
        while True:
            try:
                return future.result(timeout=POLL)
            except TimeoutError:
                if future.done():
                    return future.result()
                self.check()

    def run(self, long: Callable[[], Result]) -> Result:
        """Run something that cannot be interrupted, in a thread that is left behind when the scan is to stop."""
        worker = ThreadPoolExecutor(1, "corpus")
        try:
            return self.wait(worker.submit(long))
        finally:
            worker.shutdown(wait=False, cancel_futures=True)
