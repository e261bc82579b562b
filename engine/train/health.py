"""The health of a run in words: what a person who watched the curves would say.

The functions look at numbers and give a finding or None; `Health` remembers the last numbers of a run and tells each
cause once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from engine.model.step import LayerInsight

REMEMBERED = 40  # steps
SETTLED = 10  # steps before which nothing counts as usual
TENFOLD = 10.0
SPIKE_SPREADS, LEAST_SPIKE = 6.0, 0.5  # a loss that many usual deviations, and that much, above the median
SLOW_STEPS = 5  # in a row, each at less than half of the usual speed
STUCK_EVALUATIONS = 5
MANY_DEAD = 0.5  # of a layer's channels


@dataclass(frozen=True)
class Finding:
    """Something about the run's health; `cause` is what it is told once for."""

    cause: str
    text: str


def gradient_rose(norms: Sequence[float]) -> Finding | None:
    """The last gradient is ten times as long as usual."""
    *before, last = norms
    usual = median(before) if len(before) >= SETTLED else math.inf
    if not last > TENFOLD * usual > 0:
        return None
    return Finding(
        "gradient",
        f"The gradient norm rose tenfold, from about {usual:.2g} to {last:.2g}: a lower rate may be steadier.",
    )


def loss_spiked(losses: Sequence[float]) -> Finding | None:
    """The last loss is far above the ones before."""
    *before, last = losses
    if len(before) < SETTLED:
        return None
    usual = median(before)
    spread = median(abs(loss - usual) for loss in before)
    if not last > usual + max(LEAST_SPIKE, SPIKE_SPREADS * spread):
        return None
    return Finding("spike", f"The loss jumped from about {usual:.2f} to {last:.2f} in one step.")


def slowed_down(speeds: Sequence[float]) -> Finding | None:
    """The last steps all ran at less than half of the speed before them."""
    before, last = list(speeds)[:-SLOW_STEPS], list(speeds)[-SLOW_STEPS:]
    if len(before) < SETTLED or not max(last) < 0.5 * median(before):
        return None
    return Finding(
        "speed",
        f"Training has slowed down from {median(before):,.0f} to {median(last):,.0f} tokens/s: "
        "is something else using the machine?",
    )


def not_improving(evaluations: int, patience: int = 0) -> Finding | None:
    """Held-out code got no better for a while, or for as long as a run with `patience` waits."""
    if evaluations < min(STUCK_EVALUATIONS, patience or STUCK_EVALUATIONS):
        return None
    return Finding(
        "over-fitting",
        f"Held-out loss has not improved for {evaluations} evaluations: likely over-fitting (learning by heart).",
    )


def dead_channels(layers: Iterable[LayerInsight]) -> Finding | None:
    """Most of a layer's channels give nothing."""
    dead = [layer for layer in layers if layer.dead_share > MANY_DEAD]
    if not dead:
        return None
    worst = max(dead, key=lambda layer: layer.dead_share)
    where = f"layer {worst.layer}" if len(dead) == 1 else f"{len(dead)} layers, most in layer {worst.layer}"
    return Finding("dead channels", f"Of the channels in {where}, {worst.dead_share:.0%} give nothing.")


class Health:
    """The last numbers of a run, and what was told of it."""

    def __init__(self) -> None:
        self._norms: deque[float] = deque(maxlen=REMEMBERED)
        self._losses: deque[float] = deque(maxlen=REMEMBERED)
        self._speeds: deque[float] = deque(maxlen=REMEMBERED)
        self._told: list[str] = []

    def after_step(self, loss: float, norm: float, tokens_per_second: float) -> list[Finding]:
        """What a finished step shows."""
        found: list[Finding | None] = []
        for value, kept, look in (
            (norm, self._norms, gradient_rose),
            (loss, self._losses, loss_spiked),
            (tokens_per_second, self._speeds, slowed_down),
        ):
            if math.isfinite(value):
                kept.append(value)
                found.append(look(kept))
        return self._new(found)

    def after_evaluation(self, not_better: int, patience: int) -> list[Finding]:
        """What an evaluation shows; `not_better` of them in a row did not improve."""
        return self._new([not_improving(not_better, patience)])

    def after_insight(self, layers: Sequence[LayerInsight]) -> list[Finding]:
        """What a look into the layers shows."""
        return self._new([dead_channels(layers)])

    def state(self) -> dict[str, Any]:
        """For JSON.  Speeds are left out: another process, or another machine, has its own."""
        return {"norms": list(self._norms), "losses": list(self._losses), "told": list(self._told)}

    def restore(self, state: dict[str, Any]) -> None:
        self._norms.extend(state["norms"])
        self._losses.extend(state["losses"])
        self._told = list(state["told"])

    def _new(self, found: Iterable[Finding | None]) -> list[Finding]:
        fresh = [finding for finding in found if finding is not None and finding.cause not in self._told]
        self._told += [finding.cause for finding in fresh]
        return fresh
