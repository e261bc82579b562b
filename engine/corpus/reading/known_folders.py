"""The folders that have been read, and which of them belong together.

    repositories/<hash of the root>/about.json     where the folder is, and how large it was when it was last read

Two folders are related if one is inside the other, or if both are work trees of one git repository.  That is looked up
in git's own files; git is not started.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FILE_NAME = "about.json"
SCHEMA = 1
MOST_BYTES = 64 << 10
LONGEST_POINTER = 4096  # bytes of git's files that name another folder


@dataclass(frozen=True, slots=True)
class KnownFolder:
    """A folder as it was last read: `files`, `nbytes` and `tokens` of what is learned or held out."""

    root: str
    files: int
    nbytes: int
    tokens: int
    read: str  # ISO 8601, UTC


def folder_as_json(known: KnownFolder) -> str:
    """The content of about.json."""
    return json.dumps({"schema": SCHEMA, **asdict(known)}, ensure_ascii=True) + "\n"


def known_folder(data: Path) -> KnownFolder | None:
    """What is kept about one folder; None where nothing is, or it is damaged: the next reading replaces it."""
    try:
        with open(data / FILE_NAME, "rb") as file:
            stored = json.loads(file.read(MOST_BYTES))
        if stored["schema"] != SCHEMA:
            return None
        known = KnownFolder(**{name: stored[name] for name in KnownFolder.__slots__})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    texts = known.root, known.read
    counts = known.files, known.nbytes, known.tokens
    return known if all(type(x) is str for x in texts) and all(type(x) is int and x >= 0 for x in counts) else None


def known_folders(data_folder: Path) -> list[tuple[KnownFolder, Path]]:
    """Every folder that was read, with the folder of what is kept about it; the one read last comes first."""
    kept = [(known_folder(each), each) for each in (Path(data_folder) / "repositories").glob("*")]
    return sorted(((known, data) for known, data in kept if known is not None), key=lambda each: each[0].read)[::-1]


def are_related(a: Path | str, b: Path | str) -> bool:
    """Whether a model adapted to one of the folders knows the other: the same, inside it, or a work tree of it.

    A name without a path, of a folder on another machine, is related to none.
    """
    if not (os.path.isabs(a) and os.path.isabs(b)):
        return False
    first, second = Path(os.path.realpath(a)), Path(os.path.realpath(b))
    if first.is_relative_to(second) or second.is_relative_to(first):
        return True
    home = _git_home(first)
    return home is not None and home == _git_home(second)


def _git_home(folder: Path) -> Path | None:
    """The folder that all work trees of a git repository share; None outside of git."""
    for above in (folder, *folder.parents):
        git = above / ".git"
        if git.is_dir():
            return git
        if git.is_file():
            named = _pointer(git, "gitdir:")
            if named is None:
                return None
            tree = Path(os.path.realpath(above / named))
            shared = _pointer(tree / "commondir", "")
            return tree if shared is None else Path(os.path.realpath(tree / shared))
    return None


def _pointer(path: Path, lead: str) -> str | None:
    """The path that one of git's small files names; None if it names none."""
    try:
        with open(path, "rb") as file:
            line = os.fsdecode(file.read(LONGEST_POINTER)).partition("\n")[0].strip()
    except OSError:
        return None
    return line.removeprefix(lead).strip() or None if line.startswith(lead) else None
