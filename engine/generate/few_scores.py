"""What a mixture with the memory needs of the model's scores: a few numbers a token, not a row of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class FewScores:
    """Of n tokens.  best (n, 3): logarithm of the sum of the exponentials, largest score, its token.  tokens (m,) in
    rising order, scores (n, m): theirs; more columns than that mean nothing.  `whole`: all scores (n, v), only until
    the decoder reads on.
    """

    best: np.ndarray
    tokens: np.ndarray
    scores: np.ndarray
    whole: Callable[[], np.ndarray]

    def best_of(self, row: int) -> tuple[float, int, float]:
        """The logarithm of the sum of the exponentials, the best token and its score."""
        log_sum, score, token = self.best[row].tolist()
        return log_sum, int(token), score

    def of(self, row: int, tokens: np.ndarray) -> np.ndarray:
        """The scores of some tokens after one of those read."""
        places = np.searchsorted(self.tokens, tokens)
        if len(tokens) and (places[-1] == len(self.tokens) or not np.array_equal(self.tokens[places], tokens)):
            return self.whole()[row, tokens]
        return self.scores[row, places]
