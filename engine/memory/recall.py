"""The memory at one cursor: what the repository and the open file say about the next token, mixed with the model.

A `Recall` lives as long as one request. Of the open file it uses the text in the editor, saved or not; the version in
the repository is left out, so that a file never sees itself.
"""

from __future__ import annotations

import numpy as np

from engine.memory.evidence import MOST_TEXT, Counter, Evidence, Source
from engine.memory.few_tokens import FewTokens
from engine.memory.mixing import SURE, Level, Mixing, add, add_to_one, certainty
from engine.memory.segment import border_of
from engine.memory.suffixes import LONGEST

NEAR = 400  # tokens on each side of the cursor that count twice


class Recall:
    """Queried token by token."""

    def __init__(
        self,
        counter: Counter,
        mixing: Mixing,
        sources: tuple[Source, ...],
        before: np.ndarray,
        after: np.ndarray,
        without: frozenset[str] = frozenset(),
        nearby: tuple[np.ndarray, ...] = (),
    ) -> None:
        """`before` and `after`: the tokens of the open file on both sides of the cursor.  `without`: levels to leave
        out ("repository", "before", "after", "near"), for ablations.  `nearby`: tokens of other texts that count as
        much as the open file.
        """
        self._counter, self._mixing, self._sources = counter, mixing, sources
        dtype = np.dtype(np.uint16 if counter.vocabulary < 1 << 16 else np.uint32)
        before, after = before[-MOST_TEXT:].astype(dtype), after[:MOST_TEXT].astype(dtype)
        known = before[:0] if "before" in without else before
        behind = after[:0] if "after" in without else after
        border = np.array([border_of(dtype)], dtype)
        self._text = np.concatenate([known, border, behind])
        self._cursor = len(known)
        near = min(NEAR, self._cursor)
        self._near = self._text[self._cursor - near : self._cursor + 1 + NEAR]
        self._near_cursor = near
        for ids in nearby:
            self._text = np.concatenate([self._text, border, ids.astype(dtype)])
        self._context = before[-LONGEST:]
        self._without = without

    def mixed(self, scores: np.ndarray, written: list[int]) -> np.ndarray:
        """Probabilities (v,) of the token after `written`, which continues `before`; `scores` are the model's."""
        probabilities = np.exp(scores.astype(np.float64) - scores.max())
        probabilities /= probabilities.sum()
        sure = certainty(probabilities.max())
        for found, level in self._evidence(written):
            add(probabilities, found, level, sure)
        return probabilities

    def chance_of(self, token: int, chance: float, best: float, written: list[int]) -> float:
        """The probability that `mixed` gives one token, from those that the model gives it and its best one."""
        for found, level in self._evidence(written):
            chance = add_to_one(chance, token, found, level, certainty(best))
        return chance

    def shares_of(self, token: int) -> np.ndarray:
        """(2, classes): a and b of `mixed(token) = a p + b`, p being the model's probability of the token that comes
        after `before`, by how confident the model is (`mixing.certainty`)."""
        evidence = self._evidence([])
        found = np.empty((2, len(SURE) + 1))
        for sure in range(len(SURE) + 1):
            whole, none = 1.0, 0.0
            for counts, level in evidence:
                whole, none = (add_to_one(chance, token, counts, level, sure) for chance in (whole, none))
            found[:, sure] = whole - none, none
        return found

    def few_tokens(self, written: list[int]) -> FewTokens:
        """What is known of the token after `written` without the model."""
        return FewTokens.of(self._evidence(written))

    def _evidence(self, written: list[int]) -> list[tuple[Evidence, Level]]:
        """What followed the text up to here in each source, and how far to trust it."""
        context = np.concatenate([self._context, np.array(written[-LONGEST:], self._text.dtype)])[-LONGEST:]
        levels, found = self._mixing.levels, []
        if "repository" not in self._without and self._sources:
            found.append((self._counter.of_segments(self._sources, context), levels["repository"]))
        found.append((self._counter.of_text(self._text, self._cursor, context), levels["file"]))
        if "near" not in self._without:
            found.append((self._counter.of_text(self._near, self._near_cursor, context), levels["near"]))
        return found
