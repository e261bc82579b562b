"""Fits the numbers of the mixture, on files that are not in the memory: what followed each context there, and the
model's probability of it.

The likelihood of a token needs only its own counts, not the whole distribution, so an observation is a few numbers, and
tens of thousands of them are fitted in seconds: Adam over the logarithms of theta and caution and the log-odds of the
discounts, with derivatives written out by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.memory.evidence import ORDERS, Counter, Evidence, Source
from engine.memory.mixing import LEVELS, SURE, VARIETIES, Level, Mixing
from engine.memory.recall import NEAR
from engine.memory.segment import border_of
from engine.memory.suffixes import LONGEST

STEPS, RATE = 200, 0.1
TIGHTNESS = 2e-4  # how strongly numbers with little evidence are pulled to their initial values


@dataclass(frozen=True, eq=False)
class Observations:
    """For each of n tokens: chance (n,) the model gave it; best (n,) the model's highest; by level the counts
    (n, orders), sums and distinct of `Evidence`; lengths (n,) in bytes.
    """

    chance: np.ndarray
    best: np.ndarray
    lengths: np.ndarray
    counts: dict[str, np.ndarray]
    sums: dict[str, np.ndarray]
    distinct: dict[str, np.ndarray]

    @staticmethod
    def join(parts: Sequence[Observations]) -> Observations:
        def joined(arrays: list) -> np.ndarray:
            return np.concatenate(arrays)

        return Observations(
            *(joined([getattr(part, name) for part in parts]) for name in ("chance", "best", "lengths")),
            *(
                {level: joined([getattr(part, name)[level] for part in parts]) for level in LEVELS}
                for name in ("counts", "sums", "distinct")
            ),
        )

    def some(self, places: np.ndarray) -> Observations:
        """Those at `places`."""
        return Observations(
            self.chance[places],
            self.best[places],
            self.lengths[places],
            *(
                {level: array[places] for level, array in part.items()}
                for part in (self.counts, self.sums, self.distinct)
            ),
        )


def observe(
    counter: Counter,
    sources: tuple[Source, ...],
    ids: np.ndarray,
    line_ends: np.ndarray,
    chance: np.ndarray,
    best: np.ndarray,
    lengths: np.ndarray,
    *,
    see_after: bool = True,
) -> Observations:
    """The tokens of one document except the first, as if each were to be written now, given what is before it and, if
    `see_after`, what follows its line.  line_ends: places of tokens that end a line.
    """
    dtype = np.dtype(np.uint16 if counter.vocabulary < 1 << 16 else np.uint32)
    text, border = ids.astype(dtype), np.array([border_of(dtype)], dtype)
    n = len(ids) - 1
    shape = (n, len(ORDERS))
    tables = [{level: np.zeros(shape, np.float32) for level in LEVELS} for _ in range(3)]

    def note(place: int, level: str, found: Evidence) -> None:
        for table, row in zip(tables, (found.of(int(ids[place])), found.sums, found.distinct), strict=True):
            table[level][place - 1] = row

    for place in range(1, n + 1):
        context = text[max(0, place - LONGEST) : place]
        next_end = np.searchsorted(line_ends, place)
        resumed = max(place + 1, int(line_ends[next_end])) if next_end < len(line_ends) else len(ids)
        known = np.concatenate([text[:place], border, text[resumed:] if see_after else text[:0]])
        near = min(NEAR, place)
        note(place, "repository", counter.of_segments(sources, context))
        note(place, "file", counter.of_text(known, place, context))
        note(place, "near", counter.of_text(known[place - near : place + 1 + NEAR], near, context))
    return Observations(chance[1:], best[1:], lengths[1:], *tables)


# ---- the fit


def start() -> Mixing:
    """Where every fit starts: the longer the context and the fewer tokens were seen, the more it is trusted."""
    theta = np.array([300.0, 80.0, 30.0, 12.0, 8.0, 5.0, 4.0, 3.0, 3.0, 3.0])[:, None] * np.array([0.3, 1.0, 4.0])
    discount = np.full((len(ORDERS), VARIETIES), 0.3)
    return Mixing({name: Level(theta.copy(), discount.copy(), np.ones(len(SURE) + 1)) for name in LEVELS})


def fit(observed: Observations, begin: Mixing | None = None, steps: int = STEPS) -> Mixing:
    """The numbers that make what was observed most likely, starting from `begin`."""
    begin = begin or start()
    values = {name: _free(level) for name, level in begin.levels.items()}
    anchors = {name: [array.copy() for array in arrays] for name, arrays in values.items()}
    first = {name: [np.zeros_like(array) for array in arrays] for name, arrays in values.items()}
    second = {name: [np.zeros_like(array) for array in arrays] for name, arrays in values.items()}
    for step in range(1, steps + 1):
        _, slopes = losses_and_slopes(observed, Mixing({name: _level(*values[name]) for name in values}))
        rate = RATE * (1 - 0.9 * step / steps)
        for name, arrays in values.items():
            for number, array in enumerate(arrays):
                slope = slopes[name][number] + TIGHTNESS * (array - anchors[name][number])
                first[name][number] = 0.9 * first[name][number] + 0.1 * slope
                second[name][number] = 0.98 * second[name][number] + 0.02 * slope**2
                scale = np.sqrt(second[name][number] / (1 - 0.98**step)) + 1e-9
                array -= rate * first[name][number] / (1 - 0.9**step) / scale
    return Mixing({name: _level(*arrays) for name, arrays in values.items()})


def _free(level: Level) -> list[np.ndarray]:
    """Numbers without bounds, for those of a level."""
    return [np.log(level.theta), np.log(level.discount / (1 - level.discount)), np.log(level.caution)]


def _level(log_theta: np.ndarray, log_odds: np.ndarray, log_caution: np.ndarray) -> Level:
    return Level(np.exp(log_theta), 1 / (1 + np.exp(-log_odds)), np.exp(log_caution))


def losses(observed: Observations, mixing: Mixing, without: frozenset[str] = frozenset()) -> np.ndarray:
    """Nats (n,) of each token; levels in `without` are skipped."""
    return -np.log(_forward(observed, mixing, without)[0])


def losses_and_slopes(observed: Observations, mixing: Mixing) -> tuple[float, dict[str, list[np.ndarray]]]:
    """The mean loss, and its derivatives by the free numbers of each level."""
    mixed, passed = _forward(observed, mixing, frozenset())
    sure = np.searchsorted(SURE, observed.best)
    slopes = {
        name: [np.zeros(level.theta.shape), np.zeros(level.theta.shape), np.zeros(len(SURE) + 1)]
        for name, level in mixing.levels.items()
    }
    slope = -1.0 / mixed / len(mixed)
    for name, row, live, theta, discount, below, above, whole in reversed(passed):
        counts, distinct = observed.counts[name][live, row], observed.distinct[name][live, row]
        variety = np.minimum(distinct, VARIETIES).astype(np.int64) - 1
        by_theta = slope[live] * (below - above) / whole * theta
        by_discount = slope[live] * (distinct * below - (counts > 0)) / whole * discount * (1 - discount)
        slopes[name][0][row] += np.bincount(variety, by_theta, VARIETIES)
        slopes[name][1][row] += np.bincount(variety, by_discount, VARIETIES)
        slopes[name][2] += np.bincount(sure[live], by_theta, len(SURE) + 1)
        slope[live] *= (theta + discount * distinct) / whole
    return float(-np.log(mixed).mean()), slopes


def _forward(observed: Observations, mixing: Mixing, without: frozenset[str]) -> tuple[np.ndarray, list[tuple]]:
    """The mixture's probability (n,) of each token, and the inputs of every step."""
    mixed = observed.chance.astype(np.float64).copy()
    sure = np.searchsorted(SURE, observed.best)
    passed = []
    for name in LEVELS:
        if name in without:
            continue
        level = mixing.levels[name]
        for row in range(len(ORDERS)):
            live = np.flatnonzero(observed.sums[name][:, row] > 0)
            if not len(live):
                continue
            counts, sums = observed.counts[name][live, row], observed.sums[name][live, row]
            distinct = observed.distinct[name][live, row]
            variety = np.minimum(distinct, VARIETIES).astype(np.int64) - 1
            theta, discount = level.theta[row, variety] * level.caution[sure[live]], level.discount[row, variety]
            below, whole = mixed[live], sums + theta
            above = (np.where(counts > 0, counts - discount, 0.0) + (theta + discount * distinct) * below) / whole
            mixed[live] = above
            passed.append((name, row, live, theta, discount, below, above, whole))
    return mixed, passed
