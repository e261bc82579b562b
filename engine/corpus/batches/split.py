"""Which files are held out: measured on, never learned.

The side of a file follows from a hash of its path, so it is the same on every machine and does not depend on other
files.  Three rules override the hash, and their decisions are remembered (`Sides`) so that files do not change sides
later: similar files are on the same side; a minimum number of files, of tokens and of code files (scores are measured
on code only) is held out; something is always left to learn.  A file that has been learned is not held out later
because of a change to another file, unless nothing would be held out otherwise.

The second strategy holds out the files that the newest commits touch: code that the model would really have had to
write next.  A repository of one file is split by lines: its end is held out.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from engine.corpus.reading.git import ask_git

MOST_TOKENS = 0.5  # of all tokens: a file with more is learned, because little would be left without it
MOST_COMMITS = 1000

Sides = Mapping[str, bool]
"""By path: True for held out, False for learned.  Files that are neither are not in it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to be put on one side.

    Similar files have the same `group`.  `learned` is False for a duplicate that is left out: it is on the side of its
    group as well, so that it does not change sides when the original is deleted.
    """

    path: str
    tokens: int
    group: str
    learned: bool = True
    is_code: bool = True


@dataclass(frozen=True, slots=True)
class Portion:
    """How much is held out: a share of the files, with a minimum number of files and a minimum share of the tokens."""

    share: float = 0.10
    least_files: int = 2
    least_tokens: float = 0.02


@dataclass(frozen=True, slots=True)
class Newest:
    """The files that the newest commits touch, newest first, and the commit that was checked out."""

    commit: str
    paths: tuple[str, ...]


@dataclass(slots=True)
class _Unit:
    """Files that are on the same side."""

    paths: list[str]
    files: int = 0
    code_files: int = 0
    tokens: int = 0
    place: float = 2.0
    known: bool | None = None
    held: bool = False


@functools.lru_cache(maxsize=1 << 17)
def place_of(path: str) -> float:
    """A path's hash, from 0 to 1; paths below the held-out share are held out."""
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8, person=b"codecoil split").digest()
    return int.from_bytes(digest, "big") / 2.0**64


def is_held_out_by_hash(file: Candidate, total: int, portion: Portion) -> bool:
    """The side of a new file that is similar to no other; `total`: the tokens of all files."""
    return place_of(file.path) < portion.share and file.tokens <= MOST_TOKENS * total


def split_by_path(candidates: Iterable[Candidate], previous: Sides, portion: Portion) -> dict[str, bool]:
    """The side of every candidate: True for held out.  `previous`: the sides they had before, which they keep."""
    units = _units(candidates, previous)
    total = sum(unit.tokens for unit in units)
    for unit in units:
        by_hash = unit.place < portion.share and unit.tokens <= MOST_TOKENS * total
        unit.held = by_hash if unit.known is None else unit.known
    order = sorted(units, key=lambda unit: (unit.known is False, unit.place))
    return _with_least_and_rest(units, order, total, portion)


def split_by_commits(
    candidates: Iterable[Candidate], newest_first: Iterable[str], previous: Sides, portion: Portion
) -> dict[str, bool]:
    """Hold out the files that the newest commits touch, until the share of the files is reached."""
    units = _units(candidates, previous)
    by_path = {path: unit for unit in units for path in unit.paths}
    total = sum(unit.tokens for unit in units)
    missing = max(portion.least_files, portion.share * sum(unit.files for unit in units))
    missing -= sum(unit.files for unit in units if unit.known)
    touched: list[_Unit] = []
    for unit in units:
        unit.held = bool(unit.known)
    for path in newest_first if portion.share > 0 else ():
        if missing <= 0:
            break
        unit = by_path.get(path)
        if unit is None or not unit.files or unit.held or unit.known is False:
            continue
        touched.append(unit)
        if unit.tokens <= MOST_TOKENS * total:
            unit.held = True
            missing -= unit.files
    taken = {id(unit) for unit in touched}
    others = (unit for unit in units if id(unit) not in taken)
    order = [*touched, *sorted(others, key=lambda unit: (unit.known is False, unit.place))]
    return _with_least_and_rest(units, order, total, portion)


