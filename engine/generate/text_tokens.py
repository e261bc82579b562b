"""Tokens kept between requests: of a text that changes little, and of texts that come again."""

from __future__ import annotations

import re
from collections import OrderedDict

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer

MOST = 1 << 19  # characters; of a longer text, the end
MOST_KEPT = 64  # texts
BLOCK = 1 << 12  # characters between two cuts
# Every tokenizer ends a token here: between a letter and a line break.
_CUT = re.compile(r"(?<=[A-Za-z])(?=\n)")


class TextTokens:
    """Tokenizes in blocks and keeps those of the last text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._kept: dict[str, np.ndarray] = {}

    def ids_of(self, text: str) -> np.ndarray:
        """The tokens of `text`, the same as from `Tokenizer.encode`."""
        blocks = list(_blocks(text[max(0, len(text) - MOST) :]))
        new = [block for block in dict.fromkeys(blocks) if block not in self._kept]
        fresh = dict(zip(new, self._tokenizer.encode_batch(new), strict=True))
        self._kept = {block: fresh[block] if block in fresh else self._kept[block] for block in blocks}
        return np.concatenate([self._kept[block] for block in blocks]) if blocks else self._tokenizer.encode("")


class KeptTokens:
    """Tokens of whole texts, of the last MOST_KEPT of them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._kept: OrderedDict[str, np.ndarray] = OrderedDict()

    def ids_of(self, text: str) -> np.ndarray:
        if text not in self._kept:
            self._kept[text] = self._tokenizer.encode(text)
        self._kept.move_to_end(text)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return self._kept[text]


def _blocks(text: str):
    begin = 0
    while begin < len(text):
        found = _CUT.search(text, begin + BLOCK)
        end = found.start() if found else len(text)
        yield text[begin:end]
        begin = end
