"""A measure as a ratio of two sums, with a 95 % interval by a bootstrap over files.

Tokens of one file resemble each other, so files are drawn, not tokens or cursors; only if there are too few files are
single cursors drawn. All measures of all models are drawn with the same seed, so that a difference is taken between the
same files.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 2000
FEWEST_FILES = 8  # with fewer, drawing files says little
TAILS = (2.5, 97.5)
NORMAL_95 = 1.959964  # standard deviations on either side that hold 95 % of a normal distribution


@dataclass(frozen=True, eq=False)
class Samples:
    """What was counted, per item: the measure is the sum of `parts` over the sum of `wholes`."""

    parts: np.ndarray
    wholes: np.ndarray
    files: np.ndarray  # the file each item is of, as a number

    @classmethod
    def of(cls, parts: Sequence[float], wholes: Sequence[float], files: Sequence[int]) -> Samples:
        return cls(np.asarray(parts, np.float64), np.asarray(wholes, np.float64), np.asarray(files, np.int64))

    def of_files(self, files: Collection[int]) -> Samples:
        """Only those of some files."""
        kept = np.isin(self.files, list(files))
        return Samples(self.parts[kept], self.wholes[kept], self.files[kept])

    @property
    def value(self) -> float:
        whole = float(self.wholes.sum())
        return float(self.parts.sum()) / whole if whole else math.nan

    def drawn(self, seed: int, draws: int = DRAWS) -> np.ndarray:
        """(draws,) the measure over as many files as there are, drawn with replacement."""
        parts, wholes = self._by_file()
        if not len(parts):
            return np.full(draws, math.nan)
        rng = np.random.default_rng([seed, len(parts)])
        counts = rng.multinomial(len(parts), np.full(len(parts), 1.0 / len(parts)), size=draws).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (counts @ parts) / (counts @ wholes)

    def _by_file(self) -> tuple[np.ndarray, np.ndarray]:
        _, places = np.unique(self.files, return_inverse=True)
        if len(self.files) == 0 or places.max() + 1 < FEWEST_FILES:
            return self.parts, self.wholes
        return np.bincount(places, self.parts), np.bincount(places, self.wholes)


@dataclass(frozen=True)
class Measure:
    """A value with its 95 % interval.  `better`: +1 if more is better, -1 if less is, 0 if neither."""

    name: str
    words: str
    value: float
    low: float
    high: float
    better: int
    unit: str = ""


@dataclass(frozen=True)
class Difference:
    """One model against another: `value` is the second minus the first."""

    name: str
    value: float
    low: float
    high: float
    verdict: str  # "better", "worse" or "no difference", of the second


def measure(name: str, words: str, samples: Samples, seed: int, better: int, unit: str = "", scale=None) -> Measure:
    """`scale`: an increasing function that the value is shown through (exp turns loss into perplexity)."""
    low, high = tails(samples.drawn(seed))
    values = [samples.value, low, high]
    value, low, high = values if scale is None else [scale(v) for v in values]
    return Measure(name, words, value, low, high, better, unit)


def percentile(name: str, words: str, values: np.ndarray, share: float, seed: int, unit: str = "") -> Measure:
    """A percentile of timings with its interval."""
    if not len(values):
        return Measure(name, words, math.nan, math.nan, math.nan, -1, unit)
    rng = np.random.default_rng([seed, len(values)])
    drawn = np.percentile(values[rng.integers(0, len(values), (DRAWS // 4, len(values)))], share, axis=1)
    low, high = tails(drawn)
    return Measure(name, words, float(np.percentile(values, share)), low, high, -1, unit)


def difference(name: str, first: Samples, second: Samples, seed: int, better: int, scale=None) -> Difference:
    """The same files in both, drawn together."""
    through = scale or (lambda value: value)
    shift = through(second.drawn(seed)) - through(first.drawn(seed))
    low, high = tails(shift)
    value = float(through(second.value) - through(first.value))
    if not (low > 0 or high < 0):
        return Difference(name, value, low, high, "no difference")
    return Difference(name, value, low, high, "better" if (value > 0) == (better > 0) else "worse")


def share_interval(part: int, whole: int) -> tuple[float, float]:
    """The 95 % interval of a share that was counted: Wilson's, which also holds for none and for all of them."""
    if not whole:
        return 0.0, 1.0
    share, z = part / whole, NORMAL_95
    middle = share + z * z / (2 * whole)
    half = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    low, high = (middle - half) / scale, (middle + half) / scale
    return low if part else 0.0, high if part < whole else 1.0  # without what rounding leaves


def tails(drawn: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of the draws, without those that had nothing to count."""
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.percentile(drawn, TAILS)
    return float(low), float(high)
