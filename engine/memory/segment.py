"""A segment: some documents in one text, sorted for lookup (`suffixes`).  Immutable.

A repository has a large segment, memory-mapped, and a small one for what was edited since.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.memory.suffixes import LONGEST, match, sort_buckets, sort_by_last


@dataclass(frozen=True, slots=True)
class Entry:
    """A document of a segment: tokens[start : start + count]; `digest` is that of its text."""

    path: str
    digest: str
    start: int
    count: int


@dataclass(frozen=True, eq=False)
class Segment:
    """tokens (n,), order (n-1,) uint32, followers (n-1,): the token at each place of `order`."""

    tokens: np.ndarray
    order: np.ndarray
    followers: np.ndarray
    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        """A segment that was built is as read-only as a mapped one: to Numba these are different types, and what looks
        things up would be compiled once more, for seconds, in the middle of a completion."""
        for array in (self.tokens, self.order, self.followers):
            array.flags.writeable = False

    @cached_property
    def _starts(self) -> list[int]:
        return [entry.start for entry in self.entries]

    @cached_property
    def _by_path(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.path, []).append(entry)
        return found

    def of_path(self, path: str) -> list[Entry]:
        """The documents of a file: one, or two where it is split by lines."""
        return self._by_path.get(path, [])

    @property
    def count(self) -> int:
        """Tokens, without borders."""
        return len(self.tokens) - len(self.entries) - 1

    def entry_at(self, place: int) -> Entry:
        """The document that a place is in; the border after it belongs to it."""
        return self.entries[bisect_right(self._starts, place) - 1]

    def places_after(self, context: np.ndarray) -> np.ndarray:
        """The places after every occurrence of `context`, as far as the order distinguishes them."""
        ranges = np.empty((LONGEST + 1, 2), np.int64)
        wanted = min(LONGEST, len(context))
        if match(self.tokens, self.order, context[len(context) - wanted :], ranges) < wanted:
            return np.empty(0, np.uint32)
        return self.order[ranges[wanted, 0] : ranges[wanted, 1]]


def border_of(dtype: np.dtype) -> int:
    """What separates documents: not a token, since a vocabulary is never that large."""
    return int(np.iinfo(dtype).max)


def build_segment(
    documents: Sequence[tuple[str, str, np.ndarray]], vocabulary: int, cancelled: Callable[[], bool] | None = None
) -> Segment | None:
    """From documents as path, digest and tokens; None if cancelled."""
    dtype = np.dtype(np.uint16 if vocabulary < 1 << 16 else np.uint32)
    size = 1 + sum(len(ids) + 1 for _, _, ids in documents)
    tokens = np.full(size, border_of(dtype), dtype)
    entries, start = [], 1
    for path, digest, ids in documents:
        tokens[start : start + len(ids)] = ids
        entries.append(Entry(path, digest, start, len(ids)))
        start += len(ids) + 1
    order = np.empty(size - 1, np.uint32)
    _sort(tokens, order, vocabulary, cancelled)
    if cancelled is not None and cancelled():
        return None
    return Segment(tokens, order, tokens[order], tuple(entries))


def _sort(tokens: np.ndarray, order: np.ndarray, vocabulary: int, cancelled: Callable[[], bool] | None) -> None:
    """Bucket by bucket, on all cores."""
    border = border_of(tokens.dtype)
    # Borders sort last: as if they were a token after the vocabulary.
    keys = tokens if border <= vocabulary else np.minimum(tokens, tokens.dtype.type(vocabulary))
    begins = np.empty(vocabulary + 2, np.int64)
    sort_by_last(keys, order, begins)
    parts = np.searchsorted(begins[:-1], np.linspace(0, len(order), 65)[1:-1])
    edges = [0, *parts.tolist(), vocabulary]

    def sort_part(number: int) -> None:
        if edges[number] < edges[number + 1] and not (cancelled is not None and cancelled()):
            sort_buckets(keys, order, begins, edges[number], edges[number + 1], vocabulary)

    if len(order) < 1 << 16:
        sort_buckets(keys, order, begins, 0, vocabulary, vocabulary)
        return
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        list(threads.map(sort_part, range(len(edges) - 1)))
