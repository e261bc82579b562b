"""A half-typed word is completed to one that exists, as long as one fits.

A small model completes half a word freely (`HLSStr` becomes `HLSStrip`). The names in the open file and the repository
are known, so tokens that would form a word that occurs nowhere are skipped.
"""

from __future__ import annotations

import re

import numpy as np

from engine.generate.healing import TypedTokens
from engine.memory.names import SHORTEST, Names

LOOKED_AT = 64  # of the likeliest tokens; all of them only where none of these fits
_WORD_BYTES = re.compile(rb"[A-Za-z0-9_\x80-\xff]*")


class WordGuard:
    """Guards one word.  `typed`: the text that is written again; it ends with `word`, the part before the cursor."""

    def __init__(self, typed: bytes, word: bytes, names: tuple[Names, ...]) -> None:
        self._begin, self._word, self._names = len(typed) - len(word), word, names
        self._active = bool(word) and self._fits(word)

    def is_over(self, done: bytes) -> bool:
        """Whether the word has ended in the text written so far, or is not guarded."""
        return not self._active or len(self._of(done)) < len(done) - self._begin

    def pass_over(self, probabilities: np.ndarray, tokens: TypedTokens, done: bytes) -> np.ndarray:
        """Probabilities (v,) without the tokens that would form a word that exists nowhere."""
        if self.is_over(done):
            return probabilities
        count = min(LOOKED_AT, len(probabilities))
        best = np.argpartition(-probabilities, count - 1)[:count]
        kept = [int(one) for one in best if probabilities[one] > 0 and self._allows(done, tokens.bytes_of(int(one)))]
        if not kept:
            order = np.argsort(-probabilities, kind="stable").tolist()
            likely = (one for one in order if probabilities[one] > 0)
            first = next((one for one in likely if self._allows(done, tokens.bytes_of(one))), None)
            kept = [] if first is None else [first]
        if not kept:
            return probabilities
        left = np.zeros_like(probabilities)
        left[kept] = probabilities[kept]
        return left / left.sum()

    def _of(self, text: bytes) -> bytes:
        """The guarded word within `text`."""
        return _WORD_BYTES.match(text, self._begin)[0] if len(text) > self._begin else b""

    def _allows(self, done: bytes, data: bytes) -> bool:
        """Whether a token with this text may follow; one without text ends the word."""
        text = done + data
        word = self._of(text)
        ends = not data or len(word) < len(text) - self._begin
        if len(word) < SHORTEST or (not ends and len(word) <= len(self._word)):  # `if` is on no list of names
            return True
        return any(word in names for names in self._names) if ends else self._fits(word)

    def _fits(self, word: bytes) -> bool:
        return any(names.fits(word) for names in self._names)
