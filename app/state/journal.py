"""What the program did, as lines of the log: devices, repositories by name, runs.  Counts only, nothing of the code."""

from __future__ import annotations

import logging
import platform
import sys

from PySide6.QtCore import QObject, Slot, qVersion

from app import VERSION
from app.state.application import Application

log = logging.getLogger(__name__)


class Journal(QObject):
    """Listens to the controllers; writes a line where a phase has changed."""

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self._engine, self._repository, self._training = (
            *(application.engine, application.repository),
            application.training,
        )
        self._phases = (self._repository.phase, self._training.phase)
        self._engine.devices_changed.connect(self.on_devices)
        self._repository.changed.connect(self.on_repository)
        self._training.changed.connect(self.on_training)

    def begin(self) -> None:
        python = f"Python {platform.python_version()}, Qt {qVersion()}"
        frozen = ", frozen" if getattr(sys, "frozen", False) else ""
        log.info("Codecoil %s, %s, %s %s%s", VERSION, python, platform.system(), platform.machine(), frozen)

    def end(self) -> None:
        log.info("The window was closed")

    @Slot()
    def on_devices(self) -> None:
        found = self._engine.found
        if found is not None:
            log.info("Devices: %s", ", ".join(f"{info.name} ({info.description})" for info in found.devices))

    @Slot()
    def on_repository(self) -> None:
        repository = self._repository
        if repository.phase == self._phases[0]:
            return
        self._phases = (repository.phase, self._phases[1])
        counts = ""
        if repository.phase == "ready" and repository.corpus is not None:
            totals = repository.corpus.totals
            counts = f": {totals.learned.files} files learned, {totals.held_out.files} held out"
        log.info("Repository %s %s%s", repository.name, repository.phase, counts)

    @Slot()
    def on_training(self) -> None:
        training = self._training
        if training.phase == self._phases[1]:
            return
        self._phases = (self._phases[0], training.phase)
        finished = training.finished
        how = f" ({finished.reason} at step {finished.step})" if training.phase == "finished" and finished else ""
        log.info("Run %s %s%s", training.run, training.phase, how)
