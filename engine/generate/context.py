"""More context from the repository: pieces of recently edited files that resemble the code around the cursor.

Similarity is the share of identifiers that two pieces have in common (Jaccard). The code around the cursor is taken in
blocks of lines, so that the choice, and with it the start of the prompt, stays the same while someone types.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

CHUNK_LINES = 32
AROUND_LINES = 32  # before the block the cursor is in
BLOCK_LINES = 16  # the choice is the same anywhere in a block
MOST_FILES = 32  # that are remembered
LEAST_SIMILARITY = 0.05
MOST_CHARACTERS = 1 << 20  # of one file

_IDENTIFIER = re.compile(r"\b[^\W\d]\w{2,}")


@dataclass(frozen=True)
class ContextChunk:
    """A piece of another file, put before the prompt as a separate document."""

    path: str
    text: str = field(repr=False)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        return identifiers(self.text)


class RecentFiles:
    """The most recently edited files, split into pieces; `choose` returns those most like the code at the cursor."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, tuple[ContextChunk, ...]] = OrderedDict()

    def note(self, path: str, text: str) -> None:
        """A file was opened or edited: it is now the most recent."""
        self._files[path] = chunks(path, text[:MOST_CHARACTERS])
        self._files.move_to_end(path)
        while len(self._files) > MOST_FILES:
            self._files.popitem(last=False)

    def forget(self, path: str) -> None:
        """A file was removed."""
        self._files.pop(path, None)

    def choose(self, path: str, prefix: str, count: int = 2) -> tuple[ContextChunk, ...]:
        """At most `count` pieces of files other than `path`, the most similar one last: next to the prompt."""
        others = [chunk for name, found in reversed(self._files.items()) if name != path for chunk in found]
        return most_similar(others, around_cursor(prefix), count)


def chunks(path: str, text: str) -> tuple[ContextChunk, ...]:
    """`text` in pieces of CHUNK_LINES lines, without those that have no identifiers."""
    lines = text.splitlines(keepends=True)
    pieces = ("".join(lines[begin : begin + CHUNK_LINES]) for begin in range(0, len(lines), CHUNK_LINES))
    return tuple(chunk for chunk in (ContextChunk(path, piece) for piece in pieces) if chunk.identifiers)


def most_similar(candidates: Iterable[ContextChunk], place: str, count: int) -> tuple[ContextChunk, ...]:
    """The `count` candidates most similar to `place`, the best one last; of equal ones the earlier."""
    wanted = identifiers(place)
    scored = [(similarity(chunk.identifiers, wanted), -number, chunk) for number, chunk in enumerate(candidates)]
    near = sorted((one for one in scored if one[0] >= LEAST_SIMILARITY), key=lambda one: one[:2])
    return tuple(chunk for _, _, chunk in near[max(0, len(near) - count) :])


def around_cursor(prefix: str) -> str:
    """The lines before the cursor's block, without what changes with every keystroke."""
    lines = prefix.split("\n")
    end = (len(lines) - 1) // BLOCK_LINES * BLOCK_LINES
    begin = max(0, end - AROUND_LINES)
    return "\n".join(lines[begin:end] or lines[:-1])


def identifiers(text: str) -> frozenset[str]:
    """The words of three or more letters, digits and underscores."""
    return frozenset(_IDENTIFIER.findall(text))


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """The share of words in both among those in either."""
    return len(first & second) / len(first | second) if first and second else 0.0
