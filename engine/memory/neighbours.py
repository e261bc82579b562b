"""Lines elsewhere whose surroundings resemble the cursor's: candidates for the line to be written there.

What comes next depends on what is below the cursor as much as on what is above it. A line is a candidate if the lines
around it have many tokens in common with those around the cursor. All lines of the open file are considered, and those
of the repository whose line above or below starts like the cursor's.

A line is its tokens between two line breaks, without indentation and without blank lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.compiling import compiled
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.memory.evidence import Source
from engine.memory.segment import border_of
from engine.memory.suffixes import LONGEST, match

CONTENT, BLANK, BREAK, CONTENT_BREAK = range(4)  # what a token is to a line
BEGINNINGS = (6, 2)  # tokens of the line above or below that are looked up in the repository
MOST_PLACES = 2000  # considered for each of these
MOST_TEXT = 1 << 16  # tokens of the open file, on each side of the cursor
NO_BORDER = -1  # an open file is one document

# Columns of the likeness of a line.
ABOVE, BELOW, SAME_ABOVE, SAME_BELOW, SECOND_ABOVE, SECOND_BELOW, OWN_FILE, DISTANCE, STEP_IN, STEP_OUT, INDENT = range(
    11
)
TIMES_IN_FILE, TIMES_IN_REPOSITORY, LENGTH = 11, 12, 13
COLUMNS = 14
# How lines are ordered before the model is involved; chosen by hand, only to select candidates.
ROUGH = np.array([1.0, 1.0, 0.5, 0.5, 0.3, 0.3, 0.2, 0.0, 0.2, 0.2, 0.0], np.float32)


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A line without its indentation.  likeness (COLUMNS,): how similar its surroundings are to the cursor's; `around`:
    the lines above and below it.
    """

    text: str
    likeness: np.ndarray
    around: tuple[str, str]


@dataclass(frozen=True, eq=False)
class CursorLine:
    """Where a line is wanted: tokens of the open file before and after it, the width of the indentation, and the part
    of the line that was already typed.
    """

    before: np.ndarray
    after: np.ndarray
    indent: int
    typed: bytes