def _units(candidates: Iterable[Candidate], previous: Sides) -> list[_Unit]:
    """Candidates by group.  A group's hash is that of its first path."""
    groups: dict[str, _Unit] = {}
    for candidate in candidates:
        unit = groups.get(candidate.group)
        if unit is None:
            unit = groups[candidate.group] = _Unit([])
        unit.paths.append(candidate.path)
        if candidate.learned:
            unit.files += 1
            unit.code_files += candidate.is_code
            unit.tokens += candidate.tokens
        before = previous.get(candidate.path)
        if before is not None:
            # Files of both sides have become similar: learned wins, because that cannot be undone.
            unit.known = before if unit.known is None else unit.known and before
    for unit in groups.values():
        unit.place = place_of(min(unit.paths))
    return list(groups.values())


def _with_least_and_rest(units: list[_Unit], order: list[_Unit], total: int, portion: Portion) -> dict[str, bool]:
    """Hold out more until the minimum is reached, and leave something to learn."""
    usable = [unit for unit in order if unit.files]
    if usable and all(unit.held for unit in usable):
        max(usable, key=lambda unit: (unit.tokens, unit.place)).held = False
    if portion.share > 0:
        files = sum(unit.files for unit in usable if unit.held)
        tokens = sum(unit.tokens for unit in usable if unit.held)
        learned = sum(not unit.held for unit in usable)
        for large in (False, True):  # a file that is most of the repository comes last
            for unit in usable:
                enough = files >= portion.least_files and tokens >= portion.least_tokens * total
                if enough or learned <= 1:
                    break
                if not unit.held and (unit.tokens > MOST_TOKENS * total) == large:
                    unit.held = True
                    files, tokens, learned = files + unit.files, tokens + unit.tokens, learned - 1
        _hold_out_code(usable, total, portion)
    return {path: unit.held for unit in units for path in unit.paths}


def _hold_out_code(usable: list[_Unit], total: int, portion: Portion) -> None:
    """Hold out more code that has not been learned yet, until the minimum number of files is reached."""
    code_files = sum(unit.code_files for unit in usable if unit.held)
    learned = sum(not unit.held and bool(unit.code_files) for unit in usable)
    for unit in usable:
        if code_files >= portion.least_files or learned <= 1:
            break
        if unit.code_files and not unit.held and unit.known is None and unit.tokens <= MOST_TOKENS * total:
            unit.held = True
            code_files, learned = code_files + unit.code_files, learned - 1


def line_to_split_at(text: str, portion: Portion) -> int | None:
    """The index, just after a line break, where the held-out end of a text begins; None if the text is too short.

    The end has at least the held-out share and one line, and at most about half of the text.
    """
    if portion.share <= 0:
        return None
    half = len(text) // 2
    least = max(1, int(len(text) * max(portion.share, portion.least_tokens)))
    cut = text.rfind("\n", 0, len(text) - least) + 1
    if cut <= half:
        # The last line is long: the first line break after the middle is the best there is.
        cut = max(cut, text.find("\n", half, len(text) - 1) + 1)
    return cut if 0 < cut < len(text) else None


def newest_paths(root: Path, wanted: Callable[[str], bool]) -> Newest | None:
    """The `wanted` files that the newest commits touch; None without git or without a history.

    Files of the same commit are ordered by their hash, so that a commit that touches everything gives a random sample.
    """
    arguments = ["log", f"--max-count={MOST_COMMITS}", "-z", "--name-only", "--relative", "--no-renames"]
    arguments += ["--no-merges", "--format=%x01%H", "--", "."]
    commits = _commits(ask_git(root, arguments) or b"")
    if not commits:
        return None
    found: dict[str, None] = {}
    for _, names in commits:
        for name in sorted(filter(wanted, names), key=place_of):
            found.setdefault(name)
    return Newest(commits[0][0], tuple(found))


def _commits(output: bytes) -> list[tuple[str, list[str]]]:
    """Hash and paths of every commit, from fields separated by NUL; a line break precedes the first path."""
    commits: list[tuple[str, list[str]]] = []
    first = False
    for part in output.split(b"\0"):
        if part[:1] == b"\x01" and len(part) in (41, 65):
            commits.append((part[1:].decode("ascii"), []))
            first = True
        elif part and commits:
            commits[-1][1].append(os.fsdecode(part[1:] if first and part[:1] == b"\n" else part))
            first = False
    return commits
