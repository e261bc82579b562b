"""When a completion ends, and how much of its text may be shown before that is known.

Text is shown as early as possible and never retracted: what may turn out to be the start of a stop is held back until
the next tokens decide.
"""

from __future__ import annotations

import re

from engine.generate.options import Stops

END_OF_TEXT = "end of text"
STOP_STRING = "stop string"
END_OF_LINE = "end of line"
END_OF_BLOCK = "end of block"
TOKEN_LIMIT = "token limit"
TIME_LIMIT = "time limit"
CANCELLED = "cancelled"
JOINED = "reached the text after the cursor"
LOOP = "started repeating itself"
SILENT = "no suggestion"

_CLOSING_LINE = re.compile(r"[)\]}]+[;,]?")


class StopWatch:
    """Reads a completion as it grows: `feed` returns what may be shown; once `reason` is set, the text is complete."""

    def __init__(self, stops: Stops, prefix: str) -> None:
        self._stops = stops
        self._block = _BlockEnd(prefix) if stops.end_of_block else None
        self._text, self._shown = "", 0
        self.reason: str | None = None

    def feed(self, text: str) -> str:
        """What may be shown of the text so far and has not been yet."""
        # By character: which stop is found first must not depend on how the text is split into tokens.
        for character in text:
            self._text += character
            found = [one for one in (self._string(), self._line_end(), self._block_end()) if one is not None]
            if found:
                end, self.reason = min(found, key=lambda one: one[0])
                return self._show(end)
        return self._show(len(self._text) - self._held())

    def finish(self) -> str:
        """What was held back: nothing follows, so it belongs to the text."""
        return self._show(len(self._text))

    def _show(self, end: int) -> str:
        shown, self._shown = self._text[self._shown : end], max(end, self._shown)
        return shown

    def _string(self) -> tuple[int, str] | None:
        lengths = [len(one) for one in self._stops.stop if self._text.endswith(one)]
        return (len(self._text) - max(lengths), STOP_STRING) if lengths else None

    def _line_end(self) -> tuple[int, str] | None:
        if not self._stops.end_of_line or not self._text.endswith("\n"):
            return None
        return len(self._text) - (2 if self._text.endswith("\r\n") else 1), END_OF_LINE

    def _block_end(self) -> tuple[int, str] | None:
        end = self._block.find(self._text) if self._block else None
        return None if end is None else (end, END_OF_BLOCK)

    def _held(self) -> int:
        """How many of the last characters may be part of a stop."""
        held = [overlap(self._text, one[:-1]) for one in self._stops.stop]
        if self._stops.end_of_line or self._block:
            held.append(int(self._text.endswith("\r")))
        if self._block:
            blank = len(self._text) - len(self._text.rstrip())
            held.append(blank if "\n" in self._text[len(self._text) - blank :] else 0)
        return max(held, default=0)


def overlap(text: str, beginning: str) -> int:
    """The length of the longest end of `text` that `beginning` starts with."""
    for length in range(min(len(text), len(beginning)), 0, -1):
        if text.endswith(beginning[:length]):
            return length
    return 0


class _BlockEnd:
    """Finds the first line that no longer belongs to the cursor's block.  Looks at every line once."""

    def __init__(self, prefix: str) -> None:
        self._cursor_line = prefix[prefix.rfind("\n") + 1 :]
        self._outer = self._inner = -1  # indentation of the cursor's line, and of the block it is in or opens
        self._begin = 0  # of the current line
        self._end = 0  # of the last line of the block

    def find(self, text: str) -> int | None:
        """Where the block ends in the text; None while it continues."""
        while True:
            newline = text.find("\n", self._begin)
            first = self._begin == 0
            line = text[self._begin : newline if newline >= 0 else len(text)]
            line = self._cursor_line + line if first else line
            if first:
                self._outer = indentation(line)
            elif line.strip() and (end := self._past(line, text, newline >= 0)) is not None:
                return end
            if newline < 0:
                return None
            if first or line.strip():
                self._end = newline - text.endswith("\r", 0, newline)
            self._begin = newline + 1

    def _past(self, line: str, text: str, whole: bool) -> int | None:
        """Where the block ended, if it ended before this line (or with the brackets that it starts with)."""
        if self._inner < 0:
            self._inner = max(self._outer, indentation(line))
        if indentation(line) >= self._inner:
            return None
        begin = self._begin + len(line) - len(line.lstrip())
        closing = _CLOSING_LINE.match(text, begin)
        if self._inner > self._outer == indentation(line) and closing:
            return closing.end() if whole or closing.end() < len(text) else None
        return self._end


def indentation(line: str) -> int:
    """The width of a line's leading white space."""
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())
