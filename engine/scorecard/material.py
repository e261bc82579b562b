"""What all models are asked about: held-out text, and cursors in it.

A cursor stands where a programmer would pause: after the indentation of a line that is still to be written. Everything
before it and after that line is known, the line is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.corpus.corpus import Corpus
from engine.errors import CorpusError

LEAST_LETTERS = 3  # of a line that is worth asking for: not a bracket, not "]),"
LONGEST_LINE = 200  # characters; nobody writes longer ones by hand


@dataclass(frozen=True)
class HeldOutText:
    path: str
    text: str


@dataclass(frozen=True)
class Cursor:
    """Before `text[start:end]` of one file: the line that is to be guessed, without its newline."""

    file: int
    start: int
    end: int


@dataclass(frozen=True)
class Material:
    """The same for every model."""

    texts: tuple[HeldOutText, ...]
    cursors: tuple[Cursor, ...]
    seed: int

    def line(self, cursor: Cursor) -> str:
        return self.texts[cursor.file].text[cursor.start : cursor.end]

    def before(self, cursor: Cursor, most: int) -> str:
        """At most about `most` characters before the cursor, beginning with a whole line."""
        text = self.texts[cursor.file].text
        first = cursor.start - most
        if first <= 0:
            return text[: cursor.start]
        newline = text.find("\n", first, cursor.start)
        return text[newline + 1 if newline >= 0 else first : cursor.start]

    def after(self, cursor: Cursor, most: int) -> str:
        """At most about `most` characters from the end of the cursor's line on, ending with a whole line."""
        text = self.texts[cursor.file].text[cursor.end :]
        if len(text) <= most:
            return text
        newline = text.rfind("\n", 0, most)
        return text[: newline + 1 if newline >= 0 else most]


def held_out_material(corpus: Corpus, cursors: int, seed: int, most_characters: int = 0) -> Material:
    """The held-out files of a corpus, whole, in a fixed shuffle and at most so many characters of them."""
    documents = corpus.held_out_documents
    if not documents:
        raise CorpusError(f"Nothing in {corpus.root} is held out.", "Choose a folder with more source code in it.")
    order = np.random.default_rng([seed, 1]).permutation(len(documents))
    texts: list[HeldOutText] = []
    size = 0
    for index in order:
        document = documents[index]
        text = corpus.tokenizer.decode(corpus.document_tokens(document))
        if texts and most_characters and size + len(text) > most_characters:
            continue
        texts.append(HeldOutText(document.path, text))
        size += len(text)
    texts.sort(key=lambda item: item.path)
    return Material(tuple(texts), choose_cursors(texts, cursors, seed), seed)


def choose_cursors(texts: Sequence[HeldOutText], count: int, seed: int) -> tuple[Cursor, ...]:
    """At most `count` of the lines that are worth asking for, any as likely as any other, in order of place."""
    lines = [cursor for number, text in enumerate(texts) for cursor in candidate_lines(number, text.text)]
    if len(lines) > count:
        chosen = np.random.default_rng([seed, 2]).choice(len(lines), count, replace=False)
        lines = [lines[index] for index in np.sort(chosen)]
    return tuple(lines)


def candidate_lines(file: int, text: str) -> Iterable[Cursor]:
    """Every line of a file but its first that has something in it to be guessed."""
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
