"""A small engine for the window and the command line: a test says what every kernel answers and when."""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass, field

import PySide6.QtCore  # noqa: F401 - loaded here so that the thread watch sees every QThread
import pytest

HOLDERS = (
    "engine.devices.cpu.device",
    "engine.devices.single_kernel",
    "engine.generate.completer",
    "engine.scorecard",
    "engine.session",
)
KERNELS = ("fill", "rmsnorm", "matmul_nt", "adamw")

__all__ = ["fake_engine", "open_window"]


@dataclass
class FakeEngine:
    """Stands in for `engine.devices` and `engine.selftest`: answers at once, or kernel by kernel when `hold` is set."""

    devices: list = field(default_factory=list)
    automatic: str = "cpu"
    wrong: dict[str, float] = field(default_factory=dict)  # kernel: the error it shows
    error: Exception | None = None  # raised by a check
    listing_error: Exception | None = None
    hold: bool = False
    step: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    checked: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)

    def list_devices(self):
        self.threads.add(threading.current_thread().name)
        if self.listing_error:
            raise self.listing_error
        return list(self.devices)

    def choose_device(self, name="auto"):
        from engine.devices import Choice
        from engine.errors import DeviceError

        wanted = self.automatic if name == "auto" else name
        for info in self.devices:
            if info.name == wanted:
                return Choice(info, "the processor: no WebGPU adapter was found")
        raise DeviceError(f"There is no device {name!r}.", "Choose one of: auto, cpu.")

    def run(self, device, report=lambda check: None):
        from engine.selftest import KernelCheck

        self.checked.append(device)
        if self.error:
            raise self.error
        checks = []
        for name in KERNELS:
            if self.hold and not self.step.acquire(timeout=60):
                raise TimeoutError("no test let the check go on")
            error = self.wrong.get(name, 1e-6)
            checks.append(KernelCheck(name, error, 2e-5, error <= 2e-5, 1.5))
            report(checks[-1])
        return checks

    def let(self, kernels: int) -> None:
        """Let a held check do that many kernels."""
        for _ in range(kernels):
            self.step.release()


@pytest.fixture
def fake_engine(monkeypatch):
    """Two devices, four kernels, all of them right.

    Whatever takes the table of kernels by name is imported before: it would keep the short one for all later tests.
    """
    for module in HOLDERS:
        importlib.import_module(module)
    import engine.devices
    import engine.graph.kernels
    import engine.selftest
    from engine.devices import DeviceInfo

    fake = FakeEngine(
        [
            DeviceInfo("cpu", "A processor", "NumPy + Numba", "cpu", limits={"threads": 2}),
            DeviceInfo(
                "webgpu:0", "A <b>graphics</b> card", "Vulkan", "discrete", "driver 1", {"max-buffer-size": 2**30}
            ),
        ]
    )
    monkeypatch.setattr(engine.devices, "list_devices", fake.list_devices)
    monkeypatch.setattr(engine.devices, "choose_device", fake.choose_device)
    monkeypatch.setattr(engine.selftest, "run", fake.run)
    kernels = {name: kernel for name, kernel in engine.graph.kernels.KERNELS.items() if name in KERNELS}
    monkeypatch.setattr(engine.graph.kernels, "KERNELS", kernels)
    yield fake
    fake.let(len(KERNELS))


@pytest.fixture
def open_window(qapp, qtbot, data_folder, monkeypatch):
    """Opens the desktop as the program does; closes what was opened."""
    from app.data.data_folder import data_folder as usable_folder
    from app.desktop import open_desktop

    monkeypatch.setattr("app.window.preloading.load", lambda name: None)
    opened = []

    def open_one(wait=True, root=None):
        desktop = open_desktop(usable_folder(), root)
        opened.append(desktop)
        if wait:
            qtbot.waitUntil(lambda: not desktop.controller.busy)
            desktop.window.activateWindow()  # keys go to the active window
            qtbot.waitUntil(desktop.window.isActiveWindow)
        return desktop

    yield open_one
    for desktop in opened:
        desktop.close()
        desktop.theme.deleteLater()
        desktop.window.deleteLater()
    qapp.processEvents()
