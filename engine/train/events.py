"""What a trainer tells: frozen values that may cross threads, each with a JSON form of one line."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Event:
    """Anything that a trainer tells."""

    event: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """A dict for one line of JSON: `event` first, numbers that are not finite as null."""
        return {"event": self.event, **{key: _plain(value) for key, value in asdict(self).items()}}


@dataclass(frozen=True)
class PlanEvent(Event):
    """Before the first step: how much there is to do, and what it holds in memory by kind; `run` is to resume by."""

    event = "plan"
    mode: str
    steps: int
    tokens_per_step: int
    micro_batches: int
    trained_parameters: int
    memory: dict[str, int]
    device: str
    run: str = ""


@dataclass(frozen=True)
class StepEvent(Event):
    """A step was done.  `applied` is False where it was skipped because a number was not finite."""

    event = "step"
    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    seconds_left: float
    memory: dict[str, int]
    applied: bool


@dataclass(frozen=True)
class EvaluationEvent(Event):
    """Held-out code was measured; step 0 is before training."""

    event = "evaluation"
    step: int
    held_out_loss: float
    best: bool


@dataclass(frozen=True)
class CheckpointEvent(Event):
    """A checkpoint was saved."""

    event = "checkpoint"
    step: int
    checkpoint: str
    name: str
    held_out_loss: float


@dataclass(frozen=True)
class NoteEvent(Event):
    """Something that a person should know, in words."""

    event = "note"
    step: int
    text: str


@dataclass(frozen=True)
class FinishedEvent(Event):
    """The run is over.  `rolled_back`: the model has its starting weights."""

    event = "finished"
    step: int
    reason: str
    held_out_before: float
    held_out_after: float
    best_step: int
    rolled_back: bool
    seconds: float


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value
