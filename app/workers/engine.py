"""The engine's worker: devices, checks, the race, and what the engine is doing.

Why a thread: loading the engine takes a second, a check several, training hours, and the window must not wait for any
of them.  Training, completing and measuring are workers of their own that live in the same thread and share this one's
`OpenDevice`.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QTimer, Signal, Slot

from app.values.engine import RaceEnded, RaceLine
from app.values.events import CheckEnded, EngineFound, KernelChecked, KernelLine
from app.values.failures import Cancelled, failure_from
from app.workers.jobs import JobWorker
from app.workers.open_device import OpenDevice
from app.workers.race import race_one

WARM_UP_PAUSE = 60  # milliseconds between two kernels: loading one holds Python for a moment
MEMORY_EVERY = 500  # milliseconds


class EngineWorker(JobWorker):
    """Answers with frozen values only."""

    engine_failed = Signal(object)  # Failure of something that is not a job
    memory_changed = Signal(object)  # MemoryState
    activity_changed = Signal(str, float)  # activity, tokens per second
    warmed_up = Signal()

    def __init__(self, open_device: OpenDevice) -> None:
        super().__init__()
        self.open_device = open_device
        open_device.show_activity = self._on_activity
        self._memory = None
        self._cold: list[str] = []  # kernels that are not loaded yet
        self._memory_timer = QTimer(self)
        self._memory_timer.setInterval(MEMORY_EVERY)
        self._memory_timer.timeout.connect(self.on_memory_due)
        self._warm_timer = QTimer(self)
        self._warm_timer.setInterval(WARM_UP_PAUSE)
        self._warm_timer.timeout.connect(self.on_warm_up_due)

    def find_devices(self) -> EngineFound:
        """Load the engine and list the devices."""
        from engine.devices import choose_device, list_devices
        from engine.graph.kernels import KERNELS

        kernels = tuple(KernelLine(kernel.name, kernel.meaning) for kernel in KERNELS.values())
        found = EngineFound(tuple(list_devices()), choose_device("auto"), kernels)
        self._memory_timer.start()
        return found

    def check(self, device: str) -> CheckEnded:
        """Compare every kernel of `device` with its reference; reports a KernelChecked for each."""
        from engine import selftest

        started = time.monotonic()
        checks = []

        def report(check) -> None:
            checks.append(check)
            self.report(KernelChecked(device, check))
            self.job.look()

        cancelled = False
        try:
            selftest.run(device, report)
        except Cancelled:
            cancelled = True
        return CheckEnded(device, tuple(checks), time.monotonic() - started, cancelled)

    def race(self, names: tuple[str, ...]) -> RaceEnded:
        """The same small training steps on each device; reports a RaceLine for each."""
        lines: list[RaceLine] = []
        cancelled = False
        try:
            for name in names:
                self.job.look()
                self.open_device.show_activity(f"Racing {name}", 0.0)
                lines.append(race_one(name, self.job.look))
                self.report(lines[-1])
        except Cancelled:
            cancelled = True
        lines.sort(key=lambda line: (bool(line.problem), -line.tokens_per_second))
        self.open_device.show_activity("Idle", 0.0)
        return RaceEnded(tuple(lines), cancelled)

    def use_device(self, name: str, ceiling: int) -> None:
        """Use this one from now on."""
        self.open_device.choose(name, ceiling)
        self.on_memory_due()

    def warm_up(self) -> None:
        """Load the processor's kernels one by one while nothing else is done, so that the first use does not wait."""
        from engine.graph.kernels import KERNELS

        self._cold = list(KERNELS)
        self._warm_timer.start()

    @Slot()
    def on_warm_up_due(self) -> None:
        if not self._cold:
            self._warm_timer.stop()
            self.warmed_up.emit()
            return
        kernel = self._cold.pop()
        try:
            from engine.devices.samples import make_sample
            from engine.devices.single_kernel import run_sample

            device = self.open_device.device
            if device.name != "cpu":  # a graphics card's are compiled with the first program
                self._cold = []
                return
            run_sample(device, make_sample(kernel))
        except Exception as error:
            self._cold = []
            self.engine_failed.emit(failure_from(error))

    @Slot()
    def on_memory_due(self) -> None:
        memory = self.open_device.memory()
        if memory != self._memory:
            self._memory = memory
            self.memory_changed.emit(memory)

    @Slot()
    def close(self) -> None:
        """The last call: release everything."""
        self._memory_timer.stop()
        self._warm_timer.stop()
        self.open_device.close()

    def _on_activity(self, words: str, tokens_per_second: float) -> None:
        self.activity_changed.emit(words, tokens_per_second)
        self.on_memory_due()
