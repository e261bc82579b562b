"""A window on a text, put back into the text: what stands before its first line and behind its last."""

from __future__ import annotations

LEAST = 80  # characters, and two lines with something in them, by which the edge of a window is recognised
MOST = 1200


def surrounded(known: str, prefix: str, suffix: str) -> tuple[str, str]:
    """`prefix` with what `known` has before it, `suffix` with what it has behind it; unchanged where they are not
    found, or more than once."""
    return known[: _begin_of(known, prefix)] + prefix, suffix + known[_end_of(known, suffix) :]


def _begin_of(known: str, window: str) -> int:
    """Where the window begins in `known`; 0 if nowhere in particular."""
    for edge in _edges(window.split("\n")):
        place = known.find(edge)
        if place < 0:
            break
        if known.find(edge, place + 1) < 0:
            return place if place == 0 or known[place - 1] == "\n" else 0
    return 0


def _end_of(known: str, window: str) -> int:
    """Where the window ends in `known`; its length if nowhere in particular."""
    lines = window.split("\n")
    for edge in _edges(lines[::-1], backwards=True):
        place = known.find(edge)
        if place < 0:
            break
        if known.find(edge, place + 1) < 0:
            end = place + len(edge)
            return end if window.endswith("\n") or known[end : end + 1] in ("\n", "") else len(known)
    return len(known)


def _edges(lines: list[str], backwards: bool = False):
    """The first lines of a window, more of them each time: enough to be recognised by."""
    taken, filled = [], 0
    for line in lines[:-1]:  # the last one is the cursor's, and may be half a line
        taken.append(line)
        filled += bool(line.strip())
        size = sum(map(len, taken)) + len(taken)
        if size > MOST:
            return
        if filled >= 2 and size >= LEAST:
            yield "\n".join(taken[::-1] if backwards else taken)
