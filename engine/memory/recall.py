"""The memory at one cursor: what the repository and the open file say about the next token, mixed with the model.

A `Recall` lives as long as one request. What it has of the open file is the text as it stands in the editor, saved or
not; the same file as the repository has it is left out, so that a file never sees itself.
"""

from __future__ import annotations

import numpy as np

from engine.memory.evidence import MOST_TEXT, Counter, Source
from engine.memory.mixing import Mixing, add, certainty
from engine.memory.segment import border_of
from engine.memory.suffixes import LONGEST

NEAR = 400  # tokens on each side of the cursor that count once more


class Recall:
    """Asked token by token."""

    def __init__(
        self,
        counter: Counter,
        mixing: Mixing,
        sources: tuple[Source, ...],
        before: np.ndarray,
        after: np.ndarray,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """`before` and `after`: the tokens of the open file on both sides of the cursor.  `without`: names of levels
        that are not asked ("repository", "before", "after", "near"), to see what they are worth.
        """
        self._counter, self._mixing, self._sources = counter, mixing, sources
        self._before, self._after = before, after
        dtype = np.dtype(np.uint16 if counter.vocabulary < 1 << 16 else np.uint32)
        before, after = before[-MOST_TEXT:].astype(dtype), after[:MOST_TEXT].astype(dtype)
        known = before[:0] if "before" in without else before
        behind = after[:0] if "after" in without else after
        self._text = np.concatenate([known, np.array([border_of(dtype)], dtype), behind])
        self._cursor = len(known)
        near = min(NEAR, self._cursor)
        self._near = self._text[self._cursor - near : self._cursor + 1 + NEAR]
        self._near_cursor = near
        self._context = before[-LONGEST:]
        self._without = without
        self._blind: Recall | None = None
        self.longest = 0  # tokens of the last context that were found anywhere

    def blind(self) -> Recall:
        """The same without what is after the cursor: for asking how likely that is."""
        if self._blind is None:
            self._blind = Recall(
                self._counter, self._mixing, self._sources, self._before, self._after[:0], self._without
            )
        return self._blind

    def mixed(self, scores: np.ndarray, written: list[int]) -> np.ndarray:
        """Probabilities (v,) of the token after `written`, which goes on where `before` ends; `scores` are the
        model's.
        """
        probabilities = np.exp(scores.astype(np.float64) - scores.max())
        probabilities /= probabilities.sum()
        sure = certainty(probabilities.max())
        context = np.concatenate([self._context, np.array(written[-LONGEST:], self._text.dtype)])[-LONGEST:]
        levels = self._mixing.levels
        self.longest = 0
        if "repository" not in self._without and self._sources:
            found = self._counter.of_segments(self._sources, context)
            add(probabilities, found, levels["repository"], sure)
            self.longest = found.longest
        found = self._counter.of_text(self._text, self._cursor, context)
        add(probabilities, found, levels["file"], sure)
        self.longest = max(self.longest, found.longest)
        if "near" not in self._without:
            add(probabilities, self._counter.of_text(self._near, self._near_cursor, context), levels["near"], sure)
        return probabilities
