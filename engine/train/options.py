"""The options of a training run, under the names users know, each with its range and its help.

A value out of range is refused with the option's name, the value and what is allowed; nothing is quietly corrected.
`OPTIONS` is what a form, a tool tip, the command line and a help page are made from. Nothing here loads NumPy, so that
`--help` is immediate.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any

from engine.errors import ConfigError
from engine.model.modes import MODES
from engine.model.storage import AUTO, PRECISIONS
from engine.option_info import OptionInfo

SCHEDULES = ("constant", "linear", "cosine")
RATES = {"wsla": 3e-3, "qk": 4e-3, "lora": 1e-2, "vocabulary": 1e-3, "full": 1e-3}
"""The learning rate that suits each mode: the best of one grid for all (`tests/benchmarks/starter_adaptation.py`), with
the built-in model.  That of qk, which it does not have, is not tuned: twelve steps of SmolLM2-135M on one repository
gained most at 3e-3 of five rates from 1e-4 to 1e-2; it is a third of that there, until longer runs are compared.
"""
TUNED_WEIGHTS = 4_700_000  # of the model that these rates suit
# By which power of its size a larger model goes more slowly. SmolLM2-135M by lora (`tests/benchmarks/RESULTS.md`): 3e-3
# is better than 1e-3, with single steps that are too large, and 1e-2 soon makes it worse; this gives it 2.6e-3.
SLOWER_BY_SIZE = 0.4
SHORT_RUN = 220 * 4 * 256  # tokens of the preset `quick`, for which these rates are; a longer run uses lower ones
TOKENS_A_MINUTE = 120_000  # roughly, to tell a long run from a short one where only its minutes are set
LAST_SHARE = 0.05  # of the peak rate, at the end of a decaying schedule
EARLY_EVALUATION = 20  # the step of an extra evaluation where the first regular one comes much later
PASSES_OVER_CHANGES = 3  # over the changed files, in a run that adapts to changes
LENGTHS = ("steps", "epochs", "minutes")  # the options that end a run


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
    base_precision: str = AUTO
    canaries: int = 0

    def __post_init__(self) -> None:
        for name, info in OPTIONS.items():
            info.check(name, getattr(self, name))
        if not (self.steps or self.epochs or self.minutes):
            raise ConfigError(
                f"steps is {self.steps}, and neither epochs nor minutes is set, so the run would never end.",
                f"Set steps (1 to {OPTIONS['steps'].high:,}), epochs or minutes.",
            )
        if self.micro_batch and self.batch_size % self.micro_batch:
            raise ConfigError(f"micro_batch is {self.micro_batch}; it must divide batch_size ({self.batch_size}).")

    @property
    def peak_rate(self) -> float:
        """The learning rate after the warm-up: the one that was set, or the one that suits the built-in model."""
        return self.peak_rate_for(TUNED_WEIGHTS)

    def peak_rate_for(self, weights: int) -> float:
        """The same for a model of so many weights: by mode, length and size.

        At the rate of a short run, a long one makes no progress for half of its time and then memorises its files;
        lowering the rate by the square root of the length worked well for runs three times as long.
        """
        if self.learning_rate:
            return self.learning_rate
        tokens = self.steps * self.batch_size * self.sequence_length or self.minutes * TOKENS_A_MINUTE
        longer, larger = max(1.0, tokens / SHORT_RUN), max(1.0, weights / TUNED_WEIGHTS)
        return RATES[self.mode] / (math.sqrt(longer) * larger**SLOWER_BY_SIZE)

    def rate_at(self, step: int, time_share: float = 0.0) -> float:
        """The learning rate of step number `step` (from 1): a linear rise over `warm_up` steps, then the schedule.

        `time_share` is the part of the run's minutes that is over. Where it is ahead of the steps the rate follows it,
        so that a run which ends by the clock also reaches the lowest rate.
        """
        if step <= self.warm_up:
            return self.peak_rate * step / self.warm_up
        if self.schedule == "constant":
            return self.peak_rate
        by_steps = (step - self.warm_up) / max(1, self.steps - self.warm_up) if self.steps else 0.0
        passed = min(1.0, max(by_steps, time_share))
        falling = 1.0 - passed if self.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * passed))
        return self.peak_rate * (LAST_SHARE + (1.0 - LAST_SHARE) * falling)

    def evaluates_at(self, step: int) -> bool:
        """Whether held-out code is measured after `step` of a run that is limited by steps."""
        if self.evaluate_every:
            return step % self.evaluate_every == 0 or 0 < self.steps <= step
        return self._evaluations_until(step) > self._evaluations_until(step - 1)

    def evaluations_from(self, step: int) -> int:
        """How many evaluations are left in a run that is limited by steps, including the one after `step`."""
        if self.evaluate_every:
            return 1 + (self.steps - 1) // self.evaluate_every - (step - 1) // self.evaluate_every
        return self._evaluations_until(self.steps) - self._evaluations_until(step - 1)

    def _evaluations_until(self, step: int) -> int:
        """Evenly spread, and an early one where otherwise there would be nothing to see for a long time."""
        count = min(self.evaluations, self.steps)
        early = step >= EARLY_EVALUATION and self.steps > 2 * EARLY_EVALUATION * count
        return step * count // self.steps + early

    def for_changes(self, mode: str, chosen: Collection[str] = ()) -> TrainingOptions:
        """These options for adapting a checkpoint of `mode` to changed files: its own mode, a few passes over them.

        `chosen`: the names of options that the user has set, which stay as they are.
        """
        values: dict[str, Any] = {"mode": mode} if mode in MODES and "mode" not in chosen else {}
        if not set(LENGTHS) & set(chosen):
            values |= {"steps": 0, "minutes": 0.0, "epochs": float(PASSES_OVER_CHANGES)}
        return self.changed(**values)

    def changed(self, **values: Any) -> TrainingOptions:
        """A copy with some values replaced, by name."""
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
            "Which weights are trained. More weights learn more and take more memory.",
            advanced=False,
        ),
        _count(
            "steps",
            "Steps",
            0,
            10_000_000,
            "How many times the weights are updated; the first limit that is reached ends the run.",
            zero="no limit",
            advanced=False,
        ),
        _number(
            "epochs",
            "Epochs",
            0.0,
            10_000.0,
            "Passes over the files. With more than a few, the model memorises a small repository.",
            zero="no limit",
            advanced=False,
        ),
        _number(
            "minutes",
            "Minutes",
            0.0,
            100_000.0,
            "How long the run may take; the learning rate is lowest at the end.",
            zero="no limit",
            advanced=False,
        ),
        _number(
            "learning_rate",
            "Learning rate",
            0.0,
            1.0,
            "How far each step moves the weights. Automatic depends on mode, length and the size of the model.",
            zero="automatic",
            advanced=False,
        ),
        _count(
            "batch_size",
            "Batch size",
            1,
            4096,
            "Windows of code per step. Larger batches train more steadily and take longer per step.",
            unit="windows",
        ),
        _count(
            "micro_batch",
            "Micro-batch",
            0,
            4096,
            "Windows computed at once; must divide the batch size. Smaller takes less memory; the result is the same.",
            unit="windows",
            zero="automatic",
        ),
        _count(
            "sequence_length",
            "Sequence length",
            8,
            65_536,
            "Tokens per window: how far back the model looks while it trains. Memory grows with it.",
            unit="tokens",
        ),
        _count(
            "rank",
            "Adapter rank",
            1,
            4096,
            "Rank of the low-rank pairs in modes lora and vocabulary. Higher can learn more; files are larger.",
        ),
        _choice(
            "base_precision",
            "Base precision",
            (AUTO, *PRECISIONS),
            "Precision in which weights that are not trained are kept. Fewer bits take less memory; auto keeps float32 "
            "if a run fits with it. Mode full trains all weights, in float32.",
        ),
        _choice("schedule", "Schedule", SCHEDULES, "How the learning rate changes after the warm-up."),
        _count(
            "warm_up",
            "Warm-up",
            0,
            1_000_000,
            "Steps over which the learning rate rises from zero, so that the first ones do no harm.",
            unit="steps",
            zero="none",
        ),
        _number(
            "weight_decay",
            "Weight decay",
            0.0,
            10.0,
            "How strongly trained matrices are pulled towards zero at each step. Norms and biases are not.",
            zero="none",
        ),
        _number("beta1", "Beta 1", 0.0, 0.9999, "Decay of AdamW's first moment, the average gradient."),
        _number("beta2", "Beta 2", 0.0, 0.99999, "Decay of AdamW's second moment, the average squared gradient."),
        _number("epsilon", "Epsilon", 1e-12, 1e-2, "Keeps AdamW from dividing by almost zero. Rarely worth changing."),
        _number(
            "max_gradient_norm",
            "Maximum gradient norm",
            0.0,
            1e6,
            "Longer gradients are clipped to this, so that one unusual file cannot spoil a run.",
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
            "Share of files shown with a gap to fill in, which completing code inside a file depends on.",
        ),
        _number(
            "replay_share",
            "Replay",
            0.0,
            1.0,
            "When adapting to changes: the share of older code mixed in, so that it is not forgotten.",
        ),
        _number(
            "skip_below",
            "Skip well-known files",
            0.0,
            1.0,
            "When adapting to changes: skip a file whose loss is below this share of similar held-out files' loss.",
            zero="skip none",
        ),
        _count(
            "evaluations",
            "Evaluations",
            1,
            10_000,
            "How often held-out code is measured during a run, in addition to once before the first step.",
        ),
        _count(
            "evaluate_every",
            "Evaluation interval",
            0,
            1_000_000,
            "Steps between two evaluations on held-out code. Automatic follows the number of evaluations.",
            unit="steps",
            zero="automatic",
        ),
        _count(
            "patience",
            "Patience",
            0,
            10_000,
            "Stop early when the held-out loss has not improved for this many evaluations.",
            unit="evaluations",
            zero="never stop early",
        ),
        _count(
            "recompute",
            "Layers to recompute",
            0,
            4096,
            "Layers recomputed in the backward pass instead of stored: less memory, slower, the same result.",
            unit="layers",
            zero="as needed",
        ),
        _count(
            "insight_interval",
            "Layer statistics interval",
            0,
            1_000_000,
            "Steps between two sets of layer statistics (gradients, updates, dead channels).",
            unit="steps",
            zero="never",
        ),
        _number(
            "duty_cycle",
            "Duty cycle",
            0.1,
            1.0,
            "Share of the time that training may use the machine; it pauses for the rest.",
            advanced=False,
        ),
        _count(
            "canaries",
            "Canaries",
            0,
            64,
            "Lines of random letters that are learned with the files, so that an export can say how much is learned by "
            "heart. No file changes.",
            unit="lines",
            zero="none",
        ),
        _count("seed", "Seed", 0, 2**63 - 1, "Determines the order of the files; the same seed gives the same run."),
    ]
)

PRESETS = {
    "quick": TrainingOptions(steps=220, batch_size=4),
    "balanced": TrainingOptions(steps=800, batch_size=8),
    "thorough": TrainingOptions(steps=3000, batch_size=8, evaluations=20, patience=6),
}
DEFAULT_PRESET = "quick"


def preset(name: str) -> TrainingOptions:
    if name not in PRESETS:
        raise ConfigError(f"There is no preset {name!r}.", f"Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]
