"""What the GUI thread may tell a worker in the middle of its work.

Everything else waits in the worker's queue; these are looked at from inside a long job.  They live in the GUI thread,
so that a signal of a controller sets them at once.
"""

from __future__ import annotations

import threading

from PySide6.QtCore import QObject, Slot


class Flag(QObject):
    """Asks for the end of a job: armed when the job is asked for, raised to cancel it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._raised = threading.Event()
        self._closed = False

    @Slot()
    def arm(self) -> None:
        """Forget an earlier cancel."""
        if not self._closed:
            self._raised.clear()

    @Slot()
    def cancel(self) -> None:
        """End the job at its next look."""
        self._raised.set()

    def close(self) -> None:
        """The program ends: no job begins any more."""
        self._closed = True
        self._raised.set()

    def is_raised(self) -> bool:
        """From any thread."""
        return self._raised.is_set()


class CancelledTickets(QObject):
    """The completion requests that nobody waits for any more."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._tickets: set[int] = set()

    @Slot(int)
    def cancel(self, ticket: int) -> None:
        with self._lock:
            self._tickets.add(ticket)

    def is_cancelled(self, ticket: int) -> bool:
        """From any thread."""
        with self._lock:
            return ticket in self._tickets

    def forget_until(self, ticket: int) -> None:
        """Requests up to this one are done; nobody asks for them again."""
        with self._lock:
            self._tickets = {each for each in self._tickets if each > ticket}
