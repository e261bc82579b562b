"""A document as the model reads it: separator, path, newline, content, end of text; or with the middle at its end.

Where the tokenizer is our own the suffix comes first, so that while somebody types, the prompt only grows at its end;
models that were trained elsewhere get the order they know (`SpecialTokens.suffix_first`). Training and completion both
build their tokens here. A tokenizer that has no file separator leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import TokenizerError


class Framing:
    """Puts tokens of content into the frame of a document; all ids are of the tokenizer's dtype."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        special = tokenizer.special
        self._file = self._ids(special.file)
        self._end = self._ids(special.end_of_text)
        self._prefix, self._suffix = self._ids(special.fim_prefix), self._ids(special.fim_suffix)
        self._middle = self._ids(special.fim_middle)
        self._headers: dict[str, np.ndarray] = {}

    def prepare(self, paths: Iterable[str]) -> None:
        """Makes the headers of `paths` in one go."""
        new = [path for path in dict.fromkeys(paths) if path not in self._headers]
        for path, ids in zip(new, self.tokenizer.encode_batch([f"{path}\n" for path in new]), strict=True):
            self._headers[path] = np.concatenate([self._file, ids])

    def header(self, path: str) -> np.ndarray:
        """`<|file|> path newline`."""
        if path not in self._headers:
            self.prepare([path])
        return self._headers[path]

    def document(self, path: str, content: np.ndarray) -> np.ndarray:
        """`<|file|> path newline content <|endoftext|>`."""
        return np.concatenate([self.header(path), content, self._end])

    def fill_in(self, path: str, prefix: np.ndarray, middle: np.ndarray, suffix: np.ndarray) -> np.ndarray:
        """`<|file|> path newline <|fim_suffix|> suffix <|fim_prefix|> prefix <|fim_middle|> middle <|endoftext|>`, or
        with the prefix and its token in front of the suffix and its own.
        """
        return np.concatenate([self.fill_in_prompt(path, prefix, suffix), middle, self._end])

    def fill_in_prompt(self, path: str, prefix: np.ndarray, suffix: np.ndarray) -> np.ndarray:
        """`fill_in` up to where the middle begins: what a completion is asked with."""
        if not self.tokenizer.has_fim:
            raise TokenizerError(
                f"{self.tokenizer.name} has no fill-in-the-middle tokens.", "Complete at the end of the text only."
            )
        before, after = (self._prefix, prefix), (self._suffix, suffix)
        first, second = (after, before) if self.tokenizer.special.suffix_first else (before, after)
        return np.concatenate([self.header(path), *first, *second, self._middle])

    def after_prefix(self, suffix: np.ndarray) -> int:
        """How many tokens follow the prefix in a `fill_in_prompt`."""
        return len(self._middle) + (0 if self.tokenizer.special.suffix_first else len(self._suffix) + len(suffix))

    def _ids(self, number: int | None) -> np.ndarray:
        return np.array([] if number is None else [number], self.tokenizer.dtype)
