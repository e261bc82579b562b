"""The health of a run: what a person watching the curves would notice.

The functions look at numbers and return a finding or None; `Health` keeps the last numbers of a run and reports each
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
SETTLED = 10  # steps until there is something to compare with
TENFOLD = 10.0
SPIKE_SPREADS, LEAST_SPIKE = 6.0, 0.5  # so many median deviations, and so much, above the median
SLOW_STEPS = 5  # in a row, each at less than half the usual speed
STUCK_EVALUATIONS = 5
MANY_DEAD = 0.5  # of a layer's channels


@dataclass(frozen=True)
class Finding:
    """Something about the run's health; each `cause` is reported once."""

    cause: str
    text: str


def gradient_rose(norms: Sequence[float]) -> Finding | None:
    """The last gradient norm is more than ten times the usual one."""
    *before, last = norms
    usual = median(before) if len(before) >= SETTLED else math.inf
    if not last > TENFOLD * usual > 0:
        return None
    return Finding(
        "gradient",
        f"The gradient norm rose more than tenfold, from about {usual:.2g} to {last:.2g}. "
        "A lower learning rate may be more stable.",
    )


def loss_spiked(losses: Sequence[float]) -> Finding | None:
    """The last loss is far above the ones before it."""
    *before, last = losses
    if len(before) < SETTLED:
        return None
    usual = median(before)
    spread = median(abs(loss - usual) for loss in before)
    if not last > usual + max(LEAST_SPIKE, SPIKE_SPREADS * spread):
        return None
    return Finding("spike", f"The loss jumped from about {usual:.2f} to {last:.2f} in one step.")


def slowed_down(speeds: Sequence[float]) -> Finding | None:
    """The last steps all ran at less than half the speed of those before."""
    before, last = list(speeds)[:-SLOW_STEPS], list(speeds)[-SLOW_STEPS:]
    if len(before) < SETTLED or not max(last) < 0.5 * median(before):
        return None
    return Finding(
        "speed",
        f"Training slowed down from {median(before):,.0f} to {median(last):,.0f} tokens/s. "
        "Another program may be using the machine.",
    )


def not_improving(evaluations: int, patience: int = 0) -> Finding | None:
    """The held-out loss has not improved for a while, or for as long as a run with `patience` waits."""
    if evaluations < min(STUCK_EVALUATIONS, patience or STUCK_EVALUATIONS):
        return None
    return Finding(
        "over-fitting",
        f"Held-out loss has not improved for {evaluations} evaluations: the model is probably over-fitting.",
    )


def dead_channels(layers: Iterable[LayerInsight]) -> Finding | None:
    """Most of a layer's channels are always zero."""
    dead = [layer for layer in layers if layer.dead_share > MANY_DEAD]
    if not dead:
        return None
    worst = max(dead, key=lambda layer: layer.dead_share)
    others = f"; {len(dead)} layers have more than half" if len(dead) > 1 else ""
    return Finding("dead channels", f"Layer {worst.layer} has {worst.dead_share:.0%} dead channels{others}.")


class Health:
    """The last numbers of a run, and what was reported about it."""

    def __init__(self) -> None:
        self._norms: deque[float] = deque(maxlen=REMEMBERED)
        self._losses: deque[float] = deque(maxlen=REMEMBERED)
        self._speeds: deque[float] = deque(maxlen=REMEMBERED)
        self._reported: list[str] = []

    def after_step(self, loss: float, norm: float, tokens_per_second: float) -> list[Finding]:
        """Findings after a step."""
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
        """Findings after an evaluation, when `not_better` of them in a row did not improve."""
        return self._new([not_improving(not_better, patience)])

    def after_insight(self, layers: Sequence[LayerInsight]) -> list[Finding]:
        """Findings from the statistics of the layers."""
        return self._new([dead_channels(layers)])

    def state(self) -> dict[str, Any]:
        """For JSON.  Without speeds, which another process or machine measures for itself."""
        return {"norms": list(self._norms), "losses": list(self._losses), "told": list(self._reported)}

    def restore(self, state: dict[str, Any]) -> None:
        self._norms.extend(state["norms"])
        self._losses.extend(state["losses"])
        self._reported = list(state["told"])

    def _new(self, found: Iterable[Finding | None]) -> list[Finding]:
        fresh = [finding for finding in found if finding is not None and finding.cause not in self._reported]
        self._reported += [finding.cause for finding in fresh]
        return fresh
