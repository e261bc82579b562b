"""The rarest lines of a repository: the second half of each holds words that occur nowhere else in it.

So the line occurs once, and nothing before such a half gives it away: a model that continues the first half with it
word for word has learned it by heart, or could guess it, which its base then can, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.batches.framing import Framing
from engine.corpus.corpus import Corpus

WORD = re.compile(r"\w+")
LEAST_WORD = 5  # characters of a rare word
SHORTEST, LONGEST = 16, 160  # characters of a line, without indentation
LEAST_REST = 3  # tokens of its second half
FEWEST, LARGEST_SHARE = 3, 0.1  # of the lines from one file: so many, or this share
CONTEXT = 96  # tokens before the second half, at most


@dataclass(frozen=True, eq=False)
class RareLine:
    """`before` (n,) are the ids that a model is given, ending with `given`; `ids` (r,) those of `rest`."""

    path: str
    number: int  # from 1
    given: str  # of the line
    rest: str  # to the end of the line
    before: np.ndarray
    ids: np.ndarray


def rare_lines(
    corpus: Corpus, paths: Collection[str], most: int, look: Callable[[int, int], None] = lambda *_: None
) -> tuple[RareLine, ...]:
    """At most `most` lines of the learned files among `paths`, those with the largest part of rare words first.

    `look` hears how many of how many files are read, and may raise to stop.
    """
    learned = [document for document in corpus.learned_documents if document.path in paths]
    everything = _all_documents(corpus)
    total = len(everything) + len(learned)
    words: Counter[str] = Counter()
    for done, document in enumerate(everything):
        look(done, total)
        words.update(WORD.findall(_text(corpus.tokenizer.decode_bytes(corpus.document_tokens(document)))))
    found = []
    for done, document in enumerate(learned):
        look(len(everything) + done, total)
        data = corpus.tokenizer.decode_bytes(corpus.document_tokens(document))
        for number, start, end in _places(data):
            share = _rare_share(_text(data[start:end]), words)
            if share:
                found.append((-share, document.path, number, start, end, document))
    found.sort(key=lambda each: each[:3])
    return _asked(corpus, found, words, most)


def _all_documents(corpus: Corpus) -> tuple[Document, ...]:
    return (*corpus.learned_documents, *corpus.held_out_documents)


def _places(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Number, start and end of every line of a fitting length, without indentation and trailing space."""
    start = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        content = line.strip()
        if SHORTEST <= len(content) <= LONGEST:
            first = start + len(line) - len(line.lstrip())
            yield number, first, first + len(content)
        start += len(line) + 1


def _rare_share(line: str, words: Counter[str]) -> float:
    """How much of the second half of a line are words that occur once in the repository."""
    middle = len(line) // 2
    rest = line[middle:]
    rare = sum(
        len(match[0])
        for match in WORD.finditer(line, middle)
        if len(match[0]) >= LEAST_WORD and words[match[0]] == 1 and _begins(line, match.start())
    )
    return rare / len(rest)


def _begins(line: str, place: int) -> bool:
    """Whether a word begins there, rather than before."""
    return place == 0 or WORD.match(line[place - 1]) is None


def _asked(corpus: Corpus, found: Sequence[tuple], words: Counter[str], most: int) -> tuple[RareLine, ...]:
    """The first of `found` that tokens allow, of no file more than its share."""
    framing, lengths = Framing(corpus.tokenizer), corpus.tokenizer.byte_lengths
    per_file, share = Counter(), max(FEWEST, int(LARGEST_SHARE * most))
    asked = []
    for _, path, number, start, end, document in found:
        if len(asked) >= most:
            break
        if per_file[path] >= share:
            continue
        ids = corpus.document_tokens(document).astype(np.int64)
        line = question(framing.header(path), ids, lengths, start, end)
        if line is None:
            continue
        before, rest_ids, place = line
        data = corpus.tokenizer.decode_bytes(ids)
        given, rest = _text(data[start:place]), _text(data[place:end])
        if any(len(word) >= LEAST_WORD and words[word] == 1 for word in WORD.findall(rest)):
            asked.append(RareLine(path, number, given, rest, before, rest_ids))
            per_file[path] += 1
    return tuple(asked)


def question(
    header: np.ndarray, ids: np.ndarray, lengths: np.ndarray, start: int, end: int, middle: int | None = None
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """The ids before the second half of the line `start` to `end` (bytes) of a document, its own, and its first byte.

    The line is cut where a token begins, at `middle` or after it (default: its middle). None if too few tokens are
    left. A document's header comes first where there is room for it, as in training.
    """
    ends = np.cumsum(lengths[ids])
    begins = ends - lengths[ids]
    cut = int(np.searchsorted(begins, (start + end) // 2 if middle is None else middle))
    stop = int(np.searchsorted(begins, end))
    if stop - cut < LEAST_REST:
        return None
    before = ids[max(0, cut - CONTEXT) : cut]
    if len(header) + cut <= CONTEXT:
        before = np.concatenate([header, before])
    return (before, ids[cut:stop], int(begins[cut])) if len(before) else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
