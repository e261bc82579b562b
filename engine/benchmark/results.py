"""What a benchmark measured: frozen values, which may cross threads and become text or JSON."""

from __future__ import annotations

from dataclasses import dataclass

from engine.benchmark.machine import Machine
from engine.devices.interface import Peaks


@dataclass(frozen=True)
class KernelTime:
    """One kernel at one size.  `operations` and `nbytes` are what a call has to do at least.

    `count`: how often a run of `workload` has it, and `share`: its part of that run's time, as far as they are known.
    """

    kernel: str
    shape: str
    seconds: float
    operations: float
    nbytes: float
    workload: str = ""
    count: int = 0
    share: float | None = None

    @property
    def flops_per_second(self) -> float:
        return self.operations / self.seconds

    @property
    def bytes_per_second(self) -> float:
        return self.nbytes / self.seconds

    def of_limit(self, peaks: Peaks) -> float:
        """Which part of what the device can do at most: of its operations or of its bytes, whichever is more."""
        return max(self.flops_per_second / peaks.flops_per_second, self.bytes_per_second / peaks.bytes_per_second)


@dataclass(frozen=True)
class Speed:
    """Tokens per second of a model, on the device and on the CPU; None where it was not measured."""

    model: str
    task: str  # "training", "decoding"
    device: float | None = None
    cpu: float | None = None


@dataclass(frozen=True)
class Omission:
    """What was not measured, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Benchmark:
    """All that was measured so far; `finished` is False for one that was cancelled."""

    machine: Machine
    peaks: Peaks | None = None
    cpu_peaks: Peaks | None = None
    speeds: tuple[Speed, ...] = ()
    kernels: tuple[KernelTime, ...] = ()
    omitted: tuple[Omission, ...] = ()
    seconds: float = 0.0
    finished: bool = False
