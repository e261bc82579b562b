"""How long to wait after a key before the model is asked: between two bounds, by how it went so far.  No Qt.

Short where answers come quickly and are taken, long after they were dismissed; never shorter than the pause between two
keys of a user who is typing, or every key would ask for an answer that the next key makes obsolete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

QUICK, SLOW = 40.0, 400.0  # milliseconds to the first token
WEIGHT = 0.3  # of the newest in a moving mean
TAKEN, DISMISSED = 0.34, 0.5  # how far one answer moves the favour towards its end
LONGEST_INTERVAL = 1000.0  # two keys further apart say nothing about typing
ABOVE_INTERVAL = 1.25


@dataclass(frozen=True)
class Pace:
    """What has been seen of the answers and of the typing; every method gives the Pace that follows."""

    first_token_ms: float | None = None
    interval_ms: float | None = None
    favour: float = 0.5  # 0: all are dismissed, 1: all are taken

    def answered(self, first_token_ms: float) -> Pace:
        return replace(self, first_token_ms=_mean(self.first_token_ms, first_token_ms))

    def typed(self, interval_ms: float) -> Pace:
        if not 0 < interval_ms <= LONGEST_INTERVAL:
            return self
        return replace(self, interval_ms=_mean(self.interval_ms, interval_ms))

    def taken(self) -> Pace:
        return replace(self, favour=self.favour + (1.0 - self.favour) * TAKEN)

    def dismissed(self) -> Pace:
        return replace(self, favour=self.favour * (1.0 - DISMISSED))


def delay(pace: Pace, least: int, most: int) -> int:
    """Milliseconds to wait."""
    slowness = 0.5
    if pace.first_token_ms is not None:
        slowness = min(1.0, max(0.0, (pace.first_token_ms - QUICK) / (SLOW - QUICK)))
    wait = least + (most - least) * (0.5 * slowness + 0.5 * (1.0 - pace.favour))
    if pace.interval_ms is not None:
        wait = max(wait, ABOVE_INTERVAL * pace.interval_ms)
    return round(min(max(wait, least), most))


def _mean(before: float | None, newest: float) -> float:
    return newest if before is None else before + WEIGHT * (newest - before)
