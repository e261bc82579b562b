"""What is kept of a trainer so that another one can go on exactly where it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Names in a saved run, and the trainer's attributes.
KEPT_NUMBERS = {
    "step": "step",
    "rate_factor": "_rate_factor",
    "failures": "_failures",
    "evaluated_at": "_evaluated_at",
    "evaluated_share": "_evaluated_share",
    "held_out_before": "_begin_loss",
    "held_out_best": "_best_loss",
    "changed_before": "_begin_changed",
    "changed_best": "_best_changed",
    "best_step": "_best_step",
    "not_better": "_not_better",
}
OTHER_NUMBERS = {"elapsed", "evaluation_seconds", "micro_batch", "recompute", "best_measured", "health"}


@dataclass(frozen=True)
class TrainerState:
    """Where a run is: arrays by name, and what JSON can hold."""

    arrays: dict[str, np.ndarray]
    numbers: dict[str, Any]
