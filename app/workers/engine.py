"""The engine's worker: lives in its own thread, owns the device and does everything on it.

Why a thread: loading the engine takes a second, a check several, and the window may not wait for either.  Slots are
called through queued signals, one after the other.  Only `arm` and `cancel` are called from the GUI thread; they set a
flag that a running check reads between two kernels.
"""

from __future__ import annotations

import threading
import time
import traceback

from PySide6.QtCore import QObject, Signal, Slot

from app.events import CheckEnded, EngineFound, Failure, KernelChecked, KernelLine


class _Cancelled(Exception):
    """Raised out of the engine's report to end a check early."""


class EngineWorker(QObject):
    """Answers with frozen values only."""

    engine_found = Signal(object)  # EngineFound
    kernel_checked = Signal(object)  # KernelChecked
    check_ended = Signal(object)  # CheckEnded
    engine_failed = Signal(object)  # Failure

    def __init__(self) -> None:
        super().__init__()
        self._cancel = threading.Event()

    def arm(self) -> None:
        """Forget an earlier cancel; called before a check is asked for."""
        self._cancel.clear()

    def cancel(self) -> None:
        """End the running check after the kernel it is at."""
        self._cancel.set()

    @Slot()
    def find_devices(self) -> None:
        """Load the engine and list what is there."""
        try:
            from engine.devices import choose_device, list_devices
            from engine.graph.kernels import KERNELS

            kernels = tuple(KernelLine(kernel.name, kernel.meaning) for kernel in KERNELS.values())
            self.engine_found.emit(EngineFound(tuple(list_devices()), choose_device("auto"), kernels))
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
            if self._cancel.is_set():
                raise _Cancelled

        cancelled = False
        try:
            from engine import selftest

            if self._cancel.is_set():
                raise _Cancelled
            selftest.run(device, report)
        except _Cancelled:
            cancelled = True
        except Exception as error:
            self.engine_failed.emit(failure_from(error, device))
            return
        self.check_ended.emit(CheckEnded(device, tuple(checks), time.monotonic() - started, cancelled))


def failure_from(error: Exception, device: str = "") -> Failure:
    """The engine's own errors keep their words; anything else is a defect and says so."""
    from engine.errors import CodecoilError

    details = "".join(traceback.format_exception(error))
    if isinstance(error, CodecoilError):
        return Failure(error.message, error.remedy, details, device)
    return Failure(
        f"Codecoil met an error it does not know: {type(error).__name__}: {error}",
        "This is a defect in Codecoil.  Copy the details into a report; until it is mended, try another device.",
        details,
        device,
    )
