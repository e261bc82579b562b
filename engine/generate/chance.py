"""The probability that a suggested line is accepted unchanged: a logistic regression.

Fitted on the tuning packages (`tests/benchmarks/memory.py`), one fit per base model, like the mixture.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from engine.generate.fitting_in import Surroundings

NAME = re.compile(r"[^\W\d]\w{2,}")
_PROSE = re.compile(r"\A\s*(#|//|\*|\"\"\"|'''|:param|--)")


@dataclass(frozen=True)
class Features:
    """Of one line, each about 1 in size.

    How likely its tokens are, and what the memory knew about them, is already in its share: given that, they added
    nothing on the tuning packages.
    """

    tokens: float
    letters: float
    unknown_names: float
    begun: float  # whether part of the line was already typed
    prose: float
    share: float = 0.0  # log-odds of the probability that it is the right line, by the ranker
    share_log: float = 0.0

    @classmethod
    def of(cls, tokens: int, text: str, around: Surroundings, knows: Callable[[str], bool]) -> Features:
        """`tokens`: how many the line has, its end included."""
        return cls(
            math.log(tokens),
            math.log1p(len(text)) / 3,
            sum(not knows(name) for name in set(NAME.findall(text))) / 2,
            float(not around.at_line_start),
            float(_PROSE.match(around.line + text) is not None),
        )

    def with_share(self, share: float) -> Features:
        share = min(max(share, 1e-4), 1 - 1e-4)
        return replace(self, share=math.log(share / (1 - share)) / 3, share_log=math.log(share) / 3)


_NAMES = (*Features.__dataclass_fields__, "constant")


@dataclass(frozen=True, eq=False)
class Judge:
    """weights (features + 1,); the last one is the constant."""

    weights: np.ndarray

    def chance(self, features: Features) -> float:
        value = float(np.dot(self.weights[:-1], astuple(features)) + self.weights[-1])
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))

    def to_json(self) -> dict[str, Any]:
        return dict(zip(_NAMES, np.round(self.weights, 4).tolist(), strict=True))

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Judge:
        return cls(np.array([content[name] for name in _NAMES]))


def fit_judge(
    rows: np.ndarray, taken: np.ndarray, begin: Judge | None = None, tightness: float = 2.0, rounds: int = 50
) -> np.ndarray:
    """Weights of a logistic regression of taken (n,) on rows (n, features), by Newton's method.

    They are held near those of `begin` (or zero), all but the constant.
    """
    x = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    anchor = np.zeros(x.shape[1]) if begin is None else begin.weights
    weights = anchor.copy()
    hold = tightness * np.eye(x.shape[1])
    hold[-1, -1] = 1e-6
    for _ in range(rounds):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (chance - taken) + hold @ (weights - anchor)
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + hold
        weights -= np.linalg.solve(curvature, slope)
    return weights
