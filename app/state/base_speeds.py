"""What this machine would do with the base models of the list: remembered, or measured while the list is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.data.machine_speeds import device_key
from app.network import base_models
from app.state.engine import EngineController
from app.state.training import TrainingController
from app.values.engine import SpeedLine
from app.values.events import Failure
from app.workers.files import FilesWorker
from app.workers.jobs import Job, Jobs
from app.workers.measuring import MeasuringWorker

if TYPE_CHECKING:
    from engine.session.machine_speed import MachineSpeed


class BaseSpeedController(QObject):
    """Reads what is remembered for the device in use and measures the rest, one model after the other."""

    changed = Signal()  # `lines`, `measuring`, `progress`
    failed = Signal(object)  # Failure

    def __init__(
        self, jobs: Jobs, engine: EngineController, training: TrainingController, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs, self._engine, self._training = jobs, engine, training
        self._is_wanted = False  # somebody looks at the list
        self._job: Job | None = None
        self._is_due = False  # to measure when the present job has ended
        self._device = ""  # whose speeds these are
        self.lines: dict[str, SpeedLine] = {}  # by name of the model
        self.progress = (0, 0, "")
        engine.state_changed.connect(self.on_device_changed)

    # ---- what the list asks for

    @property
    def measuring(self) -> bool:
        return self._job is not None

    @property
    def can_measure(self) -> bool:
        """Not while a run has the device."""
        return self._engine.found is not None and not self._training.active and not self.measuring

    @property
    def missing(self) -> tuple[str, ...]:
        """Those that are not known yet, in the order of the list."""
        known = {name for name, line in self.lines.items() if line.speed is not None}
        return tuple(model.name for model in base_models.available() if model.name not in known)

    def open(self) -> None:
        """The list is shown: read what is remembered, then measure the rest."""
        self._is_wanted, self._device = True, ""
        self.on_device_changed()

    def close(self) -> None:
        """The list is closed: stop measuring; what was measured is remembered."""
        self._is_wanted = False
        self.cancel()

    def measure(self) -> None:
        """Measure what is missing, or everything again if nothing is."""
        if not self.can_measure:
            return
        if not self.missing:
            self.lines = {}
        names, device = self.missing, self._device
        for name in names:
            self.lines.pop(name, None)
        self._job = self._jobs.ask(
            *(MeasuringWorker.base_speeds, names, device),
            then=lambda _: self._end(),
            failed=self.on_failed,
            cancelled=self._end,
            progressed=self.on_progress,
            reported=lambda line: self.on_measured(device, line),
        )
        self.progress = (0, len(names), "Measuring on this machine")
        self.changed.emit()

    def cancel(self) -> None:
        if self._job is not None:
            self._jobs.cancel(self._job)

    # ---- answers

    @Slot()
    def on_device_changed(self) -> None:
        """Another device has other speeds."""
        if not self._is_wanted or self._engine.found is None:
            return
        device = device_key(self._engine.in_use)
        if device != self._device:
            self.cancel()
            self._device, self.lines = device, {}
            self._jobs.ask(
                *(FilesWorker.known_speeds, device),
                then=lambda known: self.on_known(device, known),
                failed=self.failed.emit,
            )
            self.changed.emit()

    def on_known(self, device: str, known: dict[str, MachineSpeed]) -> None:
        if device == self._device:
            self.lines = {name: SpeedLine(name, speed) for name, speed in known.items()} | self.lines
            self.changed.emit()
            self._is_due = bool(self.missing)
            self._measure_if_due()

    def on_measured(self, device: str, line: SpeedLine) -> None:
        if device == self._device:
            self.lines[line.name] = line
            self.changed.emit()

    def on_progress(self, done: int, total: int, words: str) -> None:
        self.progress = (done, total, words)
        self.changed.emit()

    def on_failed(self, failure: Failure) -> None:
        self._end()
        self.failed.emit(failure)

    def _end(self) -> None:
        self._job = None
        self.changed.emit()
        self._measure_if_due()

    def _measure_if_due(self) -> None:
        if self._is_due and self._is_wanted and not self.measuring:
            self._is_due = False
            self.measure()
