"""The state of the engine as the window sees it: devices, the one in use and why, checks, the race, memory."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.data.settings_file import AUTOMATIC
from app.state.settings import Settings
from app.values.engine import MemoryState, RaceEnded, RaceLine
from app.values.events import CheckEnded, EngineFound, Failure, KernelChecked


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
    failed = Signal(object)  # Failure

    devices_wanted = Signal()  # from here on: to the worker
    check_wanted = Signal(str)
    race_wanted = Signal(tuple)
    device_chosen = Signal(str, object)  # name, ceiling in bytes
    cancel_wanted = Signal()
    warm_up_wanted = Signal()

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.phase = "starting"  # starting, ready, checking, cancelling, racing, failed
        self.found: EngineFound | None = None
        self.checking = ""  # the device that a check runs on
        self.checks: dict[str, CheckEnded] = {}  # the last check of each device
        self.failure: Failure | None = None  # why there is no engine, for panes that are made later
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

    def look_again(self) -> None:
        """List the devices anew: a driver may have been installed, an adapter plugged in."""
        if not self.busy:
            self._enter("starting")
            self.devices_wanted.emit()

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
        self.check_wanted.emit(self.checking)

    def race(self, software: bool = False) -> None:
        """Measure the same small training steps on every device; adapters played by the processor only if asked."""
        if self.busy or self.found is None:
            return
        names = tuple(info.name for info in self.found.devices if software or info.kind != "software")
        self._enter("racing")
        self.race_started.emit()
        self.race_wanted.emit(names)

    def cancel(self) -> None:
        """End the running check or race after the kernel or the device it is at."""
        if self.phase in ("checking", "racing"):
            self.cancel_wanted.emit()
            self._enter("cancelling")

    # ---- what the panes read

    @property
    def busy(self) -> bool:
        return self.phase in ("starting", "checking", "cancelling", "racing")

    @property
    def in_use(self):
        """The user's choice if it is there, otherwise what `auto` takes; None before the engine is found."""
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
        return f"the fastest of {len(self.race_lines)} in a race" if raced else self.found.automatic.reason

    @property
    def reason(self) -> str:
        """Why the one in use, to follow the device's name and a comma."""
        if self.found is None:
            return ""
        why = self.automatic_reason
        if self.preferred == AUTOMATIC:
            return why
        if self.found.device(self.preferred) is None:
            return f"{why}; {self.preferred}, which you chose, is not there now"
        return "chosen by you"

    # ---- what the worker answers

    @Slot(object)
    def on_engine_found(self, found: EngineFound) -> None:
        self.found, self.failure = found, None
        self.race_lines = self._remembered_race(found)
        self._enter("ready")
        self._set_activity("Idle")
        self.device_chosen.emit(self.in_use.name, self._settings.memory_ceiling)
        self.devices_changed.emit()

    @Slot(object)
    def on_kernel_checked(self, event: KernelChecked) -> None:
        self.kernel_checked.emit(event)

    @Slot(object)
    def on_check_ended(self, event: CheckEnded) -> None:
        self.checks[event.device] = event
        self.checking = ""
        self._enter("ready")
        self.check_ended.emit(event)

    @Slot(object)
    def on_race_line(self, line: RaceLine) -> None:
        self.race_progressed.emit(line)

    @Slot(object)
    def on_race_ended(self, event: RaceEnded) -> None:
        if not event.cancelled:
            self.race_lines = event.lines
            right = [line for line in event.lines if not line.problem]
            self._settings.race = {line.description: f"{line.tokens_per_second:.1f}" for line in right}
        self._enter("ready")
        self.device_chosen.emit(self.in_use.name, self._settings.memory_ceiling)
        self.race_ended.emit(event)

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
            self.device_chosen.emit(self.in_use.name, self._settings.memory_ceiling)
            self.state_changed.emit()

    def _remembered_race(self, found: EngineFound) -> tuple[RaceLine, ...]:
        """The last race, of the devices that are still there; a value that is no number is as if it was not run."""
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
