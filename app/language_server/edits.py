"""Which lines of a file were edited lately.  They move along when lines are added or removed above them."""

from __future__ import annotations

NEAR = 8  # lines between two edits that count as one place
AROUND = 4  # lines that are taken along on either side of a place
MOST_PLACES = 8
MOST_LINES = 64  # of one place; a larger edit is one that was pasted, or a whole file


class EditedLines:
    """Of one file; the newest place last."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int]] = []  # first and last line

    def note(self, first: int, old_last: int, new_last: int) -> None:
        """Lines from `first` to `old_last` have become those from `first` to `new_last`."""
        moved = new_last - old_last
        others, begin, end = [], first, new_last
        for low, high in self._places:
            if high < first - NEAR:
                others.append((low, high))
            elif low > old_last + NEAR:
                others.append((low + moved, high + moved))
            else:  # the same place
                begin = min(begin, low)
                end = max(end, high + moved if high > old_last else new_last)
        if end - begin >= MOST_LINES:  # keep to where this edit was
            begin, end = max(begin, new_last - MOST_LINES + 1), min(end, new_last)
        self._places = [*others, (begin, end)][-MOST_PLACES:]

    def places(self, count: int) -> list[tuple[int, int]]:
        """First and last line of each place and of some lines around it, in a file of `count` lines."""
        return [(max(0, low - AROUND), min(count - 1, high + AROUND)) for low, high in self._places]
