"""From a cursor in a text to the tokens the model reads, framed as in training.

    [<|file|> path newline chunk <|endoftext|> ...]  <|file|> path newline prefix
    [...]  <|file|> path newline <|fim_suffix|> suffix <|fim_prefix|> prefix <|fim_middle|>

The last word before the cursor is written again (`healing`), so the prompt ends before it. Where the model knows that
order (`framing`), the text after the cursor comes first, so that typing only appends and earlier states can be reused.
`marks` are positions whose state is worth
keeping. A long prefix is cut at its start, in large steps and at line ends, so that the start does not move with every
keystroke.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.context import ContextChunk
from engine.generate.healing import without_typed
from engine.option_info import check_number

MARK_TOKENS = 256  # between two kept states in a prompt
LINES_BACK = 8  # one more state this many lines before the cursor, for small edits above it
NO_FIM = "This model has no fill-in-the-middle tokens: it only sees the text before the cursor."


@dataclass(frozen=True)
class PromptLimits:
    """How many characters around the cursor, and of other files, the model sees."""

    prefix_characters: int = 4096
    suffix_characters: int = 1024
    context_characters: int = 4096

    def __post_init__(self) -> None:
        for name in ("prefix_characters", "suffix_characters", "context_characters"):
            check_number(name, getattr(self, name), 0 if name != "prefix_characters" else 16, 1 << 24, whole=True)


@dataclass(frozen=True)
class Prompt:
    """ids (t,) int32, t >= 1; `marks`: positions, ascending, the last one t; `note`: what the user should know.

    `typed`: the text between the prompt and the cursor, which must be written first.
    """

    ids: np.ndarray
    marks: tuple[int, ...]
    fim_used: bool
    note: str
    typed: bytes = b""


class PromptBuilder:
    """Makes prompts for one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, limits: PromptLimits | None = None) -> None:
        self.tokenizer, self.limits = tokenizer, limits or PromptLimits()
        self._framing = Framing(tokenizer)
        self._end_of_text = np.array([tokenizer.special.end_of_text], tokenizer.dtype)

    def build(
        self,
        prefix: str,
        suffix: str = "",
        path: str = "",
        context: tuple[ContextChunk, ...] = (),
        *,
        fill_in: bool = True,
    ) -> Prompt:
        """The prompt for a cursor between `prefix` and `suffix`; without `fill_in` the suffix is left out."""
        prefix = last_characters(prefix, self.limits.prefix_characters)
        prefix, typed = without_typed(prefix)
        suffix = first_characters(suffix, self.limits.suffix_characters)
        fill_in = fill_in and bool(suffix.strip())
        fim_used = fill_in and self.tokenizer.has_fim
        prefix_ids = self.tokenizer.encode(prefix)
        if fim_used:
            suffix_ids = self.tokenizer.encode(suffix)
            asked = self._framing.fill_in_prompt(path, prefix_ids, suffix_ids)
            after = self._framing.after_prefix(suffix_ids)
        else:
            asked, after = np.concatenate([self._header(path), prefix_ids]), 0
        ids = np.concatenate([*self._documents(context), asked]).astype(np.int32)
        marks = self._marks(prefix, prefix_ids, len(ids) - after - len(prefix_ids), len(ids))
        return Prompt(
            ids, marks, fim_used, NO_FIM if fill_in and not fim_used else "", typed.encode("utf-8", "surrogatepass")
        )

    def _header(self, path: str) -> np.ndarray:
        """Never empty: without a file separator, a document starts after the end of another."""
        if self.tokenizer.special.file is not None:
            return self._framing.header(path)
        return np.concatenate([self._end_of_text, self._framing.header(path)]) if path else self._end_of_text

    def _documents(self, context: tuple[ContextChunk, ...]) -> list[np.ndarray]:
        """Chunks as documents, as many of the last ones (the most similar) as the limit allows."""
        left, documents = self.limits.context_characters, []
        for chunk in reversed(context):
            left -= len(chunk.text)
            if left < 0:
                break
            documents.append(self._framing.document(chunk.path, self.tokenizer.encode(chunk.text)))
        return documents[::-1]

    def _marks(self, prefix: str, prefix_ids: np.ndarray, begin: int, end: int) -> tuple[int, ...]:
        """Every MARK_TOKENS, at line starts near the cursor, and at the end."""
        marks = {*range(MARK_TOKENS, end, MARK_TOKENS), end}
        ends = np.cumsum(self.tokenizer.byte_lengths[prefix_ids])
        places = [prefix.rfind("\n") + 1]
        line = len(prefix)
        for _ in range(LINES_BACK):
            line = prefix.rfind("\n", 0, max(0, line))
        places.append(line + 1)
        for place in places:
            after = len(prefix[place:].encode("utf-8", "surrogatepass"))
            whole = int(np.searchsorted(ends, ends[-1] - after, side="right")) if len(ends) else 0
            marks.add(begin + whole)
        return tuple(sorted(mark for mark in marks if mark > 0))


def last_characters(text: str, limit: int) -> str:
    """The end of `text`, at most `limit` characters, from a line start if one is near.

    The start moves in steps of a quarter of the limit while the text grows.
    """
    if len(text) <= limit:
        return text
    step = max(1, limit // 4)
    begin = -(-(len(text) - limit) // step) * step
    line = text.find("\n", begin - 1, begin + step) + 1
    return text[line or begin :]


def first_characters(text: str, limit: int) -> str:
    """The start of `text`, at most `limit` characters, up to a line end if there is one in the second half."""
    if len(text) <= limit:
        return text
    line = text.rfind("\n", limit // 2, limit) + 1
    return text[: line or limit]
