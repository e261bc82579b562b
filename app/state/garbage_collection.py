"""Python's cycle collector, in the GUI thread only.

Normally it runs in whichever thread happens to allocate.  In a worker's it would destroy widgets that are garbage, and
Qt then deadlocks or aborts.  So it is switched off while the program runs, and a timer of the GUI
thread does its work.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

INTERVAL = 1000  # milliseconds


class Collecting(QObject):
    """Between `start` and `stop` only this object's thread collects."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_on = False
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL)
        self._timer.timeout.connect(self.on_due)

    def start(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        """Once the other threads are gone."""
        self._timer.stop()
        if self._was_on:
            gc.enable()

    def settle(self) -> None:
        """Exclude everything there is now (the engine, the pages) from later collections.

        Looking through all of it takes a tenth of a second, which would be noticeable in the window.
        """
        if self._timer.isActive():
            gc.freeze()

    @Slot()
    def on_due(self) -> None:
        """Collect the oldest generation whose threshold is passed, as Python itself would."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return
