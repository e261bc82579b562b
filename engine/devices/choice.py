"""Which devices there are, and which one `auto` selects.

A GPU comes before the CPU; a software adapter (a GPU emulated on the CPU) is used only when it is named, since the CPU
device is many times faster.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from engine.devices.interface import Device
from engine.devices.ledger import Ledger
from engine.errors import DeviceError

GPU_WORDS = {"discrete": "a discrete GPU", "integrated": "an integrated GPU", "unknown": "a GPU"}
GPU_KINDS = tuple(GPU_WORDS)  # in order of preference


@dataclass(frozen=True)
class DeviceInfo:
    """A device that can be opened; `name` is what `open_device` takes."""

    name: str
    description: str
    backend: str
    kind: str
    driver: str = ""
    limits: dict[str, int] = field(default_factory=dict)
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """The selected device, and why: words that follow a comma."""

    info: DeviceInfo
    reason: str


def list_devices() -> list[DeviceInfo]:
    """The CPU device, then every WebGPU adapter."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cpu = DeviceInfo("cpu", _processor_name(), "NumPy + Numba", "cpu", limits={"threads": threads})
    adapters = [
        DeviceInfo(f"webgpu:{index}", a.description, a.backend, a.kind, a.driver, a.limits, a.features)
        for index, a in enumerate(_adapters())
    ]
    return [cpu, *adapters]


def choose_device(name: str = "auto", devices: list[DeviceInfo] | None = None) -> Choice:
    """The device called `auto`, `cpu`, `webgpu:<number>`, or `webgpu`: the best adapter, software ones included."""
    devices = devices or list_devices()
    cpu, adapters = devices[0], devices[1:]
    ranked = sorted((a for a in adapters if a.kind in GPU_KINDS), key=lambda a: GPU_KINDS.index(a.kind))
    if name == "auto":
        if ranked:
            return Choice(ranked[0], GPU_WORDS[ranked[0].kind])
        if not adapters:
            return Choice(cpu, "because no WebGPU adapter was found")
        return Choice(
            cpu, f"because the only WebGPU adapter is a software one ({adapters[0].description}), which is slower"
        )
    if name == "webgpu" and adapters:
        return Choice((ranked or adapters)[0], "selected by name")
    for info in devices:
        if info.name == name:
            return Choice(info, "selected by name")
    names = ", ".join(["auto", *(info.name for info in devices)])
    if name.startswith("webgpu") and not adapters:
        raise DeviceError(
            "No WebGPU adapter was found.",
            "Install a graphics driver with Vulkan (Debian, Ubuntu: mesa-vulkan-drivers), or use the device 'cpu'.",
        )
    raise DeviceError(f"There is no device {name!r}.", f"Choose one of: {names}.")


def open_device(
    name: str = "auto",
    *,
    ceiling: int | None = None,
    portable: bool = False,
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> Device:
    """Open a device by name.

    `ceiling`: bytes that the engine may use on it (default 3 GiB). `portable`: only the limits that every WebGPU
    implementation guarantees. `progress`: how far the measurements of a graphics card are that is used for the first
    time, which take seconds; it may raise, and then nothing is open.
    """
    info = choose_device(name).info
    ledger = Ledger(ceiling) if ceiling is not None else Ledger()
    if info.kind == "cpu":
        from engine.devices.cpu.device import CpuDevice

        return CpuDevice(ledger)
    from engine.devices.webgpu.device import WebGpuDevice

    device = WebGpuDevice(_adapters()[int(info.name.split(":")[1])], ledger, portable)
    try:
        device.tune(tuning_folder(), progress)
    except BaseException:
        device.close()
        raise
    return device


def tuning_folder() -> Path:
    """Where measurements made on this machine are kept."""
    data = os.environ.get("CODECOIL_DATA")
    return (Path(data) if data else Path(platformdirs.user_cache_dir("codecoil", appauthor=False))) / "tuning"


def _adapters() -> tuple:
    try:
        from engine.devices.webgpu.adapters import list_adapters
    except (ImportError, OSError):  # wgpu has no library for this platform
        return ()
    return list_adapters()


def _processor_name() -> str:
    """The processor's name, where the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        return platform.processor() or platform.machine()
    return platform.processor() or platform.machine()
