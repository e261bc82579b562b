"""Which files are only measured on, never learned.

The side of a file follows from a hash of its path, so it is the same on every machine and does not depend on other
files.  Three things may overrule the hash, and what they decide is remembered (`Sides`) so that it does not move later:
files that resemble each other stand on one side; there is a least number of held-out files and tokens, and of files of
code, because scores count nothing else; something is always left to learn.  A file that has been learned is never held
out afterwards because of what happened to another one, unless nothing is held out without it.

The second strategy holds out what the newest commits touch: code that the model would really have to write next.  A
repository of one file is split by lines, at its end.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from engine.corpus.reading.git import ask_git

MOST_TOKENS = 0.5  # of all tokens in one file: such a file is learned, or little is left
MOST_COMMITS = 1000

Sides = Mapping[str, bool]
"""For every file of the corpus that has a side: True for held out."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that the split decides about.

    Files that resemble each other have the same `group`.  `learned` is False for a copy that is left out: it takes the
    side of its group too, so that it cannot change sides when the file it copies is deleted.
    """

    path: str
    tokens: int
    group: str
    learned: bool = True
    is_code: bool = True


@dataclass(frozen=True, slots=True)
class Portion:
    """How much is held out: a share of the files, and at least so many files and such a share of the tokens."""

    share: float = 0.10
    least_files: int = 2
    least_tokens: float = 0.02


@dataclass(frozen=True, slots=True)
class Newest:
    """The files that the newest commits touch, newest first, and the commit that this was read at."""

    commit: str
    paths: tuple[str, ...]


@dataclass(slots=True)
class _Unit:
    """What goes to one side as a whole."""

    paths: list[str]
    files: int = 0
    code_files: int = 0
    tokens: int = 0
    place: float = 2.0
    known: bool | None = None
    held: bool = False


@functools.lru_cache(maxsize=1 << 17)
def place_of(path: str) -> float:
    """Where a path lies between 0 and 1; files below the share are held out."""
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8, person=b"codecoil split").digest()
    return int.from_bytes(digest, "big") / 2.0**64


def is_held_out_by_hash(file: Candidate, total: int, portion: Portion) -> bool:
    """The side of a file that is new and resembles no other; `total`: the tokens of all files."""
    return place_of(file.path) < portion.share and file.tokens <= MOST_TOKENS * total


def split_by_path(candidates: Iterable[Candidate], previous: Sides, portion: Portion) -> dict[str, bool]:
    """The side of every candidate: True for held out.  `previous`: where they stood before, so that they stay."""
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
    """Candidates by group.  The hash of a group is that of its first path."""
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
            # Where two sides have grown alike, the one that was learned decides: it cannot be unlearned.
            unit.known = before if unit.known is None else unit.known and before
    for unit in groups.values():
        unit.place = place_of(min(unit.paths))
    return list(groups.values())


def _with_least_and_rest(units: list[_Unit], order: list[_Unit], total: int, portion: Portion) -> dict[str, bool]:
    """Hold out more until the least is reached, and see to it that something is left to learn."""
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
    """Of code that nobody has learned yet, hold out more until the least number of files is reached."""
    code_files = sum(unit.code_files for unit in usable if unit.held)
    learned = sum(not unit.held and bool(unit.code_files) for unit in usable)
    for unit in usable:
        if code_files >= portion.least_files or learned <= 1:
            break
        if unit.code_files and not unit.held and unit.known is None and unit.tokens <= MOST_TOKENS * total:
            unit.held = True
            code_files, learned = code_files + unit.code_files, learned - 1


def line_to_split_at(text: str, portion: Portion) -> int | None:
    """Where the held-out end of a text begins, as an index into it, after a line break; None if it is too short.

    At least the share of the text and one line, at most about half of it.
    """
    if portion.share <= 0:
        return None
    half = len(text) // 2
    least = max(1, int(len(text) * max(portion.share, portion.least_tokens)))
    cut = text.rfind("\n", 0, len(text) - least) + 1
    if cut <= half:
        # A long last line: the middle is the best that lines allow.
        cut = max(cut, text.find("\n", half, len(text) - 1) + 1)
    return cut if 0 < cut < len(text) else None


def newest_paths(root: Path, wanted: Callable[[str], bool]) -> Newest | None:
    """What the newest commits touch, of the files that are `wanted`; None without git or history.

    Files of one commit come in the order of their hash, so that a commit that touches everything gives a fair sample.
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
    """Hash and paths of every commit.  Between them stand NULs; the first path comes after a line break as well."""
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
