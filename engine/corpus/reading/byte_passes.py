"""Compiled passes over every byte of a repository: many texts per call, without the GIL.

They find two things in each text: the lines with a literal that may be part of a secret (`secrets` builds the automaton
and examines those lines), and the text's MinHash signature (see `near_duplicates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine import compiling

BINS = 256
SHINGLE = 5  # tokens
FEWEST_SHINGLES = 32
ADDRESS, NAME = 4, 8  # signs that need more than the literal: an "@" in the line, or something like a value
FEWEST_VALUE = 6  # characters
CONTINUED_LINES = 4  # after a name, in which its value may follow
LONGEST_BARE_NAME = 80  # bytes of a line that ends with a name and may be continued
ROW = 64  # entries per state of the automaton: a power of two above the number of classes

u64 = np.uint64
compiled = compiling.compiled(nogil=True)


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """Finds literals, ignoring case.  A state is the index of its row in `table`; states with signs come last."""

    table: np.ndarray  # (states * ROW,) int32: the next state
    classes: np.ndarray  # (256,) uint8: the column for each byte
    signs: np.ndarray  # (states,) int64: the signs of the literals that end in this state


@dataclass(frozen=True, slots=True, eq=False)
class Swept:
    """What a pass over one text found."""

    marked: list[list[int]]
    """The lines with a literal: [number from 1, begin, end, signs]."""
    signature: bytes
    lines: int
    longest: int
    """The number of lines, and of bytes in the longest."""


def sweep(texts: Sequence[bytes], automaton: Automaton) -> list[Swept]:
    """Both results for every text (UTF-8).  Holds the GIL only while it packs and unpacks the arrays."""
    data = np.frombuffer(b"".join(texts) if len(texts) > 1 else texts[0], np.uint8)
    ends = np.cumsum(np.array([len(text) for text in texts], np.int64))
    counts = np.empty(len(texts), np.int64)
    bins = np.empty((len(texts), BINS), np.uint64)
    shapes = np.empty((len(texts), 3), np.int64)
    lines = np.empty((64 * len(texts), 4), np.int64)
    needed = _sweep(data, ends, automaton.table, automaton.classes, automaton.signs, lines, counts, bins, shapes)
    if needed > len(lines):
        lines = np.empty((needed, 4), np.int64)
        _sweep(data, ends, automaton.table, automaton.classes, automaton.signs, lines, counts, bins, shapes)
    rows = lines[:needed].tolist()
    signatures = bins.astype("<u2")
    found, first = [], 0
    for i, (count, (shingles, number, longest)) in enumerate(zip(counts.tolist(), shapes.tolist(), strict=True)):
        name = signatures[i].tobytes() if shingles >= FEWEST_SHINGLES else b""
        found.append(Swept(rows[first : first + count], name, number, longest))
        first += count
    return found


@compiled
def _sweep(data, ends, table, classes, signs, lines, counts, bins, shapes):
    """Fill counts (n,), bins (n, 256), shapes (n, 3: shingles, lines, longest line) and lines (m, 4).

    Returns the number of marked lines; those beyond the end of `lines` are counted, not stored.
    """
    silent = 0
    while silent < signs.size and signs[silent] == 0:
        silent += 1
    begin = total = 0
    for k in range(ends.size):
        text = data[begin : ends[k]]
        room = lines[min(total, lines.shape[0]) :]
        counts[k] = mark_lines(text, table, classes, signs, np.int32(silent * ROW), room, shapes[k])
        shapes[k, 0] = fill_bins(text, bins[k])
        total += counts[k]
        begin = ends[k]
    return total


@compiled
def mark_lines(data, table, classes, signs, first, lines, shape):
    """Record every line with a literal: its number, its begin and end, and the signs of its literals.

    `first`: the first state with signs. Returns the number of such lines; those beyond the end of `lines` (n, 4) are
    counted, not stored. shape[1:] = number of lines, longest line.
    """
    sign = np.int64(0)
    count = begin = longest = 0
    number = 1
    state = np.int32(0)
    n = data.size
    for i in range(n + 1):
        ch = data[i] if i < n else np.uint8(10)
        state = table[state + classes[ch]]
        if state >= first:
            sign |= signs[state // ROW]
        elif ch == 10:
            if sign:
                sign = _confirmed(data, begin, i, sign)
                if sign:
                    if count < lines.shape[0]:
                        lines[count, 0], lines[count, 1], lines[count, 2], lines[count, 3] = number, begin, i, sign
                    count += 1
                    sign = np.int64(0)
            longest = max(longest, i - begin)
            number += 1
            begin = i + 1
    shape[1], shape[2] = number - 1, longest
    return count


@compiled
def _confirmed(data, begin, end, sign):
    """The signs of the line data[begin:end], without those whose other condition is not met.

    An address needs an "@" in the line.  A name needs a possible value, in its line or in one that continues it.
    """
    if sign & ADDRESS:
        at = False
        for i in range(begin, end):
            at |= data[i] == 64
        if not at:
            sign &= ~np.int64(ADDRESS)
    if sign & NAME and not _has_value(data, begin, end):
        last = end - 1
        while last > begin and data[last] <= 32:
            last -= 1
        found = False
        if last > begin and (_goes_on(data[last]) or (last - begin < LONGEST_BARE_NAME and _in_word(data[last]))):
            line = end
            for _ in range(CONTINUED_LINES):
                start = line + 1
                line = start
                while line < data.size and data[line] != 10:
                    line += 1
                if start < data.size and _has_value(data, start, line):
                    found = True
                    break
        if not found:
            sign &= ~np.int64(NAME)
    return sign


@compiled
def _goes_on(ch):
    """Whether a line that ends with this character, one of  ( = : + \\ | > , { [ - & " ' `  , is continued."""
    return (ch == 40 or ch == 61 or ch == 58 or ch == 43 or ch == 92 or ch == 124 or ch == 62 or ch == 44 or ch == 123
            or ch == 91 or ch == 45 or ch == 38 or ch == 34 or ch == 39 or ch == 96)  # fmt: skip


@compiled
def _has_value(data, begin, end):
    """Whether there is a possible value: a run of characters with a digit or symbol in it, or with mixed case."""
    length = changes = wide = signs = 0
    rich = upper = digit = False
    for i in range(begin, end):
        ch = data[i]
        if ch <= 32 or ch == 34 or ch == 39 or ch == 96 or ch == 58 or ch == 61:
            wide = signs = length = changes = 0
            rich = upper = digit = False
            continue
        wide += 1
        if 48 <= ch <= 57:
            digit = True
        if ch == 33 or ch == 44 or ch == 59 or ch == 92 or (40 <= ch <= 41) or ch == 91 or ch == 93 or ch == 123 or (
            ch == 125 or ch == 60 or ch == 62):  # fmt: skip
            length = changes = 0
            rich = upper = False
            signs += 1
        else:
            length += 1
            capital = 65 <= ch <= 90
            changes += capital != upper
            upper = capital
            rich |= 48 <= ch <= 57 or 35 <= ch <= 38 or ch == 42 or ch == 43 or ch == 64 or ch == 94 or ch == 126
            if length >= FEWEST_VALUE and (rich or (changes >= 4 and length >= 8)):
                return True
        if wide >= FEWEST_VALUE and digit and signs:
            return True
    return False


@compiled
def fill_bins(data, bins):
    """Put the minimum hash of every bin into `bins` (256,); returns the number of shingles.  data: (n,) bytes.

    An empty bin copies a non-empty one, picked by a sequence that depends only on the empty bin; with too few shingles
    to compare, empty bins stay empty.
    """
    empty = u64(0xFFFFFFFFFFFFFFFF)
    bins[:] = empty
    prime, step = u64(0x100000001B3), u64(0x9E3779B97F4A7C15)
    a = b = c = d = u64(0)  # the hashes of the four tokens before this one
    tokens = 0
    i, n = 0, data.size
    while i < n:
        ch = data[i]
        i += 1
        if ch <= 32:
            continue
        word = u64(ch)
        if _in_word(ch):
            while i < n and _in_word(data[i]):
                word = (word ^ u64(data[i])) * prime
                i += 1
        tokens += 1
        if tokens >= SHINGLE:
            x = _mix((((a * step + b) * step + c) * step + d) * step + word)
            # The top 8 bits select the bin, the whole hash is compared, and the signature keeps the lowest 16 bits.
            bin = x >> u64(56)
            if x < bins[bin]:
                bins[bin] = x
        a, b, c, d = b, c, d, word
    shingles = tokens - SHINGLE + 1
    if shingles < FEWEST_SHINGLES:
        return shingles
    filled = bins != empty
    for k in range(BINS):
        attempt = u64(k)
        while bins[k] == empty:
            attempt = _mix(attempt + step)
            source = attempt >> u64(56)
            if filled[source]:
                bins[k] = bins[source]
    return shingles


@compiled
def _in_word(ch):
    return (48 <= ch <= 57) or (97 <= (ch | 32) <= 122) or ch == 95 or ch >= 128


@compiled
def _mix(x):
    """A 64-bit finaliser (splitmix64): every bit of the result depends on every bit of x."""
    x ^= x >> u64(30)
    x *= u64(0xBF58476D1CE4E5B9)
    x ^= x >> u64(27)
    x *= u64(0x94D049BB133111EB)
    return x ^ (x >> u64(31))
