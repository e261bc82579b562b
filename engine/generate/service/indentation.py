"""The indentation that a new line gets, by the lines around it: for clients that leave a blank line's own out."""

from __future__ import annotations

import re

OPENS = re.compile(r"[:{(\[]\s*(?:#.*|//.*)?\Z")
NOT_MORE = re.compile(r"\s*(?:return|raise|break|continue|pass)\b")
MOST_LINES = 400  # looked at for the unit


def indentation_at(prefix: str, suffix: str) -> str:
    """For a cursor on a blank line: `prefix` ends with a line break, `suffix` begins with one or is empty."""
    before = prefix.split("\n")[-MOST_LINES:-1]
    above = next((line for line in reversed(before) if line.strip()), "")
    below = next((line for line in suffix.split("\n")[1:MOST_LINES] if line.strip()), "")
    own = _indent(above)
    if OPENS.search(above):
        deeper = own + _unit(before + suffix.split("\n")[:MOST_LINES])
        return _indent(below) if len(_indent(below)) > len(own) else deeper
    if before and not before[-1].strip():  # a blank line above: where the text goes on, if it does
        return _indent(below) if below else own
    if NOT_MORE.match(above):
        return _indent(below) if len(_indent(below)) < len(own) else own
    return own


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _unit(lines: list[str]) -> str:
    """What one level is in this file."""
    indents = [indent for line in lines if line.strip() and (indent := _indent(line))]
    if any(indent[0] == "\t" for indent in indents):
        return "\t"
    widths = [len(indent) for indent in indents]
    return " " * min((width for width in widths if width > 1), default=4)
