"""What a trainer reports: frozen values that may cross threads, each with a one-line JSON form."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from engine.model.step import LayerInsight


@dataclass(frozen=True)
class Event:
    event: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """A dict for one line of JSON: `event` first, numbers that are not finite as null."""
        return {"event": self.event, **{key: _plain(value) for key, value in asdict(self).items()}}


@dataclass(frozen=True)
class PlanEvent(Event):
    """Before the first step: how much there is to do, and the memory held by kind; a run is resumed by its `run`.

    `steps` is 0 where only the time (`minutes`) limits the run.  `base` is the name of the checkpoint that it starts
    from; `changed_files` counts the files that an incremental run learns, `skipped_files` those predicted well already.
    """

    event = "plan"
    mode: str
    steps: int
    tokens_per_step: int
    micro_batches: int
    trained_parameters: int
    memory: dict[str, int]
    device: str
    run: str = ""
    step: int = 0
    minutes: float = 0.0
    micro_batch: int = 0
    recompute: int = 0
    ceiling: int = 0
    base: str = ""
    base_id: str = ""
    changed_files: int = 0
    skipped_files: int = 0
    base_precision: str = "float32"  # in which the base is kept, as far as it is not trained


@dataclass(frozen=True)
class StepEvent(Event):
    """A step was taken.  `applied` is False if it was skipped because a number was not finite.

    `seconds_left` includes the evaluations to come; `progress` is the share of the run that is done.
    """

    event = "step"
    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    seconds_left: float
    memory: dict[str, int]
    applied: bool
    progress: float = 0.0


@dataclass(frozen=True)
class EvaluationEvent(Event):
    """Held-out code was measured; step 0 is before training.

    `changed_loss`: of the changed files, in an incremental run.  `partial`: only a part was measured, because the run
    was stopped; the loss is then that of the best weights plus the difference on that part.
    """

    event = "evaluation"
    step: int
    held_out_loss: float
    best: bool
    changed_loss: float | None = None
    partial: bool = False


@dataclass(frozen=True)
class LayerEvent(Event):
    """Statistics of every layer: gradient RMS, update relative to the weights, share of dead channels."""

    event = "layers"
    step: int
    layers: tuple[LayerInsight, ...]


@dataclass(frozen=True)
class CheckpointEvent(Event):
    """A checkpoint was saved.  `timeline`: a snapshot during the run, not its result."""

    event = "checkpoint"
    step: int
    checkpoint: str
    name: str
    held_out_loss: float
    timeline: bool = False


@dataclass(frozen=True)
class NoteEvent(Event):
    """Something that a person should know.  `cause` names it for programs ("over-fitting", "memory")."""

    event = "note"
    step: int
    text: str
    cause: str = ""


@dataclass(frozen=True)
class FinishedEvent(Event):
    """The run is over.  `rolled_back`: nothing improved, and the model has its starting weights.

    In an incremental run the held-out loss is that of the other files, and `changed_before` and `changed_after` are the
    losses of the changed files that were learned.
    """

    event = "finished"
    step: int
    reason: str
    held_out_before: float
    held_out_after: float
    best_step: int
    rolled_back: bool
    seconds: float
    changed_before: float | None = None
    changed_after: float | None = None
    changed_files: int = 0
    skipped_files: int = 0

    @property
    def improved(self) -> bool:
        """Whether the model ends with better weights than it began with."""
        return self.best_step > 0 and not self.rolled_back


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
