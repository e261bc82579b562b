"""How much of a score one file may be: enough to count, never so much that it decides alone."""

from __future__ import annotations

from collections.abc import Sequence

LARGEST_SHARE = 0.2  # of a score in one file
EVEN_SHARES = 1.5  # where there are few files: so many times what each would have if all were alike


def largest_share(files: int) -> float:
    """The share of a score that one of so many files may have; all of it where it is the only one."""
    return min(1.0, max(LARGEST_SHARE, EVEN_SHARES / max(1, files)))


def most_of_one(sizes: Sequence[int]) -> int:
    """The most that any one may contribute so that none has more than its largest share of what all contribute."""
    share = largest_share(len(sizes))
    low, high = 0, max(sizes, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if middle <= share * sum(min(size, middle) for size in sizes):
            low = middle
        else:
            high = middle - 1
    return low
