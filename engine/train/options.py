"""The options of a run, under the names users know, each with its range and its words.

A value out of range is refused with the option's name, the value and what is allowed; nothing is quietly corrected.
`OPTIONS` tells about each option what a form, a tool tip or a help page needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from engine.errors import ConfigError
from engine.model.selection import MODES
from engine.option_info import OptionInfo

SCHEDULES = ("constant", "linear", "cosine")
RATES = {"wsla": 3e-3, "lora": 1e-2, "vocabulary": 1e-3, "full": 1e-3}
"""The learning rate that suits each mode: the best of one grid for all (`tests/benchmarks/starter_adaptation.py`)."""
SHORT_RUN = 220 * 4 * 256  # tokens of the preset `quick`, for which these rates are; a longer run goes gentler
TOKENS_A_MINUTE = 120_000  # roughly, to tell a long run from a short one where only its minutes are set


@dataclass(frozen=True)
class TrainingOptions:
    """A run.  It ends at `steps`, `epochs` or `minutes`, whichever comes first; 0 is no limit.

    0 also means: chosen for you (`learning_rate`, `micro_batch`, `recompute`, `evaluate_every`) or off (`patience`,
    `trust_region`, `max_gradient_norm`, `insight_interval`, `skip_below`).
    """

    mode: str = "full"
    learning_rate: float = 0.0
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
    epochs: float = 0.0
    replay_share: float = 0.5
    skip_below: float = 0.6
    evaluate_every: int = 0
    recompute: int = 0
    insight_interval: int = 20

    def __post_init__(self) -> None:
        for name, info in OPTIONS.items():
            info.check(name, getattr(self, name))
        if not (self.steps or self.epochs or self.minutes):
            raise ConfigError(
                f"steps is {self.steps}, and neither epochs nor minutes is set: nothing would end the run.",
                f"Set steps (1 to {OPTIONS['steps'].high:,}), epochs or minutes.",
            )
        if self.micro_batch and self.batch_size % self.micro_batch:
            raise ConfigError(f"micro_batch is {self.micro_batch}; it must divide batch_size ({self.batch_size}).")

    @property
    def peak_rate(self) -> float:
        """The learning rate after the warm-up: the one that was set, or the one that suits the mode and the length.

        At the rate of a short run a long one stands still half of its time and then learns its files by heart; by the
        square root of the length is what went well with runs three times as long.
        """
        if self.learning_rate:
            return self.learning_rate
        tokens = self.steps * self.batch_size * self.sequence_length or self.minutes * TOKENS_A_MINUTE
        return RATES[self.mode] * min(1.0, math.sqrt(SHORT_RUN / tokens) if tokens else 1.0)

    def evaluates_at(self, step: int) -> bool:
        """Whether held-out code is measured after `step` of a run that is limited by steps."""
        if self.evaluate_every:
            return step % self.evaluate_every == 0 or 0 < self.steps <= step
        return self._evaluations_until(step) > self._evaluations_until(step - 1)

    def evaluations_from(self, step: int) -> int:
        """How many evaluations are left, that after `step` counted in."""
        if self.evaluate_every:
            return 1 + (self.steps - 1) // self.evaluate_every - (step - 1) // self.evaluate_every
        return self._evaluations_until(self.steps) - self._evaluations_until(step - 1)

    def _evaluations_until(self, step: int) -> int:
        return step * min(self.evaluations, self.steps) // self.steps

    def changed(self, **values: Any) -> TrainingOptions:
        """The same options but for some, by name."""
        unknown = sorted(set(values) - {f.name for f in fields(self)})
        if unknown:
            raise ConfigError(f"There is no option {', '.join(unknown)}.")
        return replace(self, **values)


_DEFAULTS = {field.name: field.default for field in fields(TrainingOptions)}


def _choice(name: str, label: str, choices: tuple[str, ...], help: str, **more: Any) -> tuple[str, OptionInfo]:
    return name, OptionInfo(label, None, None, _DEFAULTS[name], help, choices, **more)


def _number(name: str, label: str, low: float, high: float, help: str, **more: Any) -> tuple[str, OptionInfo]:
    return name, OptionInfo(label, low, high, _DEFAULTS[name], help, **more)


def _count(name: str, label: str, low: int, high: int, help: str, **more: Any) -> tuple[str, OptionInfo]:
    return _number(name, label, low, high, help, whole=True, **more)


OPTIONS: dict[str, OptionInfo] = dict(
    [
        _choice(
            "mode",
            "Mode",
            MODES,
            "Which weights are trained: the more, the more is learned and the more memory it takes.",
            advanced=False,
        ),
        _count(
            "steps",
            "Steps",
            0,
            10_000_000,
            "How many times the weights are improved.  The run ends at steps, epochs or minutes, whichever is first.",
            zero="no limit",
            advanced=False,
        ),
        _number(
            "epochs",
            "Epochs",
            0.0,
            10_000.0,
            "How often every file is read.  More than a few make a small repository known by heart.",
            zero="no limit",
            advanced=False,
        ),
        _number(
            "minutes",
            "Minutes",
            0.0,
            100_000.0,
            "How long the run may take; the learning rate falls so that it is lowest at the end.",
            zero="no limit",
            advanced=False,
        ),
        _number(
            "learning_rate",
            "Learning rate",
            0.0,
            1.0,
            "How far each step moves the weights.  Too high forgets what the model knew, too low learns little.",
            zero="what suits mode and length",
            advanced=False,
        ),
        _count(
            "batch_size",
            "Batch size",
            1,
            4096,
            "Windows of code that each step learns from.  Larger is steadier, and slower a step.",
            unit="windows",
        ),
        _count(
            "micro_batch",
            "Micro-batch",
            0,
            4096,
            "Windows computed at once; must divide the batch size.  Smaller takes less memory, with the same result.",
            unit="windows",
            zero="chosen for you",
        ),
        _count(
            "sequence_length",
            "Sequence length",
            8,
            65_536,
            "Tokens in a window: how far back the model looks while it learns.  Memory grows with it.",
            unit="tokens",
        ),
        _count(
            "rank",
            "Adapter rank",
            1,
            4096,
            "Width of the low-rank pairs of modes lora and vocabulary: wider can learn more and makes larger files.",
        ),
        _choice("schedule", "Schedule", SCHEDULES, "How the learning rate falls after the warm-up."),
        _count(
            "warm_up",
            "Warm-up",
            0,
            1_000_000,
            "Steps over which the learning rate rises from nothing, so that the first ones do no harm.",
            unit="steps",
            zero="none",
        ),
        _number(
            "weight_decay",
            "Weight decay",
            0.0,
            10.0,
            "Pulls trained matrices towards zero a little at each step.  Norms and biases are never pulled.",
            zero="none",
        ),
        _number(
            "beta1", "Beta 1", 0.0, 0.9999, "How long the optimiser remembers the direction (AdamW's first average)."
        ),
        _number(
            "beta2", "Beta 2", 0.0, 0.99999, "How long the optimiser remembers the size of steps (its second average)."
        ),
        _number(
            "epsilon", "Epsilon", 1e-12, 1e-2, "Keeps AdamW from dividing by nearly nothing.  Seldom worth touching."
        ),
        _number(
            "max_gradient_norm",
            "Largest gradient norm",
            0.0,
            1e6,
            "A step whose gradient is longer than this is shortened to it, so that one odd file cannot spoil a run.",
            zero="no limit",
        ),
        _number(
            "trust_region",
            "Trust region",
            0.0,
            1e3,
            "The most that one step may change a single weight.",
            zero="no limit",
        ),
        _number(
            "fim_share",
            "Fill in the middle",
            0.0,
            1.0,
            "Share of the files shown with a gap to fill in, which is what completing code inside a file needs.",
        ),
        _number(
            "replay_share",
            "Replay",
            0.0,
            1.0,
            "When learning changed files: the share of older code mixed in, so that it is not forgotten.",
        ),
        _number(
            "skip_below",
            "Known well below",
            0.0,
            1.0,
            "When learning changed files: one whose loss is below this share of its held-out peers' is skipped.",
            zero="skip none",
        ),
        _count(
            "evaluations",
            "Evaluations",
            1,
            10_000,
            "How often in a run held-out code is measured, besides once before the first step.",
        ),
        _count(
            "evaluate_every",
            "Evaluation interval",
            0,
            1_000_000,
            "Steps between two measurements of held-out code.",
            unit="steps",
            zero="by the number of evaluations",
        ),
        _count(
            "patience",
            "Patience",
            0,
            10_000,
            "Stop early when held-out code has not improved for this many evaluations.",
            unit="evaluations",
            zero="never stop early",
        ),
        _count(
            "recompute",
            "Layers to recompute",
            0,
            4096,
            "Layers that are computed twice instead of being remembered: less memory, slower, the same result.",
            unit="layers",
            zero="only where memory is short",
        ),
        _count(
            "insight_interval",
            "Insight interval",
            0,
            1_000_000,
            "Steps between two looks into the layers (size of gradients, of updates, dead channels).",
            unit="steps",
            zero="never",
        ),
        _number(
            "duty_cycle",
            "Duty cycle",
            0.1,
            1.0,
            "Share of the time that training may work; the rest it leaves the machine to you.",
            advanced=False,
        ),
        _count("seed", "Seed", 0, 2**63 - 1, "Draws the order of the files; the same seed gives the same run."),
    ]
)

PRESETS = {
    "quick": TrainingOptions(steps=220, batch_size=4),
    "balanced": TrainingOptions(steps=800, batch_size=8),
    "thorough": TrainingOptions(steps=3000, batch_size=8, evaluations=20, patience=6),
}


def preset(name: str) -> TrainingOptions:
    """Options by the name of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"There is no preset {name!r}.", f"Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]