class Neighbours:
    """Finds lines, for one tokenizer.  Belongs to one thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._dtype = np.dtype(np.uint16 if tokenizer.vocab_size < 1 << 16 else np.uint32)
        self._marks = np.zeros((4, tokenizer.vocab_size), np.uint8)
        self._seen = np.zeros(tokenizer.vocab_size, np.int64)

    def find(self, line: CursorLine, sources: tuple[Source, ...], most: int) -> list[Neighbour]:
        """At most `most`, the likeliest first."""
        before, after = line.before[-MOST_TEXT:].astype(self._dtype), line.after[:MOST_TEXT].astype(self._dtype)
        typed = self._kinds, self._data, self._starts, np.frombuffer(line.typed, np.uint8)
        query = Query(*_query(before, after, self._kinds, self._widths, NO_BORDER), line.indent)
        parts = [
            (text, *_lines_of(text, number == 0, *typed), NO_BORDER) for number, text in enumerate((before, after))
        ]
        for source in sources:
            tokens = source.segment.tokens
            border = border_of(tokens.dtype)
            rows = _lines_beside(tokens, _places(source, query), *typed, border)
            parts.append((tokens, rows, np.full(len(rows), -1), border))
        found = [
            _compare(tokens, rows, distances, self._kinds, self._widths, border, query.arrays, self._marks, self._seen)
            for tokens, rows, distances, border in parts
        ]
        return self._best([part[0] for part in parts], [part[1][:, 1:4] for part in parts], found, most)

    def _best(self, texts: list[np.ndarray], rows: list[np.ndarray], found: list[tuple], most: int) -> list[Neighbour]:
        """Each line once.  rows: of each text the places (n, 3, 2) of lines with the ones above and below."""
        likeness = np.concatenate([each[0] for each in found])
        hashes = np.concatenate([each[1] for each in found])
        places = np.concatenate(rows)
        owner = np.concatenate([np.full(len(each[1]), number) for number, each in enumerate(found)])
        if not len(hashes):
            return []
        rough = likeness @ ROUGH
        order = np.argsort(-rough, kind="stable")
        _, firsts, groups = np.unique(hashes[order], return_index=True, return_inverse=True)
        own = np.bincount(groups, likeness[order, OWN_FILE], len(firsts))
        times = np.bincount(groups, minlength=len(firsts))
        chosen = []
        for group in np.argsort(firsts, kind="stable")[:most].tolist():
            number = order[firsts[group]]
            tokens = texts[owner[number]]
            above, text, below = (self._text(tokens[begin:end]) for begin, end in places[number])
            columns = np.zeros(COLUMNS)
            columns[: len(ROUGH)] = likeness[number]
            columns[TIMES_IN_FILE] = np.log1p(own[group])
            columns[TIMES_IN_REPOSITORY] = np.log1p(times[group] - own[group])
            columns[LENGTH] = (places[number][1, 1] - places[number][1, 0]) / 10
            chosen.append(Neighbour(text, columns, (above, below)))
        return chosen

    def _text(self, ids: np.ndarray) -> str:
        return self._tokenizer.decode(ids).lstrip(" \t").split("\n", 1)[0].rstrip()

    # ---- tables of the tokenizer

    @cached_property
    def _kinds(self) -> np.ndarray:
        """(v,) CONTENT, BLANK, BREAK or CONTENT_BREAK."""
        return np.array(
            [2 * (b"\n" in data) + (not data.strip() if b"\n" not in data else bool(data.strip()))
             for data in self._tokenizer.token_bytes], np.uint8,
        )  # fmt: skip

    @cached_property
    def _widths(self) -> np.ndarray:
        """(v,) the indentation a token makes: the white space after its last line break, or all of a blank token."""
        lasts = [data.rpartition(b"\n")[2] for data in self._tokenizer.token_bytes]
        return np.array([len(last) - len(last.lstrip(b" \t")) for last in lasts], np.int32)

    @cached_property
    def _data(self) -> np.ndarray:
        """The bytes of all tokens, one after another."""
        return np.frombuffer(b"".join(self._tokenizer.token_bytes), np.uint8)

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum([len(data) for data in self._tokenizer.token_bytes])]).astype(np.int64)


class Query:
    """The lines around the cursor: two above, the nearer one first, and two below."""

    def __init__(self, rows: tuple[np.ndarray, ...], indents: np.ndarray, indent: int) -> None:
        """rows: their tokens; indents (4,)."""
        self.rows = rows
        ends = np.cumsum([len(row) for row in rows])
        self.arrays = np.concatenate(rows), np.concatenate([[0], ends]).astype(np.int64), indents, indent


def _places(source: Source, query: Query) -> np.ndarray:
    """(n, 2) a token of a line in the segment that starts like the line above or below, and which way to go from it."""
    tokens, order = source.segment.tokens, source.segment.order
    ranges = np.empty((LONGEST + 1, 2), np.int64)
    found = []
    for row, way in ((query.rows[0], 1), (query.rows[2], -1)):
        lengths = sorted({min(length, len(row)) for length in BEGINNINGS if len(row)}, reverse=True)
        for length in lengths:
            beginning = row[:length].astype(tokens.dtype)
            if match(tokens, order, beginning, ranges) < length:
                continue
            low, high = ranges[length]
            step = max(1, (high - low) // MOST_PLACES)
            places = order[low:high:step].astype(np.int64) - length
            live = (places < source.own[0]) | (places >= source.own[1])
            if len(source.dead):
                live &= source.dead[places] == 0
            places = places[live]
            found.append(np.stack([places, np.full(len(places), way)], axis=1))
    return np.unique(np.concatenate(found), axis=0) if found else np.empty((0, 2), np.int64)


# ---- compiled


@compiled(nogil=True)
def _row_after(tokens, kinds, border, place):
    """The first line with content at or after `place`, which is not inside one: its start and end; equal where there
    is none.
    """
    n = len(tokens)
    while place < n and tokens[place] != border and (kinds[tokens[place]] == BLANK or kinds[tokens[place]] == BREAK):
        place += 1
    begin = place
    while place < n and tokens[place] != border and kinds[tokens[place]] != BREAK:
        place += 1
        if kinds[tokens[place - 1]] == CONTENT_BREAK:
            break
    return begin, place


@compiled(nogil=True)
def _row_before(tokens, kinds, border, place):
    """The last line with content before `place`, which is the start or end of a line."""
    end = place
    while (
        end > 0 and tokens[end - 1] != border and (kinds[tokens[end - 1]] == BLANK or kinds[tokens[end - 1]] == BREAK)
    ):
        end -= 1
    begin = end
    if begin > 0 and tokens[begin - 1] != border:
        begin -= 1
    while begin > 0 and tokens[begin - 1] != border and kinds[tokens[begin - 1]] < BREAK:
        begin -= 1
    while begin < end and kinds[tokens[begin]] == BLANK:
        begin += 1
    return begin, end


@compiled(nogil=True)
def _indent(tokens, kinds, widths, border, begin):
    """The width of the white space before a line's first token."""
    width, place = 0, begin - 1
    while place >= 0 and tokens[place] != border and kinds[tokens[place]] == BLANK:
        width += widths[tokens[place]]
        place -= 1
    if place >= 0 and tokens[place] != border and kinds[tokens[place]] >= BREAK:
        width += widths[tokens[place]]
    return width


