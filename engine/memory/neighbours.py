"""Lines that stand elsewhere in surroundings like the cursor's: candidates for the line that is to be written there.

What comes next depends on what is below the cursor as much as on what is above it. A line is a candidate where the
lines around it have many tokens in common with those around the cursor. All lines of the open file are looked at, and
those of the repository whose line above or below begins like the cursor's.

A line is its tokens between two line breaks, without indentation and without blank lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.compiling import compiled
from engine.corpus.tokenizer import Tokenizer
from engine.memory.evidence import Source
from engine.memory.segment import border_of
from engine.memory.suffixes import LONGEST, match

CONTENT, BLANK, BREAK, CONTENT_BREAK = range(4)  # what a token is to a line
BEGINNINGS = (6, 2)  # tokens of the line above or below that are looked up in the repository
MOST_PLACES = 2000  # that are looked at for each of these
MOST_TEXT = 1 << 16  # tokens of the open file, on each side of the cursor

# Columns of the likeness of a line.
ABOVE, BELOW, SAME_ABOVE, SAME_BELOW, SECOND_ABOVE, SECOND_BELOW, OWN_FILE, DISTANCE, STEP_IN, STEP_OUT, INDENT = range(
    11
)
TIMES_IN_FILE, TIMES_IN_REPOSITORY, LENGTH = 11, 12, 13
COLUMNS = 14
# How lines are put in order before anything is asked of the model; by hand, for the candidates only.
ROUGH = np.array([1.0, 1.0, 0.5, 0.5, 0.3, 0.3, 0.2, 0.0, 0.2, 0.2, 0.0], np.float32)


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A line without its indentation.  likeness (COLUMNS,): how its surroundings agree with the cursor's; `around`: the
    lines above and below it.
    """

    text: str
    likeness: np.ndarray
    around: tuple[str, str]


@dataclass(frozen=True, eq=False)
class CursorLine:
    """Where a line is wanted: tokens of the open file up to this line and from its end on, the width of the
    indentation, and what of the line is typed already.
    """

    before: np.ndarray
    after: np.ndarray
    indent: int
    typed: bytes


class Neighbours:
    """Finds lines by one tokenizer.  Belongs to one thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._dtype = np.dtype(np.uint16 if tokenizer.vocab_size < 1 << 16 else np.uint32)
        self._marks = np.zeros((4, tokenizer.vocab_size), np.uint8)
        self._seen = np.zeros(tokenizer.vocab_size, np.int64)

    def find(self, line: CursorLine, sources: tuple[Source, ...], most: int) -> list[Neighbour]:
        """At most so many, the likeliest first."""
        before, after = line.before[-MOST_TEXT:].astype(self._dtype), line.after[:MOST_TEXT].astype(self._dtype)
        tables = (self._kinds, self._widths, self._data, self._starts, np.frombuffer(line.typed, np.uint8))
        query = Query(*_query(before, after, self._kinds, self._widths, border_of(self._dtype)), line.indent)
        texts = [before, after]
        found = [
            _look_through(before, True, *tables, query.arrays, self._marks, self._seen),
            _look_through(after, False, *tables, query.arrays, self._marks, self._seen),
        ]
        for source in sources:
            places = _places(source, query)
            texts.append(source.segment.tokens)
            found.append(
                _look_at(source.segment.tokens, places, *tables, query.arrays, self._marks, self._seen,
                         border_of(source.segment.tokens.dtype))
            )  # fmt: skip
        return self._best(texts, found, most)

    def _best(self, texts: list[np.ndarray], found: list[tuple], most: int) -> list[Neighbour]:
        likeness = np.concatenate([each[0] for each in found])
        hashes = np.concatenate([each[1] for each in found])
        places = np.concatenate([each[2] for each in found])
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
        """(v,) how wide an indentation a token makes: the blanks behind its last line break, or all of a blank one."""
        lasts = [data.rpartition(b"\n")[2] for data in self._tokenizer.token_bytes]
        return np.array([len(last) - len(last.lstrip(b" \t")) for last in lasts], np.int32)

    @cached_property
    def _data(self) -> np.ndarray:
        """The bytes of all tokens, one after the other."""
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
    """(n, 2) a token of a line of the segment that begins like the line above or below, and which way to go from it."""
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
    """The first line with content at or behind `place`, which is not inside one: its begin and end; equal where there
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
    """The last line with content before `place`, where a line begins or ends."""
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
    """The width of the blanks before a line's first token."""
    width, place = 0, begin - 1
    while place >= 0 and tokens[place] != border and kinds[tokens[place]] == BLANK:
        width += widths[tokens[place]]
        place -= 1
    if place >= 0 and tokens[place] != border and kinds[tokens[place]] >= BREAK:
        width += widths[tokens[place]]
    return width


@compiled(nogil=True)
def _query(before, after, kinds, widths, border):
    """Two lines above the end of `before` and two below the beginning of `after`, and their indentations (4,)."""
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
    """Set or clear the tokens of the cursor's lines; gives how many different ones each has."""
    tokens, ends, _, _ = query
    counts = np.zeros(4, np.int64)
    for row in range(4):
        for place in range(ends[row], ends[row + 1]):
            counts[row] += on - marks[row, tokens[place]]
            marks[row, tokens[place]] = on
    return counts


