"""What is written during a run, in a thread of its own: training waits for a copy in memory, not for the disk.

Jobs run one at a time, in order. The training thread collects their results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from engine.errors import CodecoilError
from engine.train.events import Event, NoteEvent

Job = Callable[[], Event | None]


@dataclass(frozen=True)
class _Pending:
    step: int
    future: Future[Event | None]
    required: bool


class BackgroundWriter:
    """Runs jobs that write.  `close` waits for them."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._pending: deque[_Pending] = deque()
        self._reported: set[str] = set()

    @property
    def busy(self) -> bool:
        return any(not pending.future.done() for pending in self._pending)

    def submit(self, step: int, job: Job, required: bool = False) -> None:
        """Run `job` soon; `step` is where the run is.  The failure of a `required` job ends the run."""
        self._threads = self._threads or ThreadPoolExecutor(1, "saving")
        self._pending.append(_Pending(step, self._threads.submit(job), required))

    def collect(self) -> list[Event]:
        """The events of what is done.  A failure becomes a note, once for each message, or is raised (`required`)."""
        events: list[Event] = []
        while self._pending and self._pending[0].future.done():
            pending = self._pending.popleft()
            error = pending.future.exception()
            if error is None:
                event = pending.future.result()
                events += [] if event is None else [event]
            elif pending.required or not isinstance(error, CodecoilError):
                raise error
            elif str(error) not in self._reported:
                self._reported.add(str(error))
                events.append(NoteEvent(pending.step, str(error), "saving"))
        return events

    def wait(self, seconds: float | None = None) -> None:
        """Until everything is written, or for at most so long."""
        wait([pending.future for pending in self._pending], seconds)

    def close(self) -> None:
        """Finish writing, and end the thread."""
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None
