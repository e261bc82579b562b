"""What stands right before the cursor and is written again: blanks, a word that is half typed, or punctuation.

In training the space before a word, a line end with its indentation, or `()` is one token. A prompt that stops in the
middle of such a token is like nothing the model has seen, and no memory holds it. So the last word or sign is taken off
the prompt, with the blanks before it; the first tokens must then write exactly this, and may go on behind it in the
same token. It is not shown.
"""

from __future__ import annotations

import re
from bisect import bisect_left

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer

MOST = 64  # characters; a longer run is taken as it is
_LAST = re.compile(r"(?:\s*\w+|\s*[^\w\s]+|\s+)\Z")
_WORD = re.compile(r"(?<!\w)[^\W\d]\w*\Z")


def without_typed(prefix: str) -> tuple[str, str]:
    """`prefix` without its last word, signs or blanks, and those."""
    found = _LAST.search(prefix, max(0, len(prefix) - 2 * MOST))
    if found is None or len(found[0]) > MOST:
        return prefix, ""
    return prefix[: found.start()], found[0]


def half_word(prefix: str) -> str:
    """The name that the cursor stands in or right behind; "" where there is none."""
    found = _WORD.search(prefix, max(0, len(prefix) - MOST))
    return found[0] if found else ""


class TypedTokens:
    """Which tokens may follow where some text is still to be written."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._bytes = tokenizer.token_bytes
        self._sorted = sorted((data, number) for number, data in enumerate(tokenizer.token_bytes) if data)
        self._keys = [data for data, _ in self._sorted]
        self._exact = {}
        for data, number in reversed(self._sorted):  # of equal ones the lowest id
            self._exact[data] = number

    def allowed(self, typed: bytes) -> np.ndarray:
        """The ids, ascending, of the tokens that write a beginning of `typed`, or all of it and more."""
        ids = [self._exact[typed[:end]] for end in range(1, len(typed)) if typed[:end] in self._exact]
        place = bisect_left(self._keys, typed)
        while place < len(self._keys) and self._keys[place].startswith(typed):
            ids.append(self._sorted[place][1])
            place += 1
        return np.array(sorted(set(ids)), np.int32)

    def bytes_of(self, token: int) -> bytes:
        """The text of a token; none of one that only a larger model has."""
        return self._bytes[token] if token < len(self._bytes) else b""
