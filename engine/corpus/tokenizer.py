"""The tokenizer: text to ids and back, exactly.

Being written: the signatures below are fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class SpecialTokens:
    """Ids; None where the tokenizer has no such token."""

    end_of_text: int
    file: int | None = None
    fim_prefix: int | None = None
    fim_suffix: int | None = None
    fim_middle: int | None = None
    pad: int | None = None


class Tokenizer:
    special: SpecialTokens
    vocab_size: int  # the highest id + 1
    dtype: np.dtype  # uint16 or uint32: the smallest that holds every id
    digest: str  # 32 hex digits; stable over save and load
    has_fim: bool

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        """tokenizer.json, vocab.json (with merges.txt beside it), or a folder that holds either."""

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int = 8192) -> Tokenizer: ...
    def save(self, path: Path | str) -> None:
        """To a file, or as tokenizer.json into a folder."""

    def fits(self, model_vocab_size: int) -> bool: ...
    def encode(self, text: str) -> np.ndarray: ...
    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]: ...
    def decode(self, ids: Iterable[int]) -> str: ...
