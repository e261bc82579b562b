"""The names that occur in a repository, so that a half-typed word is completed to one that exists.

Each name is kept with the number of documents that contain it: when a file is removed, its unique names go with it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

NAME = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*")
SHORTEST = 3  # bytes; shorter ones are not worth it


def names_in(data: bytes) -> set[bytes]:
    """The different names in a text."""
    return {name for name in NAME.findall(data) if len(name) >= SHORTEST}


def count_names(texts: Iterable[bytes]) -> Counter[bytes]:
    """In how many of the texts each name occurs."""
    found: Counter[bytes] = Counter()
    for text in texts:
        found.update(names_in(text))
    return found


class Names:
    """Immutable, and loaded on first use; any thread may use it."""

    def __init__(self, read: Callable[[], Mapping[bytes, int]]) -> None:
        self._read = read

    @cached_property
    def counts(self) -> Mapping[bytes, int]:
        return self._read()

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(self.counts)

    def __contains__(self, name: bytes) -> bool:
        return name in self.counts

    def count(self, name: bytes) -> int:
        """In how many documents a name is."""
        return self.counts.get(name, 0)

    def beginning_with(self, beginning: bytes) -> Iterator[bytes]:
        """In order."""
        for place in range(bisect_left(self._sorted, beginning), len(self._sorted)):
            if not self._sorted[place].startswith(beginning):
                return
            yield self._sorted[place]

    def fits(self, beginning: bytes) -> bool:
        """Whether some name is or starts with this."""
        return next(self.beginning_with(beginning), None) is not None

    def changed(self, gone: Iterable[bytes], come: Iterable[bytes]) -> Names:
        """Without the names of removed texts and with those of added ones."""
        gone, come = list(gone), list(come)
        if not gone and not come:
            return self

        def read() -> Mapping[bytes, int]:
            counts = Counter(self.counts)
            counts.update(count_names(come))
            counts.subtract(count_names(gone))
            return {name: count for name, count in counts.items() if count > 0}

        return Names(read)


class OtherNames:
    """The names of a repository without those that only one text has: a file does not see itself."""

    def __init__(self, names: Names, text: bytes) -> None:
        self._names, self._own = names, names_in(text)

    def __contains__(self, name: bytes) -> bool:
        return self._names.count(name) > (name in self._own)

    def fits(self, beginning: bytes) -> bool:
        """Whether some name is or starts with this."""
        return any(name in self for name in self._names.beginning_with(beginning))
