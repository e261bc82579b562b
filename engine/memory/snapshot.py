"""What the memory of a repository knows at one moment.  Immutable, so any thread may use it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.memory.evidence import Source
from engine.memory.names import Names, OtherNames
from engine.memory.segment import Entry, Segment


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, counted from 1."""

    path: str
    line: int


@dataclass(frozen=True, eq=False)
class MemorySnapshot:
    """`segments`: the large one, then what was edited since; `dead` (n,) uint8 for each: places that no longer count,
    or empty.  `recent`: paths of recently edited files, the latest first.
    """

    tokenizer: Tokenizer
    segments: tuple[Segment, ...]
    dead: tuple[np.ndarray, ...]
    names: Names
    recent: tuple[str, ...] = ()
    left_out: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The documents that count."""
        return tuple(
            entry
            for segment, dead in zip(self.segments, self.dead, strict=True)
            for entry in segment.entries
            if not (len(dead) and dead[entry.start])
        )

    @property
    def tokens(self) -> int:
        """Tokens that count."""
        return sum(entry.count for entry in self.entries)

    def sources(self, path: str = "") -> tuple[Source, ...]:
        """What can be searched, without the file `path`: it is open, and its text in the editor is newer."""
        found = []
        for segment, dead in zip(self.segments, self.dead, strict=True):
            own = (0, 0)
            for entry in segment.of_path(path):
                if own != (0, 0):  # a file in two documents: the second is left out place by place
                    dead = dead.copy() if len(dead) else np.zeros(len(segment.tokens), np.uint8)
                    dead[own[0] : own[1]] = 1
                own = (entry.start, entry.start + entry.count + 1)
            found.append(Source(segment, dead, own))
        return tuple(found)

    def names_beside(self, path: str) -> Names | OtherNames:
        """All names except those that only the file `path` has."""
        for segment, dead in zip(self.segments, self.dead, strict=True):
            live = [entry for entry in segment.of_path(path) if not (len(dead) and dead[entry.start])]
            if live:
                return OtherNames(self.names, b"\n".join(self._bytes(segment, entry) for entry in live))
        return self.names

    def without(self, paths: Collection[str]) -> MemorySnapshot:
        """As if these files did not exist: for measuring on them."""
        wanted = frozenset(paths)
        masks, texts = [], []
        for segment, dead in zip(self.segments, self.dead, strict=True):
            mask = dead.copy() if len(dead) else np.zeros(len(segment.tokens), np.uint8)
            for entry in segment.entries:
                if entry.path in wanted and not mask[entry.start]:
                    mask[entry.start : entry.start + entry.count + 1] = 1
                    texts.append(self._bytes(segment, entry))
            masks.append(mask)
        names = self.names.changed(texts, ())
        return replace(self, dead=tuple(masks), names=names, left_out=self.left_out | wanted)

    def places_of(self, ids: np.ndarray, path: str = "") -> list[Place]:
        """Where exactly these tokens (the last 24 of them) occur, recently edited files first; not in `path`."""
        order = {name: number for number, name in enumerate(self.recent)}
        found: list[tuple[int, str, Segment, Entry, int]] = []
        for segment, dead in zip(self.segments, self.dead, strict=True):
            for place in segment.places_after(ids.astype(segment.tokens.dtype))[:MOST_PLACES].tolist():
                entry = segment.entry_at(place)
                if entry.path != path and not (len(dead) and dead[place]):
                    found.append((order.get(entry.path, len(order)), entry.path, segment, entry, place))
        found.sort(key=lambda one: (one[0], one[1], one[4]))
        return [Place(name, self._line(segment, entry, place - len(ids))) for _, name, segment, entry, place in found]

    def _line(self, segment: Segment, entry: Entry, place: int) -> int:
        before = segment.tokens[entry.start : max(entry.start, place + 1)]
        return 1 + int(self._newlines[before].sum())

    @cached_property
    def _newlines(self) -> np.ndarray:
        return np.array([data.count(b"\n") for data in self.tokenizer.token_bytes], np.int32)

    def _bytes(self, segment: Segment, entry: Entry) -> bytes:
        return self.tokenizer.decode_bytes(segment.tokens[entry.start : entry.start + entry.count])


MOST_PLACES = 200  # looked up for one suggestion
