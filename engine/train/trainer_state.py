"""Where a run is, so that another trainer can resume it exactly: arrays, and one frozen value with all numbers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from engine.train.evaluation import Measured


@dataclass(frozen=True)
class RunNumbers:
    """The running numbers of a trainer; a step or an evaluation replaces some of them.

    Losses are infinite until they are measured; those of changed files stay so in a run over everything.
    """

    step: int = 0
    rate_factor: float = 1.0  # halved by every step that was skipped
    failures: int = 0  # skipped steps in a row
    evaluated_at: int = -1  # the step of the last evaluation
    evaluated_share: float = 0.0  # of the run, at the last evaluation
    held_out_before: float = math.inf
    held_out_best: float = math.inf
    changed_before: float = math.inf
    changed_best: float = math.inf
    best_step: int = 0
    best_measured: tuple[Measured, ...] = ()  # by source
    not_better: int = 0  # evaluations in a row
    elapsed: float = 0.0  # seconds of work
    evaluation_seconds: float = 0.0  # of one, on average
    micro_batch: int = 0  # how the batch is split; the same parts give the same bits
    recompute: int = 0
    health: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Numbers that are not finite as null."""
        numbers = {key: _plain(value) for key, value in asdict(self).items()}
        return numbers | {"best_measured": [[each.sums, each.counts] for each in self.best_measured]}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> RunNumbers:
        """Raises ValueError where it is not what `to_json` gave."""
        odd = sorted({each.name for each in fields(cls)} ^ set(content))
        if odd:
            raise ValueError(f"{', '.join(odd[:3])} missing or unknown")
        numbers = {key: math.inf if value is None else value for key, value in content.items()}
        measured = tuple(Measured(tuple(sums), tuple(counts)) for sums, counts in content["best_measured"])
        return cls(**numbers | {"best_measured": measured})


@dataclass(frozen=True)
class TrainerState:
    """Arrays by name (weights now and at their best, moments), and the numbers."""

    arrays: dict[str, np.ndarray]
    numbers: RunNumbers


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
