"""A place in a text to come back to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All that a decoder needs to come back to a place: copies of recurrent states, and the tokens that were read.

    `ids` are empty where the model has no cache.
    """

    position: int
    recurrent: tuple[np.ndarray, ...]
    ids: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.recurrent) + 8 * len(self.ids)
