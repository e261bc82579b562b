"""Where the next line begins, and how far one step in is.  Rules that hold in every language with blocks; no Qt."""

from __future__ import annotations

OPENING = (":", "{", "(", "[")
USUAL = "    "
LOOKED_AT = 400  # lines


def leading(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def unit_of(lines: list[str]) -> str:
    """One step of indentation as a file has it: a tab, or its least number of blanks."""
    widths = set()
    for line in lines[:LOOKED_AT]:
        blanks = leading(line)
        if not blanks or len(blanks) == len(line):
            continue
        if blanks[0] == "\t":
            return "\t"
        widths.add(len(blanks))
    least = min((width for width in widths if width > 1), default=0)  # 1 is the star of a block comment
    return " " * least if least in (2, 3, 4, 8) else USUAL


def next_indent(before: str, unit: str) -> str:
    """What a new line begins with, after `before`: the cursor's line up to the cursor."""
    return leading(before) + (unit if before.rstrip().endswith(OPENING) else "")


def to_the_stop(before: str, unit: str) -> int:
    """How many blanks the Backspace key takes: back to the stop before, where there is nothing but blanks."""
    if not before or before.strip(" ") or unit == "\t":
        return 1
    return (len(before) - 1) % len(unit) + 1
