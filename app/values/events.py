"""What crosses from the engine's thread to the window: frozen values, nothing that two threads could change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.devices import Choice, DeviceInfo
    from engine.selftest import KernelCheck


@dataclass(frozen=True)
class KernelLine:
    """One kernel of the engine: its name and what it computes."""

    name: str
    meaning: str


@dataclass(frozen=True)
class EngineFound:
    """The engine is loaded: the devices of this machine, the one `auto` takes, and the kernels that a check runs."""

    devices: tuple[DeviceInfo, ...]
    automatic: Choice
    kernels: tuple[KernelLine, ...]

    def device(self, name: str) -> DeviceInfo | None:
        """The device of that name, if there is one."""
        return next((info for info in self.devices if info.name == name), None)


@dataclass(frozen=True)
class KernelChecked:
    """One kernel of a running check is done."""

    device: str
    check: KernelCheck


@dataclass(frozen=True)
class CheckEnded:
    """A check is over: run to the end, or cancelled after what is in `checks`."""

    device: str
    checks: tuple[KernelCheck, ...]
    seconds: float
    cancelled: bool

    @property
    def wrong(self) -> tuple[KernelCheck, ...]:
        """The kernels that gave wrong numbers."""
        return tuple(check for check in self.checks if not check.passed)


@dataclass(frozen=True)
class Failure:
    """Something went wrong, as one card shows it: the cause, what to do, and the details for a report."""

    cause: str
    remedy: str
    details: str = ""
    device: str = ""  # the device it happened on, if any
    job: str = ""  # the name of the job that failed, if any
