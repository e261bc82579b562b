"""Held-out files in two parts: validation, which a run looks at, and scoring, which only scores look at.

A run keeps the step that does best on validation, so a score on the same files would be slightly optimistic. Half of
the held-out files, by a hash of their paths, are therefore reserved for scores. As in `split`, similar files stay
together and decisions are remembered; the hash is overridden where a part would have too little code. Where there is
too little for two parts, all files are used for both.
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
MOST_COUNTED = 16_000  # bytes of one file: a score uses no more of it, so that a large file does not dominate


@dataclass(frozen=True, slots=True)
class HeldOutFile:
    """A held-out file; similar files have the same `group`."""

    path: str
    size: int
    group: str
    is_code: bool


@dataclass(slots=True)
class _Unit:
    """Files that are in the same part."""

    paths: list[str]
    code: int = 0  # bytes that count
    any: int = 0
    known: bool | None = None
    scoring: bool = False

    @property
    def place(self) -> float:
        """From 0 to 1, by another hash than the split's, which has already selected these files."""
        path = min(self.paths).encode("utf-8", "surrogateescape")
        return int.from_bytes(blake2b(path, digest_size=8, person=b"codecoil scoring").digest(), "big") / 2.0**64


def choose_scoring(files: Iterable[HeldOutFile], previous: Mapping[str, bool]) -> dict[str, bool] | None:
    """For every held-out file, whether it is reserved for scores; None if there is too little for two parts.

    `previous`: earlier decisions. A file changes parts only where one of them would have too little otherwise.
    """
    units: dict[str, _Unit] = {}
    for file in files:
        unit = units.setdefault(file.group, _Unit([]))
        unit.paths.append(file.path)
        unit.any += min(file.size, MOST_COUNTED)
        unit.code += min(file.size, MOST_COUNTED) if file.is_code else 0
        before = previous.get(file.path)
        if before is not None:
            # Files of both parts have become similar: validation wins, because it may have selected a run's step.
            unit.known = before if unit.known is None else unit.known and before
    for unit in units.values():
        unit.scoring = unit.place < SCORING_SHARE if unit.known is None else unit.known
    if not _balance(list(units.values())):
        return None
    return {path: unit.scoring for unit in units.values() for path in unit.paths}


def _balance(units: list[_Unit]) -> bool:
    """Move as few as possible, new ones first, until both parts have enough; False if that is impossible."""
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
