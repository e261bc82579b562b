"""What followed a context before: counts by token and by how much of the context matched; compiled.

Orders are lengths of context. What followed the last 8 tokens also followed the last 6, so the counts only grow as the
order falls, and each range of places is visited once. A range of thousands is sampled evenly: those are counts of
common tokens, which a sample estimates just as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.compiling import compiled
from engine.memory.segment import Segment, border_of
from engine.memory.suffixes import LONGEST, match

ORDERS = np.array([1, 2, 3, 4, 5, 6, 8, 12, 16, 24], np.int64)
SAMPLED = 1024  # places of one part of a range; of more, an even sample
MOST_TEXT = 1 << 16  # tokens of an open file that are searched on each side of the cursor

assert ORDERS[-1] == LONGEST


@dataclass(frozen=True, eq=False)
class Evidence:
    """tokens (u,) int32; counts (orders, u) float32; sums (orders,) of these; distinct (orders,): how many of them."""

    tokens: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    distinct: np.ndarray

    def of(self, token: int) -> np.ndarray:
        """(orders,) the counts of one token."""
        found = np.flatnonzero(self.tokens == token)
        return self.counts[:, found[0]] if len(found) else np.zeros(len(ORDERS), np.float32)


@dataclass(frozen=True, eq=False)
class Source:
    """A segment, without the places that are `dead` (n,) uint8 (empty: all live) or in own[0] .. own[1]-1."""

    segment: Segment
    dead: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))
    own: tuple[int, int] = (0, 0)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.segment.tokens, self.segment.order, self.segment.followers, self.dead


class Counter:
    """Collects evidence in buffers it reuses.  Belongs to one thread."""

    def __init__(self, vocabulary: int, end_of_text: int) -> None:
        """`end_of_text`: the token that stands for the end of a document."""
        self.vocabulary, self._end = vocabulary, end_of_text
        self._slots = np.full(vocabulary, -1, np.int32)
        most = len(ORDERS) * 2 * 2 * SAMPLED
        self._tokens = np.empty(most, np.int32)
        self._totals = np.zeros(most, np.float32)
        self._counts = np.empty((len(ORDERS), most), np.float32)
        self._sums = np.empty(len(ORDERS), np.float64)
        self._distinct = np.empty(len(ORDERS), np.float64)

    def of_segments(self, sources: tuple[Source, ...], context: np.ndarray) -> Evidence:
        """What followed the end of `context` in one or two segments together."""
        first, second = (*sources, NOTHING, NOTHING)[:2]
        used = _count_segments(
            first.arrays, first.own, second.arrays, second.own, context, ORDERS, self._end,
            self._slots, self._tokens, self._totals, self._counts, self._sums, self._distinct,
        )  # fmt: skip
        return self._evidence(used)

    def of_text(self, text: np.ndarray, cursor: int, context: np.ndarray) -> Evidence:
        """What followed it in an open file: `text` is the part before the cursor, a border, and the part after it; then
        other texts, with a border before each."""
        used = _count_text(
            text, cursor, border_of(text.dtype), context, ORDERS,
            self._slots, self._tokens, self._totals, self._counts, self._sums, self._distinct,
        )  # fmt: skip
        return self._evidence(used)

    def _evidence(self, used: int) -> Evidence:
        tokens = self._tokens[:used].copy()
        self._slots[tokens] = -1
        return Evidence(tokens, self._counts[:, :used].copy(), self._sums.copy(), self._distinct.copy())


@compiled(nogil=True)
def _add(token, weight, slots, tokens, totals, used):
    slot = slots[token]
    if slot < 0:
        if used == len(tokens):
            return used
        slot = used
        slots[token], tokens[slot], totals[slot] = slot, token, 0.0
        used += 1
    totals[slot] += weight
    return used


@compiled(nogil=True)
def _store(totals, used, counts, sums, distinct, row):
    """Store the running counts as those of an order."""
    whole = 0.0
    for slot in range(used):
        counts[row, slot] = totals[slot]
        whole += totals[slot]
    sums[row], distinct[row] = whole, used
    for lower in range(row + 1, len(counts)):  # tokens found later did not follow the longer contexts
        for slot in range(int(distinct[lower]), used):
            counts[lower, slot] = 0.0


@compiled(nogil=True)
def _count_segments(
    first, first_own, second, second_own, context, orders, end, slots, tokens, totals, counts, sums, distinct
):
    """All rows, of two segments at once: the longest contexts first."""
    first_ranges, second_ranges = np.empty((LONGEST + 1, 2), np.int64), np.empty((LONGEST + 1, 2), np.int64)
    first_longest = match(first[0], first[1], context, first_ranges)
    second_longest = match(second[0], second[1], context, second_ranges)
    used = 0
    for row in range(len(orders) - 1, -1, -1):
        used = _count(first, first_own, first_ranges, first_longest, orders, row, end, slots, tokens, totals, used)
        used = _count(second, second_own, second_ranges, second_longest, orders, row, end, slots, tokens, totals, used)
        _store(totals, used, counts, sums, distinct, row)
    return used


@compiled(nogil=True)
def _count(source, own, ranges, longest, orders, row, end, slots, tokens, totals, used):
    """Count what followed at the places of an order that are not places of the next higher one."""
    _, order, followers, dead = source
    if orders[row] > longest:
        return used
    low, high = ranges[orders[row], 0], ranges[orders[row], 1]
    inner_low, inner_high = high, high
    if row + 1 < len(orders) and orders[row + 1] <= longest:
        inner_low, inner_high = ranges[orders[row + 1], 0], ranges[orders[row + 1], 1]
    for begin, stop in ((low, inner_low), (inner_high, high)):
        step = max(1, (stop - begin + SAMPLED - 1) // SAMPLED)
        for x in range(begin + (step - 1) // 2, stop, step):
            place = order[x]
            if (own[0] <= place < own[1]) or (len(dead) and dead[place]):
                continue
            token = np.int64(followers[x])
            if token >= len(slots):  # the border after a document
                token = end
            used = _add(token, np.float32(step), slots, tokens, totals, used)
    return used


@compiled(nogil=True)
def _count_text(text, cursor, border, context, orders, slots, tokens, totals, counts, sums, distinct):
    """All rows: one pass over the text, then over what was found, longest match first."""
    size = len(context)
    lengths, found = np.empty(len(text), np.int16), np.empty(len(text), np.int64)
    kept = 0
    longest = 0
    if size:
        last = context[size - 1]
        most = min(LONGEST, size)
        for place in range(max(1, cursor - MOST_TEXT), min(len(text), cursor + MOST_TEXT)):
            if text[place - 1] != last or text[place] == border:
                continue
            length = 1
            while length < most and length < place and text[place - 1 - length] == context[size - 1 - length]:
                length += 1
            lengths[kept], found[kept] = length, place
            kept += 1
            longest = max(longest, length)
    used = 0
    for row in range(len(orders) - 1, -1, -1):
        above = orders[row + 1] if row + 1 < len(orders) else 32767
        if orders[row] <= longest:
            for x in range(kept):
                if orders[row] <= lengths[x] < above:
                    used = _add(text[found[x]], np.float32(1.0), slots, tokens, totals, used)
        _store(totals, used, counts, sums, distinct, row)
    return used


NOTHING = Source(Segment(np.zeros(1, np.uint16), np.zeros(0, np.uint32), np.zeros(0, np.uint16), ()))
