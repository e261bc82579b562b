"""The options of a run, under the names users know, each with its range.

A value out of range is refused with the option's name, the value and what is allowed; nothing is quietly corrected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from engine.errors import ConfigError
from engine.model.selection import MODES

SCHEDULES = ("constant", "linear", "cosine")


@dataclass(frozen=True)
class Range:
    """What a number may be; `whole` for counts."""

    low: float
    high: float
    whole: bool = False

    def check(self, name: str, value: Any) -> None:
        kind = int if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kind) or not self.low <= value <= self.high:
            what = "a whole number" if self.whole else "a number"
            raise ConfigError(f"{name} is {value!r}; it must be {what} from {self.low:g} to {self.high:g}.")


RANGES = {
    "learning_rate": Range(1e-7, 1.0),
    "steps": Range(1, 10_000_000, whole=True),
    "minutes": Range(0.0, 100_000.0),
    "batch_size": Range(1, 4096, whole=True),
    "micro_batch": Range(0, 4096, whole=True),
    "sequence_length": Range(8, 65_536, whole=True),
    "weight_decay": Range(0.0, 10.0),
    "beta1": Range(0.0, 0.9999),
    "beta2": Range(0.0, 0.99999),
    "epsilon": Range(1e-12, 1e-2),
    "max_gradient_norm": Range(0.0, 1e6),
    "warm_up": Range(0, 1_000_000, whole=True),
    "seed": Range(0, 2**63 - 1, whole=True),
    "fim_share": Range(0.0, 1.0),
    "evaluations": Range(1, 10_000, whole=True),
    "patience": Range(0, 10_000, whole=True),
    "rank": Range(1, 4096, whole=True),
    "trust_region": Range(0.0, 1e3),
    "duty_cycle": Range(0.1, 1.0),
}


@dataclass(frozen=True)
class TrainingOptions:
    """A run.  0 means: chosen for you (`micro_batch`), off (`patience`, `trust_region`, `max_gradient_norm`) or no
    limit (`minutes`)."""

    mode: str = "lora"
    learning_rate: float = 3e-3
    steps: int = 300
    minutes: float = 0.0
    batch_size: int = 8
    micro_batch: int = 0
    sequence_length: int = 256
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    max_gradient_norm: float = 1.0
    warm_up: int = 20
    schedule: str = "cosine"
    seed: int = 0
    fim_share: float = 0.5
    evaluations: int = 10
    patience: int = 0
    rank: int = 8
    trust_region: float = 0.0
    duty_cycle: float = 1.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"mode is {self.mode!r}; it must be one of: {', '.join(MODES)}.")
        if self.schedule not in SCHEDULES:
            raise ConfigError(f"schedule is {self.schedule!r}; it must be one of: {', '.join(SCHEDULES)}.")
        for name, allowed in RANGES.items():
            allowed.check(name, getattr(self, name))
        if self.micro_batch and self.batch_size % self.micro_batch:
            raise ConfigError(f"micro_batch is {self.micro_batch}; it must divide batch_size ({self.batch_size}).")

    @property
    def evaluation_interval(self) -> int:
        """Steps between two evaluations."""
        return max(1, math.ceil(self.steps / self.evaluations))

    def changed(self, **values: Any) -> TrainingOptions:
        """The same options but for some, by name."""
        unknown = sorted(set(values) - {f.name for f in fields(self)})
        if unknown:
            raise ConfigError(f"There is no option {', '.join(unknown)}.")
        return replace(self, **values)


PRESETS = {
    "quick": TrainingOptions(steps=150, batch_size=4),
    "balanced": TrainingOptions(steps=800, batch_size=8),
    "thorough": TrainingOptions(steps=3000, batch_size=8, evaluations=20, patience=6),
}


def preset(name: str) -> TrainingOptions:
    """Options by the name of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"There is no preset {name!r}.", f"Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]
