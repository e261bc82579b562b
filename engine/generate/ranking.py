"""Which of several candidate lines is the right one, if any: a softmax over the features of each.

Fitted on the tuning packages (`tests/benchmarks/memory.py`): at every cursor one of the candidates is the line that
is really there, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.memory import neighbours

LEAST_LOG = -40.0
NAMES = (
    "likely", "likely_each", "weakest", "certain", "tokens", "is_draft", "is_copy", "is_adapted", "is_both",
    "above_and_below", "same_above_and_below",
    "above", "below", "same_above", "same_below", "second_above", "second_below", "own_file", "distance",
    "step_in", "step_out", "indent", "times_in_file", "times_in_repository", "length",
)  # fmt: skip


def rank_features(
    chances: Sequence[float], likeness: np.ndarray | None, *, is_draft: bool, is_adapted: bool
) -> np.ndarray:
    """(features,) of a candidate: the probabilities of its tokens, how similar the surroundings of the line it comes
    from are to the cursor's, whether the model wrote it, and whether it was adapted.
    """
    logs = np.log(np.maximum(chances, 1e-9))
    is_copy = likeness is not None and not is_adapted
    likeness = np.zeros(neighbours.COLUMNS) if likeness is None else likeness
    return np.array(
        [
            max(float(logs.sum()), LEAST_LOG) / 5,
            float(logs.mean()),
            float(logs.min()) / 3,
            float(np.exp(logs.sum())),
            np.log(len(logs)),
            is_draft,
            is_copy,
            is_adapted,
            is_draft and is_copy,
            likeness[neighbours.ABOVE] * likeness[neighbours.BELOW],
            likeness[neighbours.SAME_ABOVE] * likeness[neighbours.SAME_BELOW],
            *likeness,
        ]
    )


@dataclass(frozen=True, eq=False)
class Ranker:
    """weights (features,); `none`: the score of "none of them"."""

    weights: np.ndarray
    none: float

    def shares(self, rows: np.ndarray) -> np.ndarray:
        """rows (n, features) of the candidates at a cursor: the probability (n,) that each is the right one."""
        scores = np.append(rows @ self.weights, self.none)
        return np.exp(scores - np.logaddexp.reduce(scores))[:-1]

    def to_json(self) -> dict[str, Any]:
        return {
            "weights": dict(zip(NAMES, np.round(self.weights, 4).tolist(), strict=True)),
            "none": round(self.none, 4),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Ranker:
        return cls(np.array([content["weights"][name] for name in NAMES]), float(content["none"]))


def start() -> Ranker:
    """By probability alone, until something is fitted."""
    weights = np.zeros(len(NAMES))
    weights[NAMES.index("likely")] = 5.0
    return Ranker(weights, -1e3)


def fit_ranker(
    cursors: Sequence[tuple[np.ndarray, int]], begin: Ranker | None = None, tightness: float = 1.0, steps: int = 500
) -> Ranker:
    """The weights that make the right candidates most likely: rows (n, features) of each cursor, and which of them is
    right (-1: none).  Adam on the likelihood, less a penalty for leaving the weights of `begin` (or zero).
    """
    most = max(len(rows) for rows, _ in cursors)
    x = np.zeros((len(cursors), most, len(NAMES)))
    out = np.full((len(cursors), most + 1), -np.inf)
    right = np.zeros((len(cursors), most + 1))
    for number, (rows, place) in enumerate(cursors):
        x[number, : len(rows)] = rows
        out[number, : len(rows)] = out[number, -1] = 0.0
        right[number, place] = 1.0  # -1 is the last column: none
    anchor = np.zeros(len(NAMES) + 1) if begin is None else np.append(begin.weights, begin.none)
    values, first, second = anchor.copy(), np.zeros(len(NAMES) + 1), np.zeros(len(NAMES) + 1)
    for step in range(1, steps + 1):
        scores = out + np.concatenate([x @ values[:-1], np.full((len(x), 1), values[-1])], axis=1)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        wrong = shares / shares.sum(axis=1, keepdims=True) - right
        pull = tightness * (values[:-1] - anchor[:-1])
        slope = np.append(np.einsum("nc,ncf->f", wrong[:, :-1], x) + pull, wrong[:, -1].sum()) / len(x)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        rate = 0.05 * (1 - 0.9 * step / steps)
        values -= rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.99**step)) + 1e-9)
    return Ranker(values[:-1], float(values[-1]))
