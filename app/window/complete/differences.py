"""Where two suggestions differ, word by word.  No Qt."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

Span = tuple[int, int]  # begin and end in the text

_PARTS = re.compile(r"\w+|\s+|[^\w\s]")


def differing(first: str, second: str) -> tuple[list[Span], list[Span]]:
    """The spans of each text that the other does not have, in order; whitespace alone is not marked."""
    a, b = _PARTS.findall(first), _PARTS.findall(second)
    spans: tuple[list[Span], list[Span]] = ([], [])
    for what, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if what != "equal":
            for parts, begin, end, into in ((a, a1, a2, spans[0]), (b, b1, b2, spans[1])):
                _add(into, parts, begin, end)
    return spans


def first_difference(first: str, second: str) -> int:
    """The first line, from 1, in which two texts differ; 0 if they are equal."""
    if first == second:
        return 0
    lines = first.split("\n"), second.split("\n")
    for number, (one, other) in enumerate(zip(*lines, strict=False), 1):
        if one != other:
            return number
    return min(map(len, lines)) + 1


def _add(spans: list[Span], parts: list[str], begin: int, end: int) -> None:
    text = "".join(parts[begin:end])
    if not text.strip():
        return
    start = len("".join(parts[:begin]))
    start += len(text) - len(text.lstrip())
    stop = start + len(text.strip())
    if spans and spans[-1][1] == start:
        spans[-1] = (spans[-1][0], stop)
    else:
        spans.append((start, stop))
