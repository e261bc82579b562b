"""Held-out loss, one batch at a time, so that a pause or a stop need not wait for all of it.

Batches are kept apart: where a run is stopped in the middle of an evaluation, what was measured is held against the
same batches of an earlier one, which is a fair comparison of a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.errors import InputError
from engine.model.model import Model


class TokenBatch(Protocol):
    """A batch as the corpus gives it: tokens (b, l+1), and how many targets of each row count."""

    tokens: np.ndarray
    counted: np.ndarray


@dataclass(frozen=True)
class Measured:
    """The summed losses and counted targets of batches of one source, in their order."""

    sums: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()

    def with_batch(self, total: float, count: int) -> Measured:
        return Measured((*self.sums, total), (*self.counts, count))

    @property
    def loss(self) -> float:
        """The mean of every counted target."""
        return sum(self.sums) / sum(self.counts) if sum(self.counts) else float("nan")

    def loss_as_continued(self, reference: Measured) -> float:
        """What the mean would be if the batches that are missing here stood to those of `reference` as these do."""
        done = len(self.sums)
        if not sum(self.counts):
            return float("nan")
        return reference.loss + (sum(self.sums) - sum(reference.sums[:done])) / sum(self.counts)


class Evaluation:
    """The loss of each of `sources`, batch by batch in turn."""

    def __init__(self, model: Model, sources: Sequence[Iterable[TokenBatch]]) -> None:
        self._model = model
        self.measured = [Measured() for _ in sources]
        self._batches = _in_turn(sources)
        self._waiting: tuple[int, TokenBatch] | None = None
        self.seconds = 0.0

    @property
    def has_begun(self) -> bool:
        """Whether a batch of every source was measured."""
        return all(measured.counts for measured in self.measured)

    def advance(self) -> bool:
        """Measure one batch; True when there is none left.  One that fails (memory) is tried again the next time."""
        if self._waiting is None:
            self._waiting = next(self._batches, None)
        if self._waiting is None:
            if not sum(self.measured[0].counts):
                raise InputError(
                    "There is no held-out code to measure on.", "Hold some files out, or learn more of them."
                )
            return True
        source, batch = self._waiting
        total = float(self._model.losses(batch.tokens, batch.counted).sum(dtype=np.float64))
        self.measured[source] = self.measured[source].with_batch(total, int(batch.counted.sum()))
        self._waiting = None
        return False


def _in_turn(sources: Sequence[Iterable[TokenBatch]]) -> Iterator[tuple[int, TokenBatch]]:
    """A batch of each source, then the next of each, with the source's number."""
    open_ones = [(number, iter(source)) for number, source in enumerate(sources)]
    while open_ones:
        for entry in list(open_ones):
            number, batches = entry
            batch = next(batches, None)
            if batch is None:
                open_ones.remove(entry)
            else:
                yield number, batch
