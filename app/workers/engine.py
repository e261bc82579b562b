"""The engine's worker: lives in its own thread, owns the device and does everything on it.

Why a thread: loading the engine takes a second, a check several, training hours, and the window may wait for none of
them.  Slots are called through queued signals, one after the other; training, completing and measuring are workers of
their own files that live in the same thread and share this one's `OpenDevice`.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.values.engine import RaceEnded, RaceLine
from app.values.events import CheckEnded, EngineFound, KernelChecked, KernelLine
from app.workers.cancellation import Flag
from app.workers.failures import Cancelled, failure_from
from app.workers.open_device import OpenDevice
from app.workers.race import race_one

WARM_UP_PAUSE = 60  # milliseconds between two kernels: loading one holds Python for a moment
MEMORY_EVERY = 500  # milliseconds


class EngineWorker(QObject):
    """Answers with frozen values only."""

    engine_found = Signal(object)  # EngineFound
    kernel_checked = Signal(object)  # KernelChecked
    check_ended = Signal(object)  # CheckEnded
    raced = Signal(object)  # RaceLine
    race_ended = Signal(object)  # RaceEnded
    engine_failed = Signal(object)  # Failure
    memory_changed = Signal(object)  # MemoryState
    activity_changed = Signal(str, float)  # words, tokens a second
    warmed_up = Signal()

    def __init__(self, workbench: OpenDevice, flag: Flag) -> None:
        super().__init__()
        self.workbench = workbench
        workbench.tell = self._tell
        self._flag = flag
        self._memory = None
        self._cold: list[str] = []  # kernels that are not loaded yet
        self._memory_timer = QTimer(self)
        self._memory_timer.setInterval(MEMORY_EVERY)
        self._memory_timer.timeout.connect(self.on_memory_due)
        self._warm_timer = QTimer(self)
        self._warm_timer.setInterval(WARM_UP_PAUSE)
        self._warm_timer.timeout.connect(self.on_warm_up_due)

    @Slot()
    def find_devices(self) -> None:
        """Load the engine and list what is there."""
        try:
            from engine.devices import choose_device, list_devices
            from engine.graph.kernels import KERNELS

            kernels = tuple(KernelLine(kernel.name, kernel.meaning) for kernel in KERNELS.values())
            self.engine_found.emit(EngineFound(tuple(list_devices()), choose_device("auto"), kernels))
            self._memory_timer.start()
        except Exception as error:
            self.engine_failed.emit(failure_from(error))

    @Slot(str)
    def check(self, device: str) -> None:
        """Run every kernel of `device` against its reference."""
        started = time.monotonic()
        checks = []

        def report(check) -> None:
            checks.append(check)
            self.kernel_checked.emit(KernelChecked(device, check))
            self._look()

        cancelled = False
        try:
            from engine import selftest

            self._look()
            selftest.run(device, report)
        except Cancelled:
            cancelled = True
        except Exception as error:
            self.engine_failed.emit(failure_from(error, device))
            return
        self.check_ended.emit(CheckEnded(device, tuple(checks), time.monotonic() - started, cancelled))

    @Slot(tuple)
    def race(self, names: tuple[str, ...]) -> None:
        """The same small training steps on each device."""
        lines: list[RaceLine] = []
        cancelled = False
        try:
            for name in names:
                self._look()
                self.workbench.tell(f"Racing {name}", 0.0)
                lines.append(race_one(name, self._look))
                self.raced.emit(lines[-1])
        except Cancelled:
            cancelled = True
        lines.sort(key=lambda line: (bool(line.problem), -line.tokens_per_second))
        self.workbench.tell("Idle", 0.0)
        self.race_ended.emit(RaceEnded(tuple(lines), cancelled))

    @Slot(str, object)
    def use_device(self, name: str, ceiling: int) -> None:
        """Compute on this one from now on."""
        self.workbench.choose(name, ceiling)
        self.on_memory_due()

    @Slot()
    def warm_up(self) -> None:
        """Load the processor's kernels one by one while nothing else is to do, so that the first use does not wait."""
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

            device = self.workbench.device
            if device.name != "cpu":  # a graphics card's are compiled with the first program
                self._cold = []
                return
            run_sample(device, make_sample(kernel))
        except Exception as error:
            self._cold = []
            self.engine_failed.emit(failure_from(error))

    @Slot()
    def on_memory_due(self) -> None:
        """Tell the ledger where it has changed."""
        memory = self.workbench.memory()
        if memory != self._memory:
            self._memory = memory
            self.memory_changed.emit(memory)

    @Slot()
    def close(self) -> None:
        """The last call: give everything back."""
        self._memory_timer.stop()
        self._warm_timer.stop()
        self.workbench.close()

    def _tell(self, words: str, tokens_per_second: float) -> None:
        self.activity_changed.emit(words, tokens_per_second)
        self.on_memory_due()

    def _look(self) -> None:
        if self._flag.is_raised():
            raise Cancelled
