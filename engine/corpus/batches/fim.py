"""Which documents are rearranged for filling in the middle, and where they are cut.

Everything follows from the seed, the pass over the corpus (epoch) and the path: no generator with a state, so a
document is cut the same way however the others change, on every platform and with every version of NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np


@dataclass(frozen=True)
class Draw:
    """Chance for one document in one epoch, or for one section of it: `order` to sort by, the others in [0, 1)."""

    order: int
    fim: float
    cuts: tuple[float, float]


def draw(seed: int, epoch: int, path: str, section: int = 0) -> Draw:
    """The chance of a document; a section of it has its own cuts."""
    key = f"{seed}\0{epoch}\0{section}\0{path}".encode("utf-8", "surrogatepass")
    digest = blake2b(key, digest_size=32).digest()
    order, fim, first, second = (int.from_bytes(digest[i : i + 8], "little") for i in range(0, 32, 8))
    return Draw(order, _fraction(fim), (_fraction(first), _fraction(second)))


def cut(text: str, cuts: tuple[float, float]) -> tuple[str, str, str]:
    """(prefix, middle, suffix) of `text`, cut at two characters; each part may be empty."""
    first, second = sorted(int(fraction * (len(text) + 1)) for fraction in cuts)
    return text[:first], text[first:second], text[second:]


def sections(text: str, lengths: np.ndarray, most: int) -> list[str]:
    """`text` in sections of about `most` tokens, cut at line ends; one where it is short enough or `most` is 0.

    lengths (t,): the bytes of each token of the text.  A middle far from its prefix and suffix teaches nothing, so no
    section should be much longer than what a window shows.
    """
    count = -(-len(lengths) // most) if most else 1
    if count < 2:
        return [text]
    ends = np.cumsum(lengths)
    result, begin = [], 0
    for number in range(1, count):
        # As far into the characters as the token is into the bytes: near enough.
        place = len(text) * int(ends[number * len(ends) // count - 1]) // max(1, int(ends[-1]))
        end = text.find("\n", max(begin, place - 1)) + 1
        if 0 < end < len(text):
            result.append(text[begin:end])
            begin = end
    return [*result, text[begin:]]


def _fraction(number: int) -> float:
    return (number >> 11) * 2.0**-53
