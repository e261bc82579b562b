"""The editor's process: when it is gone, however it ended, there is nobody left to answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

LOOK_EVERY = 2.0  # seconds


class ParentWatch:
    """Looks from time to time whether a process still runs."""

    def __init__(self, gone: Callable[[], None]) -> None:
        self._gone = gone
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, process: int) -> None:
        self._thread = threading.Thread(target=self._run, args=(process,), name="parent watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self, process: int) -> None:
        import psutil

        try:
            watched = psutil.Process(process)
        except psutil.AccessDenied:
            return  # of another user: whether it runs cannot be told
        except psutil.NoSuchProcess:
            self._gone()
            return
        while not self._stopped.wait(LOOK_EVERY):
            if not watched.is_running() or watched.status() == psutil.STATUS_ZOMBIE:  # the number may be another's now
                self._gone()
                return
