"""The blanks before the cursor, which the model writes again.

In training an indentation, a line end or the space before a word is a part of the token that follows or that it ends
with. A prompt that stops in the middle of such a token is like nothing the model has seen, and what it says next is
poor. So the blanks that end the text before the cursor are taken off the prompt; the first tokens must then write
exactly these blanks, and may go on behind them in the same token. They are not shown.
"""

from __future__ import annotations

import numpy as np

from engine.corpus.tokenizer import Tokenizer

BLANKS = " \t\r\n"
MOST = 64  # characters; a longer run is no token's


def without_blanks(prefix: str) -> tuple[str, str]:
    """`prefix` without the blanks at its end, and those.  A text of blanks alone stays as it is."""
    kept = prefix.rstrip(BLANKS)
    if not kept or len(prefix) - len(kept) > MOST:
        return prefix, ""
    return kept, prefix[len(kept) :]


class BlankTokens:
    """Which tokens may follow where some blanks are still to be written."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._starts = [
            (number, data)
            for number, data in enumerate(tokenizer.token_bytes)
            if data and data[:1].decode("latin-1") in BLANKS
        ]
        self._known: dict[bytes, np.ndarray] = {}

    def allowed(self, blanks: bytes) -> np.ndarray:
        """The ids, ascending, of the tokens that write a beginning of `blanks`, or all of it and more."""
        if blanks not in self._known:
            ids = [number for number, data in self._starts if data.startswith(blanks) or blanks.startswith(data)]
            self._known[blanks] = np.array(ids, np.int32)
        return self._known[blanks]

    def left_after(self, blanks: bytes, token: int) -> bytes:
        """What is still to be written behind `token`."""
        return blanks[len(self._tokenizer.token_bytes[token]) :]
