"""Token healing: what is right before the cursor (white space, half a word, punctuation) is written again.

In training the space before a word, a line end with its indentation, or `()` is one token. A prompt that stops in the
middle of such a token is unlike anything the model has seen, and no memory contains it. So the last word or punctuation
is removed from the prompt, with the white space before it; the first tokens must then reproduce it exactly, and may
continue beyond it within the same token. It is not shown again.
"""

from __future__ import annotations

import re
from bisect import bisect_left

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer

MOST = 64  # characters; a longer run is left as it is
_LAST = re.compile(r"(?:\s*\w+|\s*[^\w\s]+|\s+)\Z")
_WORD = re.compile(r"(?<!\w)[^\W\d]\w*\Z")


def without_typed(prefix: str) -> tuple[str, str]:
    """`prefix` without its last word, punctuation or white space, and what was removed."""
    found = _LAST.search(prefix, max(0, len(prefix) - 2 * MOST))
    if found is None or len(found[0]) > MOST:
        return prefix, ""
    return prefix[: found.start()], found[0]


def half_word(prefix: str) -> str:
    """The name that the cursor is in or right after; "" where there is none."""
    found = _WORD.search(prefix, max(0, len(prefix) - MOST))
    return found[0] if found else ""


class TypedTokens:
    """Which tokens may follow while some text must still be reproduced."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._bytes = tokenizer.token_bytes
        self._sorted = sorted((data, number) for number, data in enumerate(tokenizer.token_bytes) if data)
        self._keys = [data for data, _ in self._sorted]
        self._exact = {}
        for data, number in reversed(self._sorted):  # of equal ones the lowest id
            self._exact[data] = number

    def allowed(self, typed: bytes) -> np.ndarray:
        """The ids, ascending, of the tokens that are a start of `typed`, or start with all of it."""
        ids = [self._exact[typed[:end]] for end in range(1, len(typed)) if typed[:end] in self._exact]
        place = bisect_left(self._keys, typed)
        while place < len(self._keys) and self._keys[place].startswith(typed):
            ids.append(self._sorted[place][1])
            place += 1
        return np.array(sorted(set(ids)), np.int32)

    def bytes_of(self, token: int) -> bytes:
        """The text of a token; b"" for an id that the tokenizer does not have."""
        return self._bytes[token] if token < len(self._bytes) else b""
