"""The state of the engine as the window sees it.

Lives in the GUI thread; the panes talk to it and never to a worker or to the engine.  It owns the engine's thread:
starts it, hands requests over by queued signals, keeps what comes back, and tells the panes.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QThread, Signal, Slot

from app.events import CheckEnded, EngineFound, Failure, KernelChecked
from app.workers.engine import EngineWorker

AUTOMATIC = "auto"
STACK = 16 * 2**20  # macOS gives a thread 512 KiB, too little for a compiler


class EngineController(QObject):
    """Devices, the one in use, and the checks made so far."""

    state_changed = Signal()  # phase or device in use: read the properties again
    devices_changed = Signal()
    check_started = Signal()
    kernel_checked = Signal(object)  # KernelChecked
    check_ended = Signal(object)  # CheckEnded
    failed = Signal(object)  # Failure

    _devices_wanted = Signal()
    _check_wanted = Signal(str)

    def __init__(self, preferred: str = AUTOMATIC, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.preferred = preferred  # what the user chose: AUTOMATIC or a device's name
        self.phase = "starting"  # starting, ready, checking, cancelling, failed
        self.found: EngineFound | None = None
        self.checking = ""  # the device that a check runs on
        self.checks: dict[str, CheckEnded] = {}  # the last check of each device
        self._thread = QThread(self)
        self._thread.setObjectName("engine")
        self._thread.setStackSize(STACK)
        self._worker = EngineWorker()
        self._worker.moveToThread(self._thread)
        self._thread.finished.connect(self._worker.deleteLater)
        self._devices_wanted.connect(self._worker.find_devices)
        self._check_wanted.connect(self._worker.check)
        self._worker.engine_found.connect(self.on_engine_found)
        self._worker.kernel_checked.connect(self.on_kernel_checked)
        self._worker.check_ended.connect(self.on_check_ended)
        self._worker.engine_failed.connect(self.on_engine_failed)

    # ---- what the panes ask for

    def start(self) -> None:
        """Start the engine's thread and look for devices."""
        self._thread.start()
        self._devices_wanted.emit()

    def stop(self) -> None:
        """Cancel what runs and wait for the thread.  The window is gone by then: nobody sees the wait."""
        self._worker.cancel()
        self._thread.quit()
        self._thread.wait()

    def look_again(self) -> None:
        """List the devices anew: a driver may have been installed, an adapter plugged in."""
        if not self.busy:
            self._enter("starting")
            self._devices_wanted.emit()

    def choose(self, name: str) -> None:
        """Use this device from now on; AUTOMATIC leaves it to the engine."""
        if self.found is None or (name != AUTOMATIC and self.found.device(name) is None):
            return
        self.preferred = name
        self.state_changed.emit()

    def check(self, device: str | None = None) -> None:
        """Run every kernel of the device in use, or of the one named."""
        if self.busy or self.found is None:
            return
        self.checking = device or self.in_use.name
        self.checks.pop(self.checking, None)
        self._worker.arm()
        self._enter("checking")
        self.check_started.emit()
        self._check_wanted.emit(self.checking)

    def cancel(self) -> None:
        """End the running check after the kernel it is at."""
        if self.phase == "checking":
            self._worker.cancel()
            self._enter("cancelling")

    # ---- what the panes read

    @property
    def busy(self) -> bool:
        return self.phase in ("starting", "checking", "cancelling")

    @property
    def in_use(self):
        """The user's choice if it is there, otherwise what `auto` takes; None before the engine is found."""
        if self.found is None:
            return None
        return self.found.device(self.preferred) or self.found.automatic.info

    @property
    def reason(self) -> str:
        """Why that one, to follow the device's name and a comma."""
        if self.found is None:
            return ""
        if self.preferred == AUTOMATIC:
            return self.found.automatic.reason
        if self.found.device(self.preferred) is None:
            return f"{self.found.automatic.reason}; {self.preferred}, which you chose, is not there now"
        return "chosen by you"

    # ---- what the worker answers

    @Slot(object)
    def on_engine_found(self, found: EngineFound) -> None:
        self.found = found
        self._enter("ready")
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
    def on_engine_failed(self, failure: Failure) -> None:
        self.checking = ""
        self._enter("failed" if self.found is None else "ready")
        self.failed.emit(failure)

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self.state_changed.emit()
