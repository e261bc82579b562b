"""What all models are scored on: held-out code, and cursors in it.

Only code, only from files that are kept for scoring (`corpus.scoring_documents`), and of no file more than its share.
A cursor is where a programmer would pause: after the indentation of a line that is yet to be written. Everything before
it and after that line is known; the line is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.batches.held_out_parts import SHARED
from engine.corpus.corpus import Corpus
from engine.errors import CorpusError

LARGEST_SHARE = 0.2  # of a score in one file
EVEN_SHARES = 1.5  # for few files: times the share that each would have if all were equal
LEAST_LETTERS = 3  # of a line worth completing: not a bracket, not "]),"
LONGEST_LINE = 200  # characters; longer ones are rarely written by hand
NO_CODE = "No held-out file is code, so other text is measured."


@dataclass(frozen=True)
class HeldOutText:
    """A whole file; a memory is measured without the file of this path."""

    path: str
    text: str
    language: str = ""
    counted_characters: int | None = None  # from the beginning; None for all

    @property
    def counted(self) -> str:
        """The part that is measured: the beginning of a large file, up to the end of a line."""
        return self.text if self.counted_characters is None else self.text[: self.counted_characters]


@dataclass(frozen=True)
class Cursor:
    """Before `text[start:end]` of one file: the line to complete, without its newline."""

    file: int
    start: int
    end: int


@dataclass(frozen=True)
class Material:
    """The same for every model."""

    texts: tuple[HeldOutText, ...]
    cursors: tuple[Cursor, ...]
    seed: int
    notes: tuple[str, ...] = ()  # for people, in whole sentences
    left_out: frozenset[str] = frozenset()  # further paths that a memory must not know

    @property
    def characters(self) -> int:
        """Of what is measured."""
        return sum(len(text.counted) for text in self.texts)

    @property
    def unknown_paths(self) -> frozenset[str]:
        """Every file that a memory must not know."""
        return self.left_out | {text.path for text in self.texts}

    def line(self, cursor: Cursor) -> str:
        return self.texts[cursor.file].text[cursor.start : cursor.end]

    def before(self, cursor: Cursor, most: int) -> str:
        """At most about `most` characters before the cursor, starting with a whole line."""
        text = self.texts[cursor.file].text
        first = cursor.start - most
        if first <= 0:
            return text[: cursor.start]
        newline = text.find("\n", first, cursor.start)
        return text[newline + 1 if newline >= 0 else first : cursor.start]

    def after(self, cursor: Cursor, most: int) -> str:
        """At most about `most` characters after the cursor's line, ending with a whole line."""
        text = self.texts[cursor.file].text[cursor.end :]
        if len(text) <= most:
            return text
        newline = text.rfind("\n", 0, most)
        return text[: newline + 1 if newline >= 0 else most]


def held_out_material(corpus: Corpus, cursors: int, seed: int, most_characters: int = 0) -> Material:
    """Code reserved for scoring, in a fixed random order and limited to a number of characters (0: all)."""
    documents = corpus.code_among(corpus.scoring_documents)
    notes = [] if documents else [NO_CODE]
    if corpus.shares_held_out:
        notes.append(SHARED)
    documents = documents or corpus.scoring_documents
    largest = int(largest_share(len(documents)) * most_characters)
    texts = capped(_texts(corpus, documents, seed, most_characters, largest), largest)
    return Material(texts, choose_cursors(texts, cursors, seed), seed, tuple(notes), held_out_paths(corpus))


def every_held_out_file(corpus: Corpus, seed: int, most_characters: int = 0) -> Material:
    """All held-out files of every kind, without cursors: for the loss of each file, not for a score."""
    texts = tuple(_texts(corpus, corpus.held_out_documents, seed, most_characters, 0))
    return Material(texts, (), seed, left_out=held_out_paths(corpus))


def held_out_paths(corpus: Corpus) -> frozenset[str]:
    return frozenset(document.path for document in corpus.held_out_documents)


def _texts(
    corpus: Corpus, documents: Sequence[Document], seed: int, most_characters: int, largest: int
) -> list[HeldOutText]:
    """As many files as there is room for, by path; at most `largest` characters of each are counted (0: no limit)."""
    if not documents:
        raise CorpusError(f"Nothing in {corpus.root} is held out.", "Choose a folder with more source code.")
    texts: list[HeldOutText] = []
    size = 0
    for index in np.random.default_rng([seed, 1]).permutation(len(documents)):
        document = documents[index]
        text = corpus.tokenizer.decode(corpus.document_tokens(document))
        room = min(len(text), largest or len(text))
        if texts and most_characters and size + room > most_characters:
            continue
        texts.append(HeldOutText(document.path, text, corpus.by_path[document.path].language))
        size += room
    return sorted(texts, key=lambda item: item.path)


def capped(texts: Sequence[HeldOutText], largest: int = 0) -> tuple[HeldOutText, ...]:
    """The same texts, counted so that none is more than its share of all, nor longer than `largest` (if not 0)."""
    most = most_of_one([min(len(text.text), largest or len(text.text)) for text in texts])
    found = []
    for text in texts:
        if len(text.text) > most:
            end = text.text.rfind("\n", 0, most) + 1
            text = replace(text, counted_characters=end or most)
        found.append(text)
    return tuple(found)


def choose_cursors(texts: Sequence[HeldOutText], count: int, seed: int) -> tuple[Cursor, ...]:
    """At most `count` lines worth completing, by `fair_choice`."""
    lines = [cursor for number, text in enumerate(texts) for cursor in candidate_lines(number, text.counted)]
    return fair_choice(lines, count, np.random.default_rng([seed, 2]))


def fair_choice(lines: Sequence[Cursor], count: int, rng: np.random.Generator) -> tuple[Cursor, ...]:
    """At most `count` of the lines, in their order; each is equally likely until its file has its share."""
    available = Counter(line.file for line in lines)
    most = most_of_one(list(available.values()))
    total = min(count, sum(min(each, most) for each in available.values()))
    most = min(most, max(1, int(largest_share(len(available)) * total)))
    taken: Counter[int] = Counter()
    chosen = []
    for index in rng.permutation(len(lines)):
        if len(chosen) >= count:
            break
        file = lines[index].file
        if taken[file] < most:
            taken[file] += 1
            chosen.append(index)
    return tuple(lines[index] for index in sorted(chosen))


def candidate_lines(file: int, text: str) -> Iterable[Cursor]:
    """Every line of a file, except the first, that has something to complete."""
    start = text.find("\n") + 1
    while 0 < start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        stop = end - 1 if text[start:end].endswith("\r") else end
        line = text[start:stop]
        content = line.lstrip()
        if sum(map(str.isalnum, content)) >= LEAST_LETTERS and len(content) <= LONGEST_LINE:
            yield Cursor(file, start + len(line) - len(content), start + len(line.rstrip()))
        start = end + 1


# ---- how much of a score one file may be: enough to count, never so much that it decides alone


def largest_share(files: int) -> float:
    """The share of a score that one of so many files may have; all of it for a single file."""
    return min(1.0, max(LARGEST_SHARE, EVEN_SHARES / max(1, files)))


def most_of_one(sizes: Sequence[int]) -> int:
    """The most that each may contribute so that none exceeds its largest share of the total."""
    share = largest_share(len(sizes))
    low, high = 0, max(sizes, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if middle <= share * sum(min(size, middle) for size in sizes):
            low = middle
        else:
            high = middle - 1
    return low
