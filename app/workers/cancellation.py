"""Cancelling what is not a job of `jobs`: reading a repository, and completion requests.

Workers check these in the middle of their work.  They live in the GUI thread, so that a controller's signal sets them
at once.
"""

from __future__ import annotations

import threading

from PySide6.QtCore import QObject, Slot


class Flag(QObject):
    """Armed before the work begins, raised to cancel it."""

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
        """End the work at its next check."""
        self._raised.set()

    def close(self) -> None:
        """The program is ending: nothing starts any more."""
        self._closed = True
        self._raised.set()

    def is_raised(self) -> bool:
        """From any thread."""
        return self._raised.is_set()


class CancelledTickets(QObject):
    """Completion requests that were cancelled or superseded."""

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
        """Requests up to this one are done."""
        with self._lock:
            self._tickets = {each for each in self._tickets if each > ticket}