@compiled(nogil=True)
def _query(before, after, kinds, widths, border):
    """The last two lines of `before` and the first two of `after`, and their indentations (4,)."""
    begin, end = _row_before(before, kinds, border, len(before))
    begin_2, end_2 = _row_before(before, kinds, border, begin)
    low, high = _row_after(after, kinds, border, 0)
    low_2, high_2 = _row_after(after, kinds, border, high)
    indents = np.array(
        [_indent(before, kinds, widths, border, begin), _indent(before, kinds, widths, border, begin_2),
         _indent(after, kinds, widths, border, low), _indent(after, kinds, widths, border, low_2)]
    )  # fmt: skip
    return (before[begin:end], before[begin_2:end_2], after[low:high], after[low_2:high_2]), indents


@compiled(nogil=True)
def _mark(query, marks, on):
    """Set or clear the marks of the tokens of the cursor's lines; returns how many distinct ones each has."""
    tokens, ends, _, _ = query
    counts = np.zeros(4, np.int64)
    for row in range(4):
        for place in range(ends[row], ends[row + 1]):
            counts[row] += on - marks[row, tokens[place]]
            marks[row, tokens[place]] = on
    return counts


@compiled(nogil=True)
def _likeness(tokens, begin, end, mark, count, seen, stamp):
    """Tokens in common over all distinct tokens, of a line and a marked one; 1 where both are missing."""
    if begin == end or count == 0:
        return 1.0 if begin == end and count == 0 else 0.0
    common, different = 0, 0
    for place in range(begin, end):
        token = tokens[place]
        if seen[token] != stamp:
            seen[token] = stamp
            different += 1
            common += mark[token]
    return common / (count + different - common)


@compiled(nogil=True)
def _same(tokens, begin, end, other, low, high):
    if end - begin != high - low:
        return False
    differ = 0
    for place in range(end - begin):
        differ += tokens[begin + place] != other[low + place]
    return differ == 0


@compiled(nogil=True)
def _starts_with(tokens, begin, end, data, starts, typed):
    """Whether the line's text starts with `typed` and continues; white space before it does not count."""
    at, leading = 0, True
    for place in range(begin, end):
        for x in range(starts[tokens[place]], starts[tokens[place] + 1]):
            byte = data[x]
            if leading and (byte == 32 or byte == 9):
                continue
            leading = False
            if at == len(typed):
                return byte != 10
            if byte != typed[at]:
                return False
            at += 1
    return False


