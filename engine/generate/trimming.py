"""Where a completion meets the text after the cursor: what is already there is not suggested again.

Three things are removed, as they appear or at the end:

    lines      from where the completion repeats the lines after the cursor
    brackets   from a closing bracket whose opening one is already closed after the cursor
    the tail   what the completion ends with and the text after the cursor starts with, if it is significant

The bracket scanner knows quotes and nothing else about any language, so brackets count only where they made sense
before: those after the cursor must match those that are open before it.
"""

from __future__ import annotations

import re
from functools import lru_cache

CLOSING = {")": "(", "]": "[", "}": "{"}
QUOTES = "\"'`"
SCANNED = 8000  # characters before the cursor that are searched for open brackets
COMPARED = 4000  # characters after the cursor that a completion could repeat
_FIRST_CLOSING = re.compile(r"[\s\"'`]*([)\]}][)\]}\s]*)?")
_WORD = re.compile(r"\w")
_SHORTEST = 4  # characters that count as a repetition


class SuffixWatch:
    """Reads a completion as it grows: `feed` returns what may be shown; once `joined`, it is complete."""

    def __init__(self, prefix: str, suffix: str) -> None:
        self._after = suffix[:COMPARED]
        rest = self._after.lstrip()
        # From the first non-blank line after the cursor's, if the rest of the cursor's own is blank.
        blank = self._after[: len(self._after) - len(rest)]
        next_lines = self._after[blank.rfind("\n") + 1 :] if "\n" in blank and rest else ""
        self._scanner = scanner_behind(prefix)
        self._open, self._quote_before = list(self._scanner.open), self._scanner.quote
        found = _FIRST_CLOSING.match(self._after)
        closing = found.group(1) or "" if found else ""
        self._needed = [CLOSING[character] for character in closing if character in CLOSING][::-1]
        self._fits = bool(self._needed) and self._open[-len(self._needed) :] == self._needed
        self._scanner.open.clear()
        indent = prefix[prefix.rfind("\n") + 1 :]
        self._repeats = _Repetition(self._after, 0 if not indent else None, bool(indent) or "\n" in blank)
        begun = len(indent) if not indent.strip() and next_lines.startswith(indent) else None
        self._repeats_lines = _Repetition(next_lines, begun, anywhere=False)
        self._text, self._shown = "", 0
        self.joined = False

    def feed(self, text: str) -> str:
        """What may be shown of the text so far and has not been yet."""
        held = 0
        for character in text:  # one by one: the result must not depend on how the text is split into tokens
            self._text += character
            self._repeats.read(self._text)
            self._repeats_lines.read(self._text)
            self._look_at_bracket(character)
            held, says = self._repeated()
            if says and _whole_line(self._text[len(self._text) - held :]):
                self._end(len(self._text) - held)
            if self.joined:
                return self.finish()
        return self._show(len(self._text) - held) if text else ""

    def finish(self) -> str:
        """What was held back, without what the text after the cursor already has."""
        held, says = self._repeated()
        if held and (says or self.joined or self._closes_a_quote(held)):
            self._end(len(self._text) - held)
        return self._show(len(self._text))

    def _show(self, end: int) -> str:
        shown, self._shown = self._text[self._shown : end], max(end, self._shown)
        return shown

    def _end(self, place: int) -> None:
        self._text, self.joined = self._text[:place], True
        self._repeats.cut(self._text)
        self._repeats_lines.cut(self._text)

    def _repeated(self) -> tuple[int, bool]:
        """The length of the text's end that the text after the cursor starts with, and whether it is significant."""
        begin, lines = self._repeats.begin(self._text), self._repeats_lines.begin(self._text)
        repeated = self._text[min(begin, lines) :]
        if lines < begin:
            begin = len(self._text[:lines].rstrip())
        return len(self._text) - begin, len(repeated.strip()) >= _SHORTEST and _WORD.search(repeated) is not None

    def _look_at_bracket(self, character: str) -> None:
        """End the text before a bracket that closes what the text after the cursor closes already."""
        outward = self._scanner.step(character)
        if outward and self._fits:
            opened = self._open.pop() if self._open else ""
            if opened != outward or self._open[-len(self._needed) :] != self._needed:
                self._end(len(self._text) - 1)

    def _closes_a_quote(self, held: int) -> bool:
        """Whether the repeated part starts with the quote that is open there."""
        first = self._text[len(self._text) - held]
        if first not in QUOTES:
            return False
        scanner = Scanner()
        scanner.quote = self._quote_before
        scanner.read(self._text[: len(self._text) - held])
        return scanner.quote == first


class _Repetition:
    """Where the end of a growing text may start to repeat `after`: anywhere, or only at a line start."""

    def __init__(self, after: str, begun: int | None, anywhere: bool) -> None:
        """`begun`: how many characters of `after` are already before the text, from the line start; None where that
        line has something else."""
        self._after, self._anywhere = after, anywhere
        self._first = [] if begun is None or not after else [-begun]
        self._begins = list(self._first)  # ascending

    def read(self, text: str) -> None:
        """`text` has grown by one character."""
        place = len(text) - 1
        if (place and (self._anywhere or text[place - 1] == "\n")) or (self._anywhere and not self._first):
            self._begins.append(place)
        self._begins = [begin for begin in self._begins if self._continues(begin, place, text[place])]

    def cut(self, text: str) -> None:
        """The text was shortened: start over."""
        self._begins = list(self._first)
        for end in range(1, len(text) + 1):
            self.read(text[:end])

    def begin(self, text: str) -> int:
        """Where the repetition at the end of the text starts; the end itself where there is none."""
        return max(0, self._begins[0]) if self._begins else len(text)

    def _continues(self, begin: int, place: int, character: str) -> bool:
        return place - begin < len(self._after) and self._after[place - begin] == character


class Scanner:
    """Tracks open brackets and the open quote, character by character; a quote ends with its line."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.quote = ""
        self._escaped = False

    def read(self, text: str) -> None:
        for character in text:
            self.step(character)

    def step(self, character: str) -> str:
        """Read a character.  For a bracket that closes none of `open`, returns the kind it closes."""
        if self._escaped or character == "\n":
            self.quote = "" if character == "\n" else self.quote
            self._escaped = False
        elif self.quote:
            self._escaped = character == "\\"
            self.quote = "" if character == self.quote else self.quote
        elif character in QUOTES:
            self.quote = character
        elif character in CLOSING.values():
            self.open.append(character)
        elif character in CLOSING:
            if not self.open:
                return CLOSING[character]
            if self.open[-1] == CLOSING[character]:
                self.open.pop()
        return ""


def scanner_behind(prefix: str) -> Scanner:
    """A scanner that has read the text before the cursor, or the end of it."""
    begin = prefix.rfind("\n", 0, max(0, len(prefix) - SCANNED)) + 1
    scanner = Scanner()
    *opened, scanner.quote = _scanned(prefix[begin:])
    scanner.open = opened
    return scanner


@lru_cache(maxsize=4)
def _scanned(text: str) -> tuple[str, ...]:
    """The brackets and the quote open at the end of a text.  Cached: asked for many candidates at one cursor."""
    scanner = Scanner()
    scanner.read(text)
    return (*scanner.open, scanner.quote)


def _whole_line(text: str) -> bool:
    """Whether `text` contains a complete line that is more than brackets and white space."""
    lines = text.split("\n")[:-1]
    return any(len(line.strip()) >= _SHORTEST and _WORD.search(line) for line in lines)
