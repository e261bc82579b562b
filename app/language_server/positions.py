"""Lines and columns as editors count them.

A line ends with `\\n`, `\\r\\n` or `\\r`, and with nothing else that Python would split at. A column counts UTF-16 code
units unless client and server have agreed on bytes of UTF-8 or on characters (UTF-32).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Encoding(StrEnum):
    """What a column counts."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    def width(self, text: str) -> int:
        """Columns that a text takes."""
        if self is Encoding.UTF32 or text.isascii():
            return len(text)
        if self is Encoding.UTF16:
            return len(text) + sum(ord(character) > 0xFFFF for character in text)
        return len(text.encode("utf-8"))


@dataclass(frozen=True, order=True)
class Position:
    """Both from 0."""

    line: int
    character: int

    def to_json(self) -> dict[str, int]:
        return {"line": self.line, "character": self.character}


@dataclass(frozen=True)
class Range:
    """`end` is exclusive."""

    start: Position
    end: Position

    def to_json(self) -> dict[str, dict[str, int]]:
        return {"start": self.start.to_json(), "end": self.end.to_json()}


def lines_of(text: str) -> list[str]:
    """With their ends; the last one has none and may be empty, so there is always one."""
    lines = _LINE.findall(text)
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    return lines


def offset_in(line: str, character: int, encoding: Encoding) -> int:
    """Where a column is in a line, at most before its end; a column inside a character is where that begins."""
    length = len(line.rstrip("\r\n"))
    if encoding is Encoding.UTF32 or line.isascii():
        return min(character, length)
    column = 0
    for place in range(length):
        column += encoding.width(line[place])
        if column > character:
            return place
    return length


def plain(text: str) -> str:
    """Halves of UTF-16 pairs, which JSON has and UTF-8 has not, become a replacement character of equal width."""
    if not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))
