"""Held-out loss, one batch at a time, so that a pause or a stop does not wait for all of it.

The loss of every batch is kept: when a run is stopped during an evaluation, what was measured is compared with the same
batches of an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.errors import InputError
from engine.model.model import Model


class TokenBatch(Protocol):
    """A batch of the corpus: tokens (b, l+1), and how many targets of each row count."""

    tokens: np.ndarray
    counted: np.ndarray


@dataclass(frozen=True)
class Measured:
    """The summed losses and the number of targets of each batch of one source."""

    sums: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()

    def with_batch(self, total: float, count: int) -> Measured:
        return Measured((*self.sums, total), (*self.counts, count))

    @property
    def loss(self) -> float:
        """Mean per target."""
        return sum(self.sums) / sum(self.counts) if sum(self.counts) else float("nan")

    def loss_as_continued(self, reference: Measured) -> float:
        """The mean if the missing batches differed from those of `reference` as these do."""
        done = len(self.sums)
        if not sum(self.counts):
            return float("nan")
        return reference.loss + (sum(self.sums) - sum(reference.sums[:done])) / sum(self.counts)


class Evaluation:
    """The loss of each of `sources`, in turn, batch by batch."""

    def __init__(self, model: Model, sources: Sequence[Iterable[TokenBatch]]) -> None:
        self._model = model
        self.measured = [Measured() for _ in sources]
        self._batches = _in_turn(sources)
        self._waiting: tuple[int, TokenBatch] | None = None
        self.seconds = 0.0

    @property
    def covers_all_sources(self) -> bool:
        """Whether a batch of every source was measured."""
        return all(measured.counts for measured in self.measured)

    def advance(self) -> bool:
        """Measure one batch; True when none is left.  A batch that fails (memory) is tried again by the next call."""
        if self._waiting is None:
            self._waiting = next(self._batches, None)
        if self._waiting is None:
            if not sum(self.measured[0].counts):
                raise InputError("There is no held-out code to measure.", "Choose a folder with more source code.")
            return True
        source, batch = self._waiting
        total = float(self._model.losses(batch.tokens, batch.counted).sum(dtype=np.float64))
        self.measured[source] = self.measured[source].with_batch(total, int(batch.counted.sum()))
        self._waiting = None
        return False


def _in_turn(sources: Sequence[Iterable[TokenBatch]]) -> Iterator[tuple[int, TokenBatch]]:
    """The first batch of each source, then the second of each, and so on, with the source's number."""
    open_ones = [(number, iter(source)) for number, source in enumerate(sources)]
    while open_ones:
        for entry in list(open_ones):
            number, batches = entry
            batch = next(batches, None)
            if batch is None:
                open_ones.remove(entry)
            else:
                yield number, batch
