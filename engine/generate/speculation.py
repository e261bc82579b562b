"""Guesses at the next tokens without a second model: code repeats itself.

The longest run of tokens that ends the text and stood somewhere before is looked for, in the text itself and in the
repository; what followed it there is the guess. The model then says in one pass how far the guess is right, so the
text is the one it would have written token by token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engine.generate.decoder import FEW_TOKENS

KEY = 3  # tokens that must agree for a guess
LOOKED_AT = 16  # places that are compared, the latest ones
LONGEST_RUN = 16  # beyond it one place is as good as another
MOST_TOKENS = FEW_TOKENS - 1  # in a guess: with the token before it, what one pass verifies


class TokenRuns:
    """A text of tokens in which runs are found by their last KEY tokens; built once, for a repository."""

    def __init__(self, tokens: np.ndarray) -> None:
        """tokens (t,), of any integer type; kept as they are."""
        self.tokens = tokens
        keys = _keys(np.asarray(tokens, np.int64))
        self._order = np.argsort(keys, kind="stable").astype(np.int32)
        self._keys = keys[self._order]

    def places(self, key: int) -> np.ndarray:
        """Where the tokens behind a run with this key begin, the latest last."""
        first, last = np.searchsorted(self._keys, [key, key + 1])
        return np.sort(self._order[first:last])[-LOOKED_AT:] + KEY


class Speculator:
    """Guesses for one growing text."""

    def __init__(self, prompt: Sequence[int] | np.ndarray, repository: TokenRuns | None = None) -> None:
        self._tokens = np.array(prompt, np.int64)
        self._length = len(self._tokens)
        self._keys = _keys(self._tokens)
        self._repository = repository

    def extend(self, tokens: Iterable[int]) -> None:
        """The text goes on with `tokens`."""
        for token in tokens:
            if self._length == len(self._tokens):
                self._tokens = np.append(self._tokens, np.zeros(max(256, self._length), np.int64))
                self._keys = np.append(self._keys, np.zeros(len(self._tokens) - len(self._keys), np.int64))
            self._tokens[self._length] = token
            self._length += 1
            if self._length >= KEY:
                self._keys[self._length - KEY] = _keys(self._tokens[self._length - KEY : self._length])[0]

    def guess(self, most: int = MOST_TOKENS) -> list[int]:
        """At most `most` tokens that may come next; none where the end of the text is new.

        Half as many as the run is long: the longer it is, the longer it goes on, and a wrong guess costs time.
        """
        if self._length < KEY or most < 1:
            return []
        source = self._tokens[: self._length]
        key = int(self._keys[self._length - KEY])
        run, place = self._longest(source, np.flatnonzero(self._keys[: self._length - KEY] == key)[-LOOKED_AT:] + KEY)
        if self._repository is not None:
            other, there = self._longest(self._repository.tokens, self._repository.places(key))
            if other > run:
                run, place, source = other, there, self._repository.tokens
        return source[place : place + min(most, run // 2, MOST_TOKENS)].tolist()

    def _longest(self, tokens: np.ndarray, places: np.ndarray) -> tuple[int, int]:
        """The longest run before one of `places` that also ends the text, and that place; 0 where there is none."""
        best = found = 0
        end = self._tokens[max(0, self._length - LONGEST_RUN) : self._length]
        for place in places.tolist():
            before = tokens[max(0, place - len(end)) : place]
            differ = np.flatnonzero(before[::-1] != end[::-1][: len(before)])
            run = int(differ[0]) if len(differ) else len(before)
            if run >= best and place < len(tokens):
                best, found = run, place
        return best, found


def _keys(tokens: np.ndarray) -> np.ndarray:
    """One number for every KEY tokens in a row; ids are below 2**21."""
    count = max(0, len(tokens) - KEY + 1)
    keys = np.zeros(count, np.int64)
    for offset in range(KEY):
        keys = (keys << 21) | tokens[offset : offset + count]
    return keys
