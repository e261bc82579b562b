"""Combines the model's distribution with the memory's counts: a chain of Pitman-Yor steps with the model at its root.

For each order k, the lowest first, with c(y) the count of token y, n the sum of counts and u how many are not zero:

    p(y)  <-  ( max(c(y) - d, 0) + (theta + d u) p(y) ) / ( n + theta )

first over the repository, then over the open file, then over the part of it near the cursor. The result adds up to one,
is zero only where the model's is, and is linear in the model's part: p_mixed = a p + b, with a number a and a sparse b.

theta is how much evidence it takes to trust an order. It depends on the order, on whether one, two or more tokens were
seen there, and on how confident the model is. That does everything a learned gate over the same distributions did: such
a gate saved 4 to 8 % of the bits of a chain without the last two dependencies, and nothing of this one (0.911 against
0.908 bits per byte on one tuning package, 0.721 against 0.725 and 0.773 against 0.774 on two others).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.compiling import compiled
from engine.errors import ConfigError
from engine.memory.evidence import ORDERS, Evidence

LEVELS = ("repository", "file", "near")  # in the order they are mixed
SURE = np.array([0.1, 0.3, 0.6, 0.9])  # probabilities of the model's best token that divide its classes of confidence
VARIETIES = 3  # one, two or more tokens were seen


@dataclass(frozen=True, eq=False)
class Level:
    """One source's numbers.  theta and discount (orders, VARIETIES); caution (len(SURE) + 1,): a factor of theta by how
    confident the model is.
    """

    theta: np.ndarray
    discount: np.ndarray
    caution: np.ndarray

    def to_json(self) -> dict[str, Any]:
        return {name: np.round(array, 4).tolist() for name, array in vars(self).items()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Level:
        level = cls(*(np.array(content[name], np.float64) for name in ("theta", "discount", "caution")))
        shape = (len(ORDERS), VARIETIES)
        if level.theta.shape != shape or level.discount.shape != shape or level.caution.shape != (len(SURE) + 1,):
            raise ConfigError("The fit of the memory was made for other orders.", "Fit it again.")
        return level


@dataclass(frozen=True, eq=False)
class Mixing:
    """The numbers of all levels, fitted to one base model."""

    levels: dict[str, Level]

    def more_cautious(self, factor: float) -> Mixing:
        """The same, needing `factor` times as much evidence."""
        return Mixing({name: replace(level, caution=level.caution * factor) for name, level in self.levels.items()})

    def to_json(self) -> dict[str, Any]:
        return {name: level.to_json() for name, level in self.levels.items()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Mixing:
        return cls({name: Level.from_json(content[name]) for name in LEVELS})


def certainty(best: float) -> int:
    """The confidence class of a model whose best token has this probability."""
    return int(np.searchsorted(SURE, best))


def add(probabilities: np.ndarray, evidence: Evidence, level: Level, sure: int) -> float:
    """Mix one source into probabilities (v,), in place; returns the share left of what was there."""
    if not len(evidence.tokens):
        return 1.0
    return _add(
        probabilities, evidence.tokens, evidence.counts, evidence.sums, evidence.distinct,
        level.theta, level.discount, level.caution[sure],
    )  # fmt: skip


def add_to_one(chance: float, token: int, evidence: Evidence, level: Level, sure: int) -> float:
    """The same for the probability of one token alone."""
    if not len(evidence.tokens):
        return chance
    return _add_to_one(
        chance, token, evidence.tokens, evidence.counts, evidence.sums, evidence.distinct,
        level.theta, level.discount, level.caution[sure],
    )  # fmt: skip


@compiled(nogil=True)
def _add_to_one(chance, token, tokens, counts, sums, distinct, theta, discount, caution):
    masses, left = _chain(len(tokens), counts, sums, distinct, theta, discount, caution)
    mixed = left * chance
    for slot in range(len(tokens)):
        if tokens[slot] == token:
            mixed += masses[slot]
    return mixed


@compiled(nogil=True)
def _add(probabilities, tokens, counts, sums, distinct, theta, discount, caution):
    masses, left = _chain(len(tokens), counts, sums, distinct, theta, discount, caution)
    for token in range(len(probabilities)):
        probabilities[token] *= left
    for slot in range(len(tokens)):
        probabilities[tokens[slot]] += masses[slot]
    return left


@compiled(nogil=True)
def _chain(size, counts, sums, distinct, theta, discount, caution):
    """What the counts give each of the tokens, and the share left of what was there.

    From the highest order down: the share for lower orders shrinks, and the model gets the rest.
    """
    masses, left = np.zeros(size), 1.0
    for row in range(len(counts) - 1, -1, -1):
        n, u = sums[row], int(distinct[row])
        if n <= 0:
            continue
        variety = min(u, VARIETIES) - 1
        t, d = theta[row, variety] * caution, discount[row, variety]
        whole = n + t
        for slot in range(u):
            masses[slot] += left * (counts[row, slot] - d) / whole
        left *= (t + d * u) / whole
    return masses, left