@compiled(nogil=True)
def _likeness(tokens, begin, end, mark, count, seen, stamp):
    """Tokens in common over all different tokens, of a line and a marked one; 1 where both are missing."""
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
    """Whether the line's text begins with `typed` and goes on; blanks before it do not count."""
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
def _compare(tokens, rows, indents, query, counts, marks, seen, stamp, own, distance, out):
    """The likeness of one line to the one that is wanted.  rows (5, 2): two above it, itself, two below, in order."""
    asked, ends, asked_indents, indent = query
    for number, row in ((ABOVE, 1), (SECOND_ABOVE, 0), (BELOW, 3), (SECOND_BELOW, 4)):
        which = 0 if number == ABOVE else 1 if number == SECOND_ABOVE else 2 if number == BELOW else 3
        out[number] = _likeness(tokens, rows[row, 0], rows[row, 1], marks[which], counts[which], seen, stamp + which)
    out[SAME_ABOVE] = _same(tokens, rows[1, 0], rows[1, 1], asked, ends[0], ends[1])
    out[SAME_BELOW] = _same(tokens, rows[3, 0], rows[3, 1], asked, ends[2], ends[3])
    out[OWN_FILE], out[DISTANCE] = own, distance
    out[STEP_IN] = indents[2] - indents[1] == indent - asked_indents[0]
    out[STEP_OUT] = indents[3] - indents[2] == asked_indents[2] - indent
    out[INDENT] = indents[2] == indent


@compiled(nogil=True)
def _hash(tokens, begin, end):
    value = np.uint64(14695981039346656037)
    for place in range(begin, end):
        value = (value ^ np.uint64(tokens[place])) * np.uint64(1099511628211)
    return value


@compiled(nogil=True)
def _look_through(tokens, is_before, kinds, widths, data, starts, typed, query, marks, seen):
    """All lines of a text: likeness (n, 11), hashes (n,) and places (n, 3, 2) of the line above, itself and below."""
    counts = _mark(query, marks, 1)
    begins, ends = np.empty(len(tokens) + 4, np.int64), np.empty(len(tokens) + 4, np.int64)
    border = -1  # there is none in an open file
    begins[:2], ends[:2] = 0, 0
    size, place = 2, 0
    while place < len(tokens):
        begin, place = _row_after(tokens, kinds, border, place)
        if begin < place:
            begins[size], ends[size] = begin, place
            size += 1
    begins[size : size + 2], ends[size : size + 2] = len(tokens), len(tokens)
    likeness, hashes = np.zeros((size, 11), np.float32), np.empty(size, np.uint64)
    places = np.empty((size, 3, 2), np.int64)
    rows, indents = np.empty((5, 2), np.int64), np.empty(5, np.int64)
    stamp, kept = seen.max() + 1, 0
    for number in range(2, size):
        if len(typed) and not _starts_with(tokens, begins[number], ends[number], data, starts, typed):
            continue
        for x in range(5):
            rows[x, 0], rows[x, 1] = begins[number + x - 2], ends[number + x - 2]
            indents[x] = _indent(tokens, kinds, widths, border, rows[x, 0])
        distance = np.log1p(size - number if is_before else number - 1) / 5
        _compare(tokens, rows, indents, query, counts, marks, seen, stamp, 1.0, distance, likeness[kept])
        hashes[kept] = _hash(tokens, rows[2, 0], rows[2, 1])
        places[kept] = rows[1:4]
        stamp += 4
        kept += 1
    _mark(query, marks, 0)
    return likeness[:kept], hashes[:kept], places[:kept]


@compiled(nogil=True)
def _look_at(tokens, found, kinds, widths, data, starts, typed, query, marks, seen, border):
    """The lines before or behind those at places found[:, 0], by found[:, 1]; as `_look_through`."""
    counts = _mark(query, marks, 1)
    likeness, hashes = np.zeros((len(found), 11), np.float32), np.empty(len(found), np.uint64)
    places = np.empty((len(found), 3, 2), np.int64)
    rows, indents = np.empty((5, 2), np.int64), np.empty(5, np.int64)
    stamp, kept = seen.max() + 1, 0
    for number in range(len(found)):
        at = found[number, 0]
        before = at - 1
        while before > 0 and tokens[before] != border and kinds[tokens[before]] == BLANK:
            before -= 1
        if before > 0 and tokens[before] != border and kinds[tokens[before]] < BREAK:
            continue  # it stands in the middle of a line
        begin, end = _row_after(tokens, kinds, border, at)
        if found[number, 1] > 0:
            rows[1] = begin, end
            rows[2] = _row_after(tokens, kinds, border, end)
        else:
            rows[3] = begin, end
            rows[2] = _row_before(tokens, kinds, border, begin)
            rows[1] = _row_before(tokens, kinds, border, rows[2, 0])
        if rows[2, 0] == rows[2, 1]:
            continue
        if len(typed) and not _starts_with(tokens, rows[2, 0], rows[2, 1], data, starts, typed):
            continue
        rows[0] = _row_before(tokens, kinds, border, rows[1, 0])
        rows[3] = _row_after(tokens, kinds, border, rows[2, 1])
        rows[4] = _row_after(tokens, kinds, border, rows[3, 1])
        for x in range(5):
            indents[x] = _indent(tokens, kinds, widths, border, rows[x, 0])
        _compare(tokens, rows, indents, query, counts, marks, seen, stamp, 0.0, 0.0, likeness[kept])
        hashes[kept] = _hash(tokens, rows[2, 0], rows[2, 1])
        places[kept] = rows[1:4]
        stamp += 4
        kept += 1
    _mark(query, marks, 0)
    return likeness[:kept], hashes[:kept], places[:kept]