@compiled(nogil=True)
def _compare(tokens, rows, distances, kinds, widths, border, query, marks, seen):
    """likeness (n, 11) of lines to the one that is wanted, and their hashes (n,).

    rows (n, 5, 2): two lines above each, itself and two below; distances (n,): from the cursor, -1 in another file.
    """
    asked, ends, asked_indents, indent = query
    counts = _mark(query, marks, 1)
    likeness, hashes = np.zeros((len(rows), 11), np.float32), np.empty(len(rows), np.uint64)
    stamp, indents = seen.max() + 1, np.empty(5, np.int64)
    for number in range(len(rows)):
        row, out = rows[number], likeness[number]
        for x in range(5):
            indents[x] = _indent(tokens, kinds, widths, border, row[x, 0])
        for which, column, x in ((0, ABOVE, 1), (1, SECOND_ABOVE, 0), (2, BELOW, 3), (3, SECOND_BELOW, 4)):
            out[column] = _likeness(tokens, row[x, 0], row[x, 1], marks[which], counts[which], seen, stamp)
            stamp += 1
        out[SAME_ABOVE] = _same(tokens, row[1, 0], row[1, 1], asked, ends[0], ends[1])
        out[SAME_BELOW] = _same(tokens, row[3, 0], row[3, 1], asked, ends[2], ends[3])
        if distances[number] >= 0:
            out[OWN_FILE], out[DISTANCE] = 1.0, np.log1p(distances[number]) / 5
        out[STEP_IN] = indents[2] - indents[1] == indent - asked_indents[0]
        out[STEP_OUT] = indents[3] - indents[2] == asked_indents[2] - indent
        out[INDENT] = indents[2] == indent
        hashes[number] = _hash(tokens, row[2, 0], row[2, 1])
    _mark(query, marks, 0)
    return likeness, hashes


@compiled(nogil=True)
def _hash(tokens, begin, end):
    value = np.uint64(14695981039346656037)
    for place in range(begin, end):
        value = (value ^ np.uint64(tokens[place])) * np.uint64(1099511628211)
    return value


@compiled(nogil=True)
def _lines_of(tokens, is_before, kinds, data, starts, typed):
    """All lines of an open file on one side of the cursor, as `rows` and `distances` of `_compare`."""
    begins, ends = np.empty(len(tokens) + 4, np.int64), np.empty(len(tokens) + 4, np.int64)
    begins[:2], ends[:2] = 0, 0
    size, place = 2, 0
    while place < len(tokens):
        begin, place = _row_after(tokens, kinds, NO_BORDER, place)
        if begin < place:
            begins[size], ends[size] = begin, place
            size += 1
    begins[size : size + 2], ends[size : size + 2] = len(tokens), len(tokens)
    rows, distances = np.empty((size, 5, 2), np.int64), np.empty(size, np.int64)
    kept = 0
    for number in range(2, size):
        if not len(typed) or _starts_with(tokens, begins[number], ends[number], data, starts, typed):
            for x in range(5):
                rows[kept, x, 0], rows[kept, x, 1] = begins[number + x - 2], ends[number + x - 2]
            distances[kept] = size - number if is_before else number - 1
            kept += 1
    return rows[:kept], distances[:kept]


@compiled(nogil=True)
def _lines_beside(tokens, found, kinds, data, starts, typed, border):
    """The lines after or before those that start at found[:, 0], by found[:, 1]; as `rows` of `_compare`."""
    rows, kept = np.empty((len(found), 5, 2), np.int64), 0
    for number in range(len(found)):
        at = found[number, 0]
        before = at - 1
        while before > 0 and tokens[before] != border and kinds[tokens[before]] == BLANK:
            before -= 1
        if before > 0 and tokens[before] != border and kinds[tokens[before]] < BREAK:
            continue  # it is in the middle of a line
        row = rows[kept]
        begin, end = _row_after(tokens, kinds, border, at)
        if found[number, 1] > 0:
            row[1] = begin, end
            row[2] = _row_after(tokens, kinds, border, end)
        else:
            row[2] = _row_before(tokens, kinds, border, begin)
            row[1] = _row_before(tokens, kinds, border, row[2, 0])
        if row[2, 0] == row[2, 1]:
            continue
        if len(typed) and not _starts_with(tokens, row[2, 0], row[2, 1], data, starts, typed):
            continue
        row[0] = _row_before(tokens, kinds, border, row[1, 0])
        row[3] = _row_after(tokens, kinds, border, row[2, 1])
        row[4] = _row_after(tokens, kinds, border, row[3, 1])
        kept += 1
    return rows[:kept]
