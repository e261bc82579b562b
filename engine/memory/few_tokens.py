"""The mixture at the tokens that the memory knows, and nowhere else.

The mixture is linear in the model's part: all that the memory has not seen keeps its order. So the best token is one
that the memory has seen, or the model's best, and no other score is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.memory.evidence import Evidence
from engine.memory.mixing import Level, add, certainty

UNKNOWN_MODEL = 0.5  # the probability that its best token is taken to have before it is known


@dataclass(frozen=True, eq=False)
class FewTokens:
    """What was seen at one place.  tokens (u,) int32: all of it, in rising order; `levels`: evidence about places in
    `tokens`, in the order in which it is mixed.
    """

    tokens: np.ndarray
    levels: list[tuple[Evidence, Level]]

    @staticmethod
    def of(found: list[tuple[Evidence, Level]]) -> FewTokens:
        tokens = union(*(evidence.tokens for evidence, _ in found))
        return FewTokens(
            tokens,
            [
                (replace(evidence, tokens=np.searchsorted(tokens, evidence.tokens).astype(np.int32)), level)
                for evidence, level in found
            ],
        )

    def best(self, scores: np.ndarray, log_sum: float, best_token: int, best_score: float) -> tuple[int, float]:
        """The best token of the mixture, of equal ones the lowest, and its probability.

        scores (u,): the model's. `best_token`, `best_score`: its best. `log_sum`: the logarithm of the sum of the
        exponentials of all its scores.
        """
        place = int(np.searchsorted(self.tokens, best_token))
        is_seen = place < len(self.tokens) and self.tokens[place] == best_token
        probabilities = np.exp(np.append(scores, best_score).astype(np.float64) - log_sum)
        kept = self._mix(probabilities, certainty(float(probabilities[-1])))
        if is_seen:
            kept = 0.0
        chosen = int(np.argmax(probabilities[:-1])) if len(self.tokens) else 0
        seen = float(probabilities[chosen]) if len(self.tokens) else -1.0
        if kept > seen or (kept == seen and best_token < self.tokens[chosen]):
            return best_token, kept
        return int(self.tokens[chosen]), seen

    def guess(self) -> tuple[int, float]:
        """What the memory alone takes for the next token, and the share of the mixture that it gives it; -1 and 0 where
        it has seen nothing.
        """
        if not len(self.tokens):
            return -1, 0.0
        shares = np.zeros(len(self.tokens))
        self._mix(shares, certainty(UNKNOWN_MODEL))
        place = int(np.argmax(shares))
        return int(self.tokens[place]), float(shares[place])

    def _mix(self, probabilities: np.ndarray, sure: int) -> float:
        """Mix all levels in, in place; returns the last of the probabilities, which no evidence is about."""
        for evidence, level in self.levels:
            add(probabilities, evidence, level, sure)
        return float(probabilities[-1])


def union(*tokens: np.ndarray) -> np.ndarray:
    """In rising order."""
    return np.unique(np.concatenate(tokens)) if tokens else np.empty(0, np.int32)
