"""Brackets and quotes that the editor has closed by itself: what stands behind the cursor, but was not written.

Most editors add `)` as soon as `(` is typed. The line that is wanted closes what it opened itself, and often goes on
after that (`):`), so it is asked for without them. Then it takes their place, or, for a client that can only insert,
ends before them.
"""

from __future__ import annotations

from engine.generate.trimming import CLOSING, Scanner

_CLOSED_BY = {opening: closing for closing, opening in CLOSING.items()}


def closed_behind(prefix: str, suffix: str) -> str:
    """What is behind the cursor and closes what its line has opened, if nothing else is in the rest of the line."""
    rest = suffix.split("\n", 1)[0].rstrip()
    return rest if rest and _open_in(prefix).startswith(rest) else ""


def met(prefix: str, text: str, closed: str, *, can_replace: bool) -> tuple[str, int]:
    """A completion that was written without `closed`, as it is inserted before it; and how many characters of `closed`
    it takes the place of."""
    scanner = _behind(prefix)
    depth = len(scanner.open) + bool(scanner.quote)
    first, count = len(text), 0
    for number, character in enumerate(text):
        scanner.step(character)
        if len(scanner.open) + bool(scanner.quote) < depth and count < len(closed):
            first, count, depth = min(first, number), count + 1, depth - 1
    return (text, count) if can_replace else (text[:first], 0)


def _behind(prefix: str) -> Scanner:
    """A scanner that has read the cursor's line up to the cursor."""
    scanner = Scanner()
    scanner.read(prefix[prefix.rfind("\n") + 1 :])
    return scanner


def _open_in(prefix: str) -> str:
    """What would close all that the cursor's line has opened, the innermost first."""
    scanner = _behind(prefix)
    return scanner.quote + "".join(_CLOSED_BY[opening] for opening in reversed(scanner.open))
