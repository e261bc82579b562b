"""Adapts a line from elsewhere: what differs between the lines around the two is replaced in it as well.

    elsewhere    parser_foo.add_argument("x")            here    parser_bar.add_argument("z")
                 parser_foo.set_defaults(func=base_foo)          parser_bar.set_defaults(func=base_bar)

Words are compared part by part (parser, _, foo).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

LONGEST = 200  # characters of a line; longer ones are not compared
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|_+|\w|[^\w\s]|\s+")


def adapted(line: str, there: tuple[str, str], here: tuple[str, str]) -> Iterator[str]:
    """Versions of `line`, each different from it.  there, here: the lines above and below."""
    by_above, by_below = _differences(there[0], here[0]), _differences(there[1], here[1])
    seen = {line}
    for changes in (by_below | by_above, by_above, by_below):
        text = _replaced(line, changes)
        if text not in seen:
            seen.add(text)
            yield text


def _differences(there: str, here: str) -> dict[str, str]:
    """Parts of words in one line for which the other has something else in the same position."""
    if max(len(there), len(here)) > LONGEST:
        return {}
    first, second = _PARTS.findall(there), _PARTS.findall(here)
    found: dict[str, str] = {}
    for kind, begin, end, low, high in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if kind == "replace" and end - begin == high - low:
            for old, new in zip(first[begin:end], second[low:high], strict=True):
                if old.isalnum() and new.isalnum():
                    found.setdefault(old, new)
        elif kind == "replace" and end - begin == 1 and first[begin].isalnum():
            found.setdefault(first[begin], "".join(second[low:high]))
    return found


def _replaced(line: str, changes: dict[str, str]) -> str:
    lower = {old.lower(): new.lower() for old, new in changes.items()}

    def part(found: re.Match) -> str:
        old = found[0]
        if old in changes:
            return changes[old]
        if old.lower() in lower:  # Foo as foo
            new = lower[old.lower()]
            return new.upper() if old.isupper() and len(old) > 1 else new.capitalize() if old[0].isupper() else new
        return old

    return _PARTS.sub(part, line) if changes else line
