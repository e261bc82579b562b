"""Figures of the engine for the footer, the settings and the list of base models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.session.machine_speed import MachineSpeed


@dataclass(frozen=True)
class MemoryState:
    """Bytes that the engine holds on the device, by kind, and their limit."""

    by_kind: dict[str, int] = field(default_factory=dict)
    total: int = 0
    peak: int = 0
    ceiling: int = 0

    @property
    def share(self) -> float:
        """Of the limit, 0 to 1."""
        return self.total / self.ceiling if self.ceiling else 0.0


@dataclass(frozen=True)
class RaceLine:
    """One device in the race: the same small training steps on each.  `problem`: why it could not run."""

    device: str
    description: str
    tokens_per_second: float = 0.0
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class RaceEnded:
    """All devices that were raced, the fastest first; what failed comes last."""

    lines: tuple[RaceLine, ...]
    cancelled: bool = False

    @property
    def fastest(self) -> str:
        """The name of the winner; empty if nothing could run."""
        return next((line.device for line in self.lines if not line.problem), "")


@dataclass(frozen=True)
class SpeedLine:
    """What this machine would do with a base model; `problem`: why that could not be measured."""

    name: str
    speed: MachineSpeed | None = None
    problem: str = ""
