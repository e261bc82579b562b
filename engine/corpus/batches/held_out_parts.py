"""Held-out files in two parts: validation, which a run looks at, and scoring, which nothing looks at but a score.

A run keeps the step that does best on validation. A score on the same files would flatter the model a little, because
they chose it. So half of the held-out files, by a hash of their paths, only score. As in `split`, files that resemble
each other stay together and what was decided is remembered; the hash is overruled where a part would have too little
code in it. Where there is too little for two parts, both uses share all files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

SHARED = (
    "Too little code is held out to reserve a part for scoring: scores are measured on the same files that choose "
    "which step a run keeps, so they may be slightly optimistic."
)
SCORING_SHARE = 0.5  # of the held-out files
LEAST_SHARE = 0.2  # of the held-out code in each part
MOST_COUNTED = 16_000  # bytes of one file: a score takes no more of it, so a large one does not outweigh the others


@dataclass(frozen=True, slots=True)
class HeldOutFile:
    """A held-out file; files that resemble each other have the same `group`."""

    path: str
    size: int
    group: str
    is_code: bool


@dataclass(slots=True)
class _Unit:
    """What goes to one part as a whole."""

    paths: list[str]
    code: int = 0  # bytes that count
    any: int = 0
    known: bool | None = None
    scoring: bool = False

    @property
    def place(self) -> float:
        """Between 0 and 1, from another hash than the split's: that one has chosen these files already."""
        path = min(self.paths).encode("utf-8", "surrogateescape")
        return int.from_bytes(blake2b(path, digest_size=8, person=b"codecoil scoring").digest(), "big") / 2.0**64


def choose_scoring(files: Iterable[HeldOutFile], previous: Mapping[str, bool]) -> dict[str, bool] | None:
    """For every held-out file whether it only scores; None if there is too little for two parts.

    `previous`: what was decided before. A file changes its part only where one of them would be left with too little.
    """
    units: dict[str, _Unit] = {}
    for file in files:
        unit = units.setdefault(file.group, _Unit([]))
        unit.paths.append(file.path)
        unit.any += min(file.size, MOST_COUNTED)
        unit.code += min(file.size, MOST_COUNTED) if file.is_code else 0
        before = previous.get(file.path)
        if before is not None:
            # Where two parts have grown alike, validation wins: a run may have been chosen by it.
            unit.known = before if unit.known is None else unit.known and before
    for unit in units.values():
        unit.scoring = unit.place < SCORING_SHARE if unit.known is None else unit.known
    if not _balance(list(units.values())):
        return None
    return {path: unit.scoring for unit in units.values() for path in unit.paths}


def _balance(units: list[_Unit]) -> bool:
    """Move as few as possible, new ones first, until both parts have enough; False if that cannot be."""
    of_code = any(unit.code for unit in units)

    def size(unit: _Unit) -> int:
        return unit.code if of_code else unit.any

    least = LEAST_SHARE * sum(map(size, units))
    order = sorted((unit for unit in units if size(unit)), key=lambda unit: (unit.known is not None, unit.place))

    def has(scoring: bool) -> int:
        return sum(size(unit) for unit in order if unit.scoring is scoring)

    for part in (True, False):
        for unit in order:
            if has(part) >= least:
                break
            if unit.scoring is not part and has(not part) - size(unit) >= least:
                unit.scoring = part
    return bool(order) and has(True) >= least and has(False) >= least
