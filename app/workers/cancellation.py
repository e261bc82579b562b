"""Cancelling what is not a job of `jobs`: reading a repository.

Workers check the flag in the middle of their work.  It lives in the GUI thread, so that a controller's signal sets it
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
