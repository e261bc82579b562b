"""Thinning, smoothing and ticks for the plots.  Plain NumPy, no Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

WINDOW, SHARE = (4.0, 20.0), 1 / 25  # steps that smoothing looks back: least and most, and as a share of the run
GROWTH = 1.125  # the step axis grows by this factor, so that it rarely moves and the plot stays full
LEAST_STEPS = 16
PARTS = 4  # a range is rounded to this fraction of a tick


def thinned(x: np.ndarray, y: np.ndarray, low: float, high: float, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The part of a curve between `low` and `high`, at most about two points per column, with every peak kept.

    x ascends.  One point beyond each side is kept, so that the line reaches the edge.
    """
    first = max(int(np.searchsorted(x, low)) - 1, 0)
    last = min(int(np.searchsorted(x, high, side="right")) + 1, len(x))
    x, y = x[first:last], y[first:last]
    if len(x) <= 2 * columns or columns < 1:
        return x, y
    width = math.ceil(len(x) / columns)
    starts = np.arange(0, len(x), width)
    ends = np.minimum(starts + width, len(x)) - 1
    lows, highs = np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)
    falling = y[ends] < y[starts]  # the higher one first, or a falling curve would look like stairs
    kept = np.stack([np.where(falling, highs, lows), np.where(falling, lows, highs)], axis=1).ravel()
    return np.stack([x[starts], x[ends]], axis=1).ravel(), kept


def from_its_start(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A curve of readings that each hold for a whole step, begun one step earlier: a single reading is seen, too."""
    return (np.concatenate([[x[0] - 1], x]), np.concatenate([y[:1], y])) if len(x) else (x, y)


class Smoother:
    """An exponential moving average of a growing series; only new values are computed."""

    def __init__(self, steps: float = 0) -> None:
        """`steps` of the run, or 0 if unknown: a short run is smoothed less, or the curve would lag behind."""
        self._steps = steps
        least, most = WINDOW
        self._keep = 1 - 1 / (min(max(steps * SHARE, least), most) if steps else most)
        self.values = np.empty(0)
        self._count = 0
        self._sum = self._weight = 0.0

    def extend(self, series: np.ndarray) -> np.ndarray:
        """The smoothed series, as long as `series`.  Values that are not finite are skipped."""
        if len(series) < self._count:
            self.__init__(self._steps)
        if len(series) > len(self.values):
            self.values = np.resize(self.values, max(256, 2 * len(series)))
        keep = self._keep
        for place in range(self._count, len(series)):
            value = float(series[place])
            if math.isfinite(value):
                self._sum = keep * self._sum + (1 - keep) * value
                self._weight = keep * self._weight + (1 - keep)
            self.values[place] = self._sum / self._weight if self._weight else math.nan
        self._count = len(series)
        return self.values[: self._count]


def grown(last: float, end: float) -> float:
    """Where the step axis ends while a run is at `last` of `end`: a little further, in rare jumps."""
    reach = float(LEAST_STEPS)
    while reach < last:
        reach = math.ceil(reach * GROWTH)
    return max(min(reach, end), last) if end else reach


def spacing(low: float, high: float, most: int) -> float:
    """The distance between ticks: 1, 2, 2.5 or 5 times a power of ten, with at most `most` intervals."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return 1.0
    rough = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))


def ticks(low: float, high: float, most: int) -> tuple[float, list[float]]:
    """The distance and the positions of ticks from `low` to `high`."""
    step = spacing(low, high, most)
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    return step, [index * step for index in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Ticks between two positive numbers on a logarithmic axis: evenly spaced within a decade, else 1, 2, 5."""
    if high / low < 10:
        return ticks(low, high, most)[1]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors: Sequence[int] = (1, 2, 5) if len(decades) <= most // 2 + 1 else (1,)
    return [f * 10.0**d for d in decades for f in factors if low <= f * 10.0**d <= high]


def fitted(low: float, high: float, most: int) -> tuple[float, float, float]:
    """A range around `low` to `high` that ends on fractions of a tick, and the distance between ticks.

    Fractions, so that the range stays put when the numbers move a little and still wastes little height.
    """
    if not high > low:
        room = abs(high) * 0.1 or 1.0
        low, high = low - room, high + room
    step = spacing(low, high, most)
    part = step / PARTS
    return math.floor(low / part + 1e-6) * part, math.ceil(high / part - 1e-6) * part, step


def nearest(x: np.ndarray, place: float) -> int:
    """The index of the value nearest to `place`; x ascends and is not empty."""
    right = min(int(np.searchsorted(x, place)), len(x) - 1)
    left = max(right - 1, 0)
    return left if abs(x[left] - place) <= abs(x[right] - place) else right
