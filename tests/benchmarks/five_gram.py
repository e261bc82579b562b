"""A 5-gram model with interpolated Kneser-Ney smoothing: what the starter model has to be better than.

Counts live in sorted arrays, one an order. A k-gram's key is the number of its first k - 1 tokens in the table before,
with its last token behind: exact, no hashing, and eight bytes whatever k is. For k below 5 a count is the number of
different tokens seen before the k-gram (Kneser-Ney's continuation counts); each order takes a discount from what it has
seen and gives the order below that share, down to the uniform distribution: the probabilities of all tokens sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ORDER = 5
UNSEEN = -1


@dataclass(frozen=True, eq=False)
class _Table:
    """The k-grams of one order: sorted keys, and by number their counts; by number of a context its totals."""

    keys: np.ndarray
    counts: np.ndarray
    totals: np.ndarray
    kinds: np.ndarray
    discount: float


class FiveGram:
    """Trained once on a stream of tokens (t,); `bits` says how surprising each token of another stream is."""

    def __init__(self, stream: np.ndarray, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        stream = stream.astype(np.int64)
        below = np.zeros(len(stream) + 1, np.int64)  # the number of the (k-1)-gram that ends before each place
        suffixes = None
        tables: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = []
        for k in range(1, ORDER + 1):
            keys = below[:-1][: len(stream)] * vocabulary + stream
            keys[: k - 1] = UNSEEN  # shorter than k
            unique, first, number, seen = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
            if unique[0] == UNSEEN:
                unique, first, seen, number = unique[1:], first[1:], seen[1:], number - 1
            tables.append((unique, seen, None if suffixes is None else suffixes[first]))
            suffixes = number
            below = np.concatenate([[UNSEEN], number])
        self._tables = self._with_counts(tables)

    def _with_counts(self, raw: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]) -> list[_Table]:
        tables = []
        for k, (keys, seen, _) in enumerate(raw):
            counts = seen
            if k + 1 < len(raw):
                counts = np.bincount(raw[k + 1][2], minlength=len(keys))
            contexts = keys // self.vocabulary
            size = 1 if k == 0 else len(raw[k - 1][0])
            totals = np.bincount(contexts, weights=counts, minlength=size)
            kinds = np.bincount(contexts[counts > 0], minlength=size)
            once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
            discount = once / (once + 2 * twice) if once and twice else 0.5
            tables.append(_Table(keys, counts, totals, kinds, discount))
        return tables

    def bits(self, stream: np.ndarray) -> np.ndarray:
        """(t,) float64: minus the base-2 logarithm of the probability of each token after those before it."""
        return -np.log2(self._probabilities(stream.astype(np.int64)))

    def _probabilities(self, stream: np.ndarray) -> np.ndarray:
        probability = np.full(len(stream), 1.0 / self.vocabulary)
        context = np.zeros(len(stream), np.int64)  # the number of the (k-1)-gram that ends before each place
        for k, table in enumerate(self._tables):
            known = context >= 0
            keys = np.where(known, context * self.vocabulary + stream, 0)
            number = np.minimum(np.searchsorted(table.keys, keys), len(table.keys) - 1)
            found = known & (table.keys[number] == keys)
            safe = np.where(known, context, 0)
            totals = np.where(known, table.totals[safe], 0.0)
            counts = np.where(found, table.counts[number], 0)
            useful = totals > 0
            own = np.maximum(counts - table.discount, 0.0)
            left = table.discount * table.kinds[safe]
            mixed = (own + left * probability) / np.where(useful, totals, 1.0)
            probability = np.where(useful, mixed, probability)
            ends = np.where(found, number, UNSEEN)
            context = np.concatenate([[UNSEEN], ends[:-1]])
            context[:k] = UNSEEN
        return probability
