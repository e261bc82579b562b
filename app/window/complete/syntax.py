"""Incremental syntax highlighting: after an edit, only what it affects is read again.  Pygments, no Qt.

A Pygments lexer reads a text from its start with a stack of states.  Here the stack is saved for every line that starts
with a new token; after an edit, reading starts at such a line above it and ends at the first one below where the stack
is unchanged.  A few lines are read at a time, so that the caller can stop in between.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from pygments.lexer import ExtendedRegexLexer, Lexer, RegexLexer
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, _TokenType

Stack = tuple[str, ...]
Span = tuple[int, int, str]  # begin in the line, length, kind
ROOT: Stack = ("root",)
STRETCH, AHEAD = 16, 300  # lines read at a time, and lines beyond them that the lexer sees
GUESS_BACK = 60  # lines above the view searched for one without indentation
CLOSING = re.compile(r"\*/|-->|\"\"\"|'''|`")  # may close a comment or string that began above
LOOK_BACK = 200  # lines above in which it may have begun

KINDS = {
    Comment: "comment",
    Comment.Preproc: "keyword",
    Keyword: "keyword",
    Keyword.Constant: "number",
    Operator.Word: "keyword",
    String: "string",
    String.Escape: "number",
    Number: "number",
    Literal: "number",
    Name.Function: "name",
    Name.Class: "name",
    Name.Tag: "keyword",
    Name.Attribute: "name",
    Name.Builtin: "builtin",
    Name.Exception: "builtin",
    Name.Decorator: "decorator",
    Generic.Heading: "name",
    Generic.Subheading: "name",
}


def kind_of(token: _TokenType) -> str:
    """The kind of a token, from the nearest parent that has one; "" for plain text."""
    while token is not None:
        if token in KINDS:
            return KINDS[token]
        token = token.parent
    return ""


@dataclass(frozen=True)
class Token:
    """A token with the stack after it; `splittable`: whitespace that may end at the end of any line."""

    end: int
    kind: str
    stack: Stack
    splittable: bool


def read(lexer: Lexer, text: str, stack: Stack) -> Iterator[tuple[int, Token]]:
    """The tokens of a text with their start positions, beginning with a stack of states."""
    if not isinstance(lexer, RegexLexer) or isinstance(lexer, ExtendedRegexLexer):
        for begin, token, value in lexer.get_tokens_unprocessed(text):
            yield begin, Token(begin + len(value), kind_of(token), ROOT, value.isspace())
        return
    states, place, now = lexer._tokens, 0, list(stack)
    while place < len(text):
        for match_here, action, change in states[now[-1]]:
            found = match_here(text, place)
            if found is None:
                continue
            _follow(now, change)
            end, after = found.end(), tuple(now)
            if type(action) is _TokenType:
                blank = change is None and text[place:end].isspace()
                if end > place:
                    yield place, Token(end, kind_of(action), after, blank)
            elif action is not None:
                # Only the last token of a group ends where the lexer can resume.
                parts = [part for part in action(lexer, found) if part[2]]
                for begin, token, value in parts:
                    last = begin + len(value) == end
                    yield begin, Token(begin + len(value), kind_of(token), after if last else (), False)
            place = end
            break
        else:
            if text[place] == "\n":
                now = list(ROOT)
            place += 1
            yield place - 1, Token(place, "", tuple(now), text[place - 1] == "\n")


def _follow(stack: list[str], change: tuple[str, ...] | int | str | None) -> None:
    """Apply a rule's change to the stack: names to push, how many to pop, or push the top again."""
    if change is None:
        return
    for step in change if isinstance(change, tuple) else (change,):
        if step == "#pop":
            step = -1
        if step == "#push":
            stack.append(stack[-1])
        elif isinstance(step, int):
            del stack[max(1, len(stack) + step) :]
        else:
            stack.append(step)


