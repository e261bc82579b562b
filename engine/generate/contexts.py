"""Caches of other texts, kept on the host: coming back to one costs a copy instead of reading it again."""

from __future__ import annotations

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

    def clear(self) -> None:
        self._kept.clear()
