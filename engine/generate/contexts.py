"""Caches of other texts, kept on the host: coming back to one costs a copy instead of reading it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MOST_BYTES = 256 << 20
MOST = 4


@dataclass(frozen=True, eq=False)
class Context:
    """Keys and values (layers, tokens, width) of `ids`."""

    ids: tuple[int, ...]
    rows: tuple[np.ndarray, ...]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.rows)


class Contexts:
    """The most recent ones, within bounds."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: list[Context] = []  # the most recent one last

    def keep(self, context: Context) -> None:
        """Keep it in place of any that it begins with; the oldest make room."""
        self._kept = [other for other in self._kept if context.ids[: len(other.ids)] != other.ids]
        self._kept.append(context)
        while len(self._kept) > self._most or sum(each.nbytes for each in self._kept) > self._most_bytes:
            del self._kept[0]

    def take(self, ids: tuple[int, ...]) -> Context | None:
        """One that begins with `ids`, which then is no longer kept here."""
        for context in reversed(self._kept):
            if context.ids[: len(ids)] == ids:
                self._kept.remove(context)
                return context
        return None

    def take_nearest(self, ids: tuple[int, ...], least: int) -> Context | None:
        """The one that agrees with `ids` for longest, for more than `least` tokens; it then is no longer kept here."""
        nearest = max(self._kept, key=lambda context: agreement(context.ids, ids), default=None)
        if nearest is None or agreement(nearest.ids, ids) <= least:
            return None
        self._kept.remove(nearest)
        return nearest

    def clear(self) -> None:
        self._kept.clear()


def agreement(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two texts have in common at their start."""
    size = min(len(one), len(other))
    differing = np.flatnonzero(np.asarray(one[:size]) != np.asarray(other[:size]))
    return int(differing[0]) if len(differing) else size