class LineSyntax:
    """The lines of a text with the coloured spans of each."""

    def __init__(self, lexer: Lexer | None) -> None:
        self.lexer = lexer
        self._exact = isinstance(lexer, RegexLexer) and not isinstance(lexer, ExtendedRegexLexer)
        self.lines: list[str] = [""]
        self.spans: list[list[Span]] = [[]]
        self._starts: list[Stack | None] = [ROOT]  # None: no token starts with this line
        self._from, self._until = 0, 1  # lines to read; what follows `_until` stays valid if the stacks match there

    @property
    def is_done(self) -> bool:
        return self.lexer is None or self._from >= len(self.lines)

    def replace(self, first: int, removed: int, lines: list[str]) -> None:
        """Replace lines [first, first + removed) by these."""
        before = self.lines[first : first + removed]
        closes = any(CLOSING.search(line) for line in (*before, *lines))
        self.lines[first : first + removed] = lines
        self.spans[first : first + removed] = [[] for _ in lines]
        self._starts[first : first + removed] = [None] * len(lines)
        self._starts[0] = ROOT
        grown, was_done = len(lines) - removed, self._from >= len(self.lines) - (len(lines) - removed)
        reach = first + len(lines)
        begin = max(0, first - LOOK_BACK) if closes else first
        if was_done:
            self._from, self._until = begin, reach
        else:
            after = self._until + grown if self._until >= first + removed else self._until
            self._from, self._until = min(self._from, begin), max(after, reach)

    def advance(self) -> list[int]:
        """Read a few more lines; returns those whose spans changed."""
        if self.is_done:
            return []
        begin = self._start_above(self._from)
        reached, met, spans, starts = self._read_from(begin)
        return self._keep(begin, reached, met, spans, starts)

    def guess(self, first: int, last: int) -> list[int]:
        """Colour visible lines out of turn, assuming that an unindented line above starts from the root state."""
        if self.is_done or first < self._from + STRETCH:
            return []
        begin = first
        while begin > max(self._from, first - GUESS_BACK) and not _begins_something(self.lines[begin]):
            begin -= 1
        end = min(len(self.lines), last + 1)
        spans: list[list[Span]] = [[] for _ in range(begin, end)]
        text = "\n".join(self.lines[begin:end])
        begins = line_begins(self.lines[begin:end])
        for place, token in read(self.lexer, text, ROOT):
            _spread(spans, begins, text, place, token)
        changed = [begin + i for i in range(end - begin) if spans[i] != self.spans[begin + i]]
        self.spans[begin:end] = spans
        return changed

    # ---- inside

    def _start_above(self, line: int) -> int:
        """The nearest line above at which reading can start: the edit may have changed the last token before it."""
        line = max(0, line - 1)
        while self._starts[line] is None:
            line -= 1
        return line

    def _read_from(self, begin: int):
        """Read some lines: the line reached, whether the stacks matched there, spans and start stacks.

        The lexer is given many more lines, since a rule may look far ahead, and is stopped on the way.
        """
        enough = max(begin + STRETCH, self._from + 1)
        for shown in (AHEAD, len(self.lines)):
            found = self._read_lines(begin, min(len(self.lines), enough + shown), enough)
            if found is not None:
                return found
        raise AssertionError("the end of the text is always reached")

    def _read_lines(self, begin: int, end: int, enough: int):
        """The same with the lines up to `end`; None if one token spans all of them."""
        lines = self.lines[begin:end]
        text, begins = "\n".join(lines), line_begins(lines)
        spans: list[list[Span]] = [[] for _ in lines]
        starts: dict[int, Stack] = {}
        number = 1  # the next line start to look for, relative to `begin`
        for place, token in read(self.lexer, text, self._starts[begin]):
            _spread(spans, begins, text, place, token)
            while number < len(lines) and begins[number] <= token.end:
                line = begin + number
                if (token.splittable or begins[number] == token.end) and self._can_start(line, token.stack):
                    if self._until <= line and self._starts[line] == token.stack:
                        return line, True, spans, starts
                    starts[line] = token.stack
                    if line >= enough:
                        return line, False, spans, starts
                number += 1
        return (end, False, spans, starts) if end == len(self.lines) else None

    def _can_start(self, line: int, stack: Stack) -> bool:
        if self._exact:
            return bool(stack)
        return _begins_something(self.lines[line])  # such lexers keep their state elsewhere

    def _keep(
        self, begin: int, reached: int, met: bool, spans: list[list[Span]], starts: dict[int, Stack]
    ) -> list[int]:
        """Store what was read of lines [begin, reached)."""
        changed = [line for line in range(begin, reached) if spans[line - begin] != self.spans[line]]
        for line in changed:
            self.spans[line] = spans[line - begin]
        for line in range(begin + 1, min(reached + (not met), len(self.lines))):
            self._starts[line] = starts.get(line)
        self._from = len(self.lines) if met else reached
        self._until = max(self._until, self._from + 1)  # the stack there is new, what follows is not read yet
        return changed


def line_begins(lines: list[str]) -> list[int]:
    """The start of each line in the joined text, and of one more."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def _spread(spans: list[list[Span]], begins: list[int], text: str, place: int, token: Token) -> None:
    """Add the span of a token to every line that it covers."""
    if not token.kind:
        return
    line = bisect_right(begins, place) - 1
    for i, part in enumerate(text[place : token.end].split("\n")):
        if part and line + i < len(spans):
            into, begin = spans[line + i], place - begins[line] if i == 0 else 0
            if into and into[-1][2] == token.kind and into[-1][0] + into[-1][1] == begin:
                begin, part = into[-1][0], into.pop()[1] * " " + part
            into.append((begin, len(part), token.kind))


def _begins_something(line: str) -> bool:
    """Whether a line is unindented and no closing bracket: reading can nearly always start there."""
    return bool(line) and (line[0].isalnum() or line[0] in "_@#<")
