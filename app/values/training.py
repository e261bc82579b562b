"""A run as the Adapt page shows it: its plan and its result.  `RunHistory` has what is in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from app.values.repository import ChangesSince


class SpeedBasis(Enum):
    """How the speed of a planned run is known."""

    UNKNOWN = ""
    MEASURED = "measured"  # a training step just now
    EARLIER_RUNS = "earlier runs"  # on this machine
    FEW_LAYERS = "few layers"  # a step of some of its layers just now, for all of them


@dataclass(frozen=True)
class PlanView:
    """What a run with the present options would do.  `problem`: why it cannot be run, or not be planned.

    `suits`: whether the model has anything that the mode trains; with other options it would not change.
    """

    mode: str
    steps: int = 0
    minutes: float = 0.0  # about; 0: unknown yet
    tokens_per_step: int = 0
    micro_batch: int = 0
    micro_batches: int = 1
    trained_parameters: int = 0
    memory: dict[str, int] = field(default_factory=dict)  # bytes by kind
    ceiling: int = 0
    device: str = ""
    problem: str = ""
    tokens_per_second: float = 0.0
    speed_basis: SpeedBasis = SpeedBasis.UNKNOWN
    suits: bool = True
    base_precision: str = "float32"  # in which the weights that are not trained are kept

    @property
    def memory_total(self) -> int:
        return sum(self.memory.values())


@dataclass(frozen=True)
class BaseChoice:
    """A model that training can start from: a checkpoint, the built-in one, or a new one (id "")."""

    id: str
    name: str
    words: str = ""  # "12.3 million weights, held-out loss 1.92"


@dataclass(frozen=True)
class ScoreView:
    """The scorecard of one model on code used for nothing else; None where not measured."""

    name: str
    loss: float
    bits_per_byte: float | None = None
    next_line_exact: float | None = None  # share, 0 to 1
    keystrokes_saved: float | None = None  # share, 0 to 1
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)  # by field: 95 %, in the value's unit
    undecided: frozenset[str] = frozenset()  # fields whose difference from the model before may be chance
    notes: tuple[str, ...] = ()  # for the user, in whole sentences
    shown: float | None = None  # share of the cursors at which a suggestion is confident enough to be shown
    taken: float | None = None  # share of what is shown that is exactly right
    with_memory: ScoreView | None = None  # the same model with the memory of the repository


@dataclass(frozen=True)
class RunScores:
    """The scorecards of a run's base and result, as far as they are measured."""

    before: ScoreView
    after: ScoreView


@dataclass(frozen=True)
class FinishedView:
    """A finished run.  `rolled_back`: nothing improved on the start, and the starting weights are back."""

    run: str
    reason: str
    step: int
    best_step: int
    held_out_before: float
    held_out_after: float
    rolled_back: bool
    seconds: float
    checkpoint: str = ""  # id of what was saved; empty if nothing was
    checkpoint_name: str = ""
    base: str = ""  # id of what it started from
    changed_before: float | None = None  # loss on the changed files, for an adaptation to changes
    changed_after: float | None = None


@dataclass(frozen=True)
class ResumableRun:
    """An interrupted run that can be resumed."""

    id: str
    root: str
    base: str
    mode: str
    step: int
    steps: int
    saved: float  # seconds since 1970
    problem: str = ""  # why it cannot be resumed


@dataclass(frozen=True)
class RunRequest:
    """What the training controller asks the engine's worker for."""

    root: str
    options: dict[str, object]
    base: str = ""
    resume: str = ""
    changes: ChangesSince | None = None
