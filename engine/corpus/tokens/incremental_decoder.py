"""Text from a stream of ids, for showing while it is generated.

A token may end within a character; what is not yet a whole character is held back. What can never become one is shown
as U+FFFD, so the text is always valid Unicode.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.corpus.tokens.tokenizer import Tokenizer


class IncrementalDecoder:
    """`feed` ids as they come; `finish` at the end.  Joined, the pieces are `decode(ids, surrogates=False)`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, ids: int | Iterable[int]) -> str:
        """The characters that `ids` complete; "" where there are none yet."""
        ids = [ids] if isinstance(ids, int) or not isinstance(ids, Iterable) else ids
        return self._decoder.decode(self._tokenizer.decode_bytes(ids))

    @property
    def pending(self) -> bool:
        """Whether bytes of an unfinished character are held back."""
        return bool(self._decoder.getstate()[0])

    def finish(self) -> str:
        """What is left, as U+FFFD where a character was not finished; the decoder is then as new."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
