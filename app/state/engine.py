"""The state of the engine as the window sees it: devices, the one in use and why, checks and benchmarks, memory."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.data.settings_file import AUTOMATIC
from app.state.settings import Settings
from app.values.benchmark import BenchmarkEnded, BenchmarkProgress
from app.values.engine import MemoryState, RaceEnded, RaceLine
from app.values.events import CheckEnded, EngineFound, Failure, KernelChecked
from app.workers.engine import EngineWorker
from app.workers.jobs import Job, Jobs
from app.workers.measuring import MeasuringWorker


class EngineController(QObject):
    """Devices, the one in use, the checks made so far, and what the engine is doing."""

    state_changed = Signal()  # phase or device in use: read the properties again
    devices_changed = Signal()
    figures_changed = Signal()  # activity, memory, tokens_per_second
    check_started = Signal()
    kernel_checked = Signal(object)  # KernelChecked
    check_ended = Signal(object)  # CheckEnded
    race_started = Signal()
    race_progressed = Signal(object)  # RaceLine
    race_ended = Signal(object)  # RaceEnded
    benchmark_progressed = Signal(object)  # BenchmarkProgress
    benchmark_ended = Signal(object)  # BenchmarkEnded
    failed = Signal(object)  # Failure

    def __init__(self, settings: Settings, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings, self._jobs = settings, jobs
        self._job: Job | None = None  # the check, race or benchmark under way
        self.phase = "starting"  # starting, ready, checking, cancelling, racing, benchmarking, failed
        self.found: EngineFound | None = None
        self.checking = ""  # the device that a check runs on
        self.checks: dict[str, CheckEnded] = {}  # the last check of each device
        self.failure: Failure | None = None  # why there is no engine, for panes that are made later
        self.benchmark: BenchmarkEnded | None = None  # the last one
        self.race_lines: tuple[RaceLine, ...] = ()  # of the last race, the fastest first
        self.activity = "Starting"  # "Idle", "Training step 120 of 400", "Completing", ...
        self.memory = MemoryState(ceiling=settings.memory_ceiling)
        self.tokens_per_second = 0.0
        settings.changed.connect(self.on_setting_changed)

    # ---- what the panes ask for

    @property
    def preferred(self) -> str:
        """What the user chose: AUTOMATIC or a device's name."""
        return self._settings.device

    def find_devices(self) -> None:
        """Load the engine and list the devices."""
        self._enter("starting")
        self._jobs.ask(EngineWorker.find_devices, then=self.on_engine_found, failed=self.on_engine_failed)

    def look_again(self) -> None:
        """List the devices again: a driver may have been installed, an adapter plugged in."""
        if not self.busy:
            self.find_devices()

    def warm_up(self) -> None:
        """Load the kernels before they are needed."""
        self._jobs.ask(EngineWorker.warm_up)

    def choose(self, name: str) -> None:
        """Use this device from now on; AUTOMATIC leaves it to the engine."""
        if self.found is None or (name != AUTOMATIC and self.found.device(name) is None):
            return
        self._settings.device = name

    def check(self, device: str | None = None) -> None:
        """Run every kernel of the device in use, or of the one named."""
        if self.busy or self.found is None:
            return
        self.checking = device or self.in_use.name
        self.checks.pop(self.checking, None)
        self._enter("checking")
        self.check_started.emit()
        self._job = self._jobs.ask(
            *(EngineWorker.check, self.checking),
            then=self.on_check_ended,
            failed=self.on_check_failed,
            cancelled=self.on_check_cancelled,
            reported=self.on_kernel_checked,
        )

    def race(self, software: bool = False) -> None:
        """Measure the same small training steps on every device; software adapters only if asked for."""
        if self.busy or self.found is None:
            return
        names = tuple(info.name for info in self.found.devices if software or info.kind != "software")
        self._enter("racing")
        self.race_started.emit()
        self._job = self._jobs.ask(
            *(EngineWorker.race, names),
            then=self.on_race_ended,
            failed=self.on_engine_failed,
            cancelled=self.on_race_cancelled,
            reported=self.on_race_line,
        )

    def measure(self) -> None:
        """Benchmark the device in use."""
        if self.busy or self.found is None:
            return
        self._enter("benchmarking")
        self._job = self._jobs.ask(
            *(MeasuringWorker.benchmark, self.in_use.name, self._settings.memory_ceiling),
            then=self.on_benchmark_ended,
            failed=self.on_engine_failed,
            cancelled=self.on_benchmark_cancelled,
            reported=self.on_benchmark_progress,
        )

    def cancel(self) -> None:
        """End the running check, race or benchmark after the present kernel or device."""
        if self.phase in ("checking", "racing", "benchmarking"):
            self._enter("cancelling")
            self._jobs.cancel(self._job)

    # ---- what the panes read

    @property
    def busy(self) -> bool:
        return self.phase in ("starting", "checking", "cancelling", "racing", "benchmarking")

    @property
    def in_use(self):
        """The user's choice if it is available, otherwise what `auto` takes; None before the engine is found."""
        if self.found is None:
            return None
        return self.found.device(self.preferred) or self.automatic

    @property
    def automatic(self):
        """What AUTOMATIC takes: the winner of the race, else the engine's choice; None before the engine is found."""
        if self.found is None:
            return None
        return self.found.device(self._winner()) or self.found.automatic.info

    @property
    def automatic_reason(self) -> str:
        """Why AUTOMATIC takes that one."""
        if self.found is None:
            return ""
        raced = self.found.device(self._winner()) is not None
        return f"the fastest of {len(self.race_lines)} devices measured" if raced else self.found.automatic.reason

    @property
    def reason(self) -> str:
        """Why the one in use, to follow the device's name and a comma."""
        if self.found is None:
            return ""
        why = self.automatic_reason
        if self.preferred == AUTOMATIC:
            return why
        if self.found.device(self.preferred) is None:
            return f"{why}; {self.preferred}, which you chose, is not available now"
        return "chosen by you"

    # ---- what the worker answers

    def on_engine_found(self, found: EngineFound) -> None:
        self.found, self.failure = found, None
        self.race_lines = self._remembered_race(found)
        self._enter("ready")
        self._set_activity("Idle")
        self._use_device()
        self.devices_changed.emit()

    def on_kernel_checked(self, event: KernelChecked) -> None:
        self.kernel_checked.emit(event)

    def on_check_ended(self, event: CheckEnded) -> None:
        self.checks[event.device] = event
        self.checking = ""
        self._enter("ready")
        self.check_ended.emit(event)

    def on_check_cancelled(self) -> None:
        """It was cancelled before it began."""
        self.on_check_ended(CheckEnded(self.checking, (), 0.0, True))

    def on_check_failed(self, failure: Failure) -> None:
        self.on_engine_failed(replace(failure, device=self.checking))

    def on_race_line(self, line: RaceLine) -> None:
        self.race_progressed.emit(line)

    def on_race_ended(self, event: RaceEnded) -> None:
        if not event.cancelled:
            self.race_lines = event.lines
            right = [line for line in event.lines if not line.problem]
            self._settings.race = {line.description: f"{line.tokens_per_second:.1f}" for line in right}
        self._enter("ready")
        self._use_device()
        self.race_ended.emit(event)

    def on_race_cancelled(self) -> None:
        """It was cancelled before it began."""
        self.on_race_ended(RaceEnded((), True))

    def on_benchmark_progress(self, event: BenchmarkProgress) -> None:
        self.benchmark_progressed.emit(event)

    def on_benchmark_ended(self, event: BenchmarkEnded) -> None:
        self.benchmark = event
        self._enter("ready")
        self.benchmark_ended.emit(event)

    def on_benchmark_cancelled(self) -> None:
        """It was cancelled before it began."""
        self._enter("ready")

    @Slot(object)
    def on_engine_failed(self, failure: Failure) -> None:
        self.checking = ""
        self.failure = failure if self.found is None else None
        self._enter("failed" if self.found is None else "ready")
        self.failed.emit(failure)

    @Slot(object)
    def on_memory(self, memory: MemoryState) -> None:
        self.memory = memory
        self.figures_changed.emit()

    @Slot(str, float)
    def on_activity(self, words: str, tokens_per_second: float) -> None:
        self.tokens_per_second = tokens_per_second
        self._set_activity(words)

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name in ("device", "memory_ceiling") and self.found is not None:
            self._use_device()
            self.state_changed.emit()

    def _use_device(self) -> None:
        self._jobs.ask(EngineWorker.use_device, self.in_use.name, self._settings.memory_ceiling)

    def _remembered_race(self, found: EngineFound) -> tuple[RaceLine, ...]:
        """The last race, of the devices that are still there; a value that is not a number is ignored."""
        lines = []
        for info in found.devices:
            speed = self._settings.race.get(info.description, "")
            if speed.replace(".", "", 1).isdecimal():
                lines.append(RaceLine(info.name, info.description, float(speed)))
        return tuple(sorted(lines, key=lambda line: -line.tokens_per_second))

    def _winner(self) -> str:
        return RaceEnded(self.race_lines).fastest if len(self.race_lines) > 1 else ""

    def _set_activity(self, words: str) -> None:
        self.activity = words
        self.figures_changed.emit()

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self.state_changed.emit()
