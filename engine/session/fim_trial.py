"""Whether a model predicts code better if it also sees the text after the cursor.

The rest of a line of held-out code is predicted twice, from the prompts that the completer would make: without and with
the text after the cursor. Both are rows of the same batches, of the size that held-out code is measured in, so that a
trial takes no memory of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.batches.fim import draw
from engine.corpus.corpus import Corpus
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.prompt import PromptBuilder, PromptLimits
from engine.model.model import Model
from engine.session.batches import HELD_OUT_BATCH

CASES = 64
FEWEST = 16  # cases; fewer decide nothing
PREFIX_SHARE, SUFFIX_SHARE = 0.5, 0.25  # of a row, in characters as long as its tokens are on average
SEED = 0


@dataclass(frozen=True, eq=False)
class Case:
    """Two prompts for one cursor and the tokens that follow, of which the first `typed` are known to the completer."""

    without: np.ndarray
    with_suffix: np.ndarray
    answer: np.ndarray
    typed: int


@dataclass(frozen=True)
class FimVerdict:
    """Mean losses a token over `cases` lines; `error`: the standard error of their difference."""

    cases: int
    without: float
    with_suffix: float
    error: float

    @property
    def helps(self) -> bool:
        """Whether seeing the text after the cursor is better by more than chance makes of it."""
        return self.cases >= FEWEST and self.with_suffix < self.without - self.error

    @property
    def words(self) -> str:
        if self.cases < FEWEST:
            return f"Fill-in-the-middle cannot be judged: only {self.cases} held-out lines fit into a window."
        found = "helps" if self.helps else "does not help yet"
        return (
            f"Fill-in-the-middle {found}: on {self.cases} held-out lines the loss is {self.with_suffix:.3f} with the "
            f"text after the cursor and {self.without:.3f} without it (± {self.error:.3f})."
        )

    @property
    def facts(self) -> dict[str, Any]:
        """For a manifest."""
        if not self.cases:
            return {"lines": 0}
        return {
            "lines": self.cases,
            "loss_without_text_after": self.without,
            "loss_with_text_after": self.with_suffix,
            "standard_error": self.error,
        }


class FimTrial:
    """Measures `model` on `documents`, a batch at a time.  The corpus has the tokenizer with the roles."""

    def __init__(self, model: Model, corpus: Corpus, documents: Sequence[Document], length: int) -> None:
        """`length`: of a row, in tokens."""
        self._model, self._length = model, length
        self._cases = list(islice(_cases(corpus, documents, length), CASES))
        self._measured: list[tuple[float, float, int]] = []  # of each case: both losses, summed, and tokens

    @property
    def finished(self) -> bool:
        return len(self._measured) == len(self._cases)

    def advance(self) -> None:
        """Measure one batch."""
        begin, count = len(self._measured), HELD_OUT_BATCH // 2
        cases = self._cases[begin : begin + count]
        tokens = np.zeros((HELD_OUT_BATCH, self._length + 1), np.int32)
        counted = np.zeros(HELD_OUT_BATCH, np.int32)
        prompts = [prompt for case in cases for prompt in (case.without, case.with_suffix)]
        for row, prompt in enumerate(prompts):
            whole = np.concatenate([prompt, cases[row // 2].answer])
            tokens[row, : whole.size], counted[row] = whole, whole.size - 1
        losses = self._model.losses(tokens, counted)
        for place, case in enumerate(cases):
            sums = []
            for row in (2 * place, 2 * place + 1):
                first = prompts[row].size - 1 + case.typed
                sums.append(float(losses[row, first : counted[row]].sum(dtype=np.float64)))
            self._measured.append((*sums, case.answer.size - case.typed))

    def verdict(self) -> FimVerdict:
        """Of what was measured so far."""
        count = len(self._measured)
        if not count:
            return FimVerdict(0, math.nan, math.nan, math.nan)
        without, with_suffix, tokens = np.array(self._measured).T
        total = tokens.sum()
        gain = with_suffix - without
        spread = gain - gain.sum() / total * tokens
        error = math.sqrt(float(np.sum(spread**2)) * count / max(1, count - 1)) / total
        return FimVerdict(count, float(without.sum() / total), float(with_suffix.sum() / total), error)


def _cases(corpus: Corpus, documents: Sequence[Document], length: int) -> Iterator[Case]:
    """Cases in turn from every document, again and again while they have lines; the same ones every time."""
    tokenizer = corpus.tokenizer
    count = min(CASES, len(documents))
    documents = [documents[place * len(documents) // count] for place in range(count)]
    texts = {document.path: tokenizer.decode(corpus.document_tokens(document)) for document in documents}
    tokens = sum(document.tokens for document in documents)
    wide = length * sum(map(len, texts.values())) / max(1, tokens)
    prompts = PromptBuilder(tokenizer, PromptLimits(max(16, int(PREFIX_SHARE * wide)), int(SUFFIX_SHARE * wide), 0))
    lines = {path: _lines(text) for path, text in texts.items()}
    for turn in range(CASES):
        for path, text in texts.items():
            chances = draw(SEED, turn, path).cuts
            if not lines[path]:
                continue
            begin, end = lines[path].pop(int(chances[0] * len(lines[path])))
            place = begin if turn % 2 == 0 else begin + int(chances[1] * (end - begin))
            case = _case(prompts, tokenizer, path, text, place, end)
            longest = max(case.without.size, case.with_suffix.size) + case.answer.size
            if case.answer.size > case.typed and longest <= length + 1:
                yield case


def _case(prompts: PromptBuilder, tokenizer: Tokenizer, path: str, text: str, place: int, end: int) -> Case:
    """The line of `text` that ends at `end`, from `place` on."""
    without, with_suffix = (prompts.build(text[:place], text[end:], path, fill_in=fill_in) for fill_in in (False, True))
    answer = tokenizer.encode(without.typed.decode("utf-8", "surrogatepass") + text[place:end])
    ends = np.cumsum(tokenizer.byte_lengths[answer])
    typed = int(np.searchsorted(ends, len(without.typed), side="right"))
    return Case(without.ids, with_suffix.ids, answer, typed)


def _lines(text: str) -> list[tuple[int, int]]:
    """First character and end of every line that has text on it, above it and below it."""
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    found, begin = [], 0
    for line in text.split("\n"):
        end = begin + len(line)
        if line.strip() and first < begin and end < last:
            found.append((end - len(line.lstrip()), end))
        begin = end + 1
    return found
