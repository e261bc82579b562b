"""Moving the data folder: copied and verified first, switched over at the next start, the old one kept.

    the usual place ── moved.json   from, to, and how far it is:
        copied   there is a verified copy, and the old folder is still in use; the next start of the window copies
                 what has changed since, and only then switches
        moved    the new folder is used.  The old one stays until the user deletes it.

At any instant a kill leaves the old folder whole and in use, or the new one.  The note is the only truth: it is
replaced atomically, after everything it says is on the disk.  No Qt, no engine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.atomic_file import is_temporary, replace_file, replacing
from engine.errors import ConfigError

NOTE, LIST = "moved.json", "moved_files.json"
COPIED, MOVED = "copied", "moved"
CHUNK = 1 << 20
SPARE = 64 << 20  # bytes that stay free on the new disk
PARTIAL = ".codecoil-moving"  # suffix of a copy in progress
MOST_BYTES = 64 << 20  # of a note

Report = Callable[[int, int], None]  # bytes done, bytes in all; may raise to end it


@dataclass(frozen=True)
class Move:
    """What the note says; `source` is empty once the old folder was deleted."""

    source: str
    target: str
    state: str

    @property
    def folder(self) -> Path:
        """The one in use."""
        return Path(self.target if self.state == MOVED else self.source)


@dataclass(frozen=True)
class MovePlan:
    """What a move would copy, and how much space there is."""

    source: str
    target: str
    files: int
    nbytes: int
    free: int


# ---- the note


def read_move(usual: Path) -> Move | None:
    """The note in the usual place; None if nothing was moved, or the note is unreadable."""
    try:
        with open(usual / NOTE, "rb") as file:
            content = json.loads(file.read(MOST_BYTES))
        move = Move(*(content[name] for name in ("from", "to", "state")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    good = all(isinstance(value, str) for value in vars(move).values()) and bool(move.target)
    return move if good and (move.state == MOVED or (move.state == COPIED and move.source)) else None


def write_move(usual: Path, move: Move) -> None:
    """Replace the note, and wait for the disk."""
    _write_json(usual / NOTE, {"from": move.source, "to": move.target, "state": move.state})


def forget_move(usual: Path) -> None:
    """Delete the note."""
    for name in (NOTE, LIST):
        (usual / name).unlink(missing_ok=True)


# ---- before


def plan_move(source: Path, chosen: Path) -> MovePlan:
    """What moving to `chosen` would do; a folder that is not empty gets a subfolder for it.  Raises ConfigError."""
    target = chosen if not _holds_something(chosen) else chosen / "Codecoil"
    if _is_inside(target, source):
        raise ConfigError(f"{target} is inside the current data folder.", "Choose a folder outside it.")
    if _holds_something(target):
        raise ConfigError(f"{target} is not empty.", "Choose an empty folder, or a new one.")
    sizes = files_of(source)
    plan = MovePlan(str(source), str(target), len(sizes), sum(size for size, _ in sizes.values()), _free(target))
    if plan.free < plan.nbytes + SPARE:
        raise ConfigError(
            f"{target} has {plan.free / 1e6:,.0f} MB free, but {plan.nbytes / 1e6:,.0f} MB are needed.",
            "Free some space there, or choose another disk.",
        )
    return plan


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file by its path in the folder, without notes of moving and temporary files."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            relative = path.relative_to(folder).as_posix()
            if relative in (NOTE, LIST) or path.is_symlink() or is_temporary(name):
                continue
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                state = path.stat()
                found[relative] = (state.st_size, state.st_mtime_ns)
    return found


# ---- copying


def copy_all(usual: Path, plan: MovePlan, report: Report) -> Move:
    """Copy, verify, and write the note.  If it ends before that, nothing is left behind."""
    source, target = Path(plan.source), Path(plan.target)
    partial = target.with_name(target.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)  # of an earlier attempt that was killed
    files = files_of(source)
    total, done = 2 * sum(size for size, _ in files.values()), 0  # written once, read once

    def count(nbytes: int) -> None:
        nonlocal done
        done = min(total, done + nbytes)
        report(done, total)

    try:
        partial.mkdir(parents=True)
        hashes = {name: _copy(source / name, partial / name, count) for name in files}
        for name, found in hashes.items():
            if found and _hash(partial / name, count) != found:
                raise ConfigError(f"{name} in {target} differs from what was written.", "Try another disk.")
        if target.is_dir():
            target.rmdir()  # empty, as the plan has checked
        os.replace(partial, target)
        _flush_folder(target.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _write_json(usual / LIST, sorted(name for name, found in hashes.items() if found))
    move = Move(plan.source, plan.target, COPIED)
    write_move(usual, move)
    return move


def undo_copy(usual: Path) -> None:
    """Keep the old folder, and delete the copy."""
    move = read_move(usual)
    if move is not None and move.state == COPIED:
        forget_move(usual)
        shutil.rmtree(move.target, ignore_errors=True)


# ---- the next start


def finish_move(usual: Path) -> Move | None:
    """Copy what has changed since, and use the new folder from here on.

    Only while nothing uses the old folder.  If it cannot be done (a disk that is not connected), the old one stays in
    use and nothing is lost.
    """
    move = read_move(usual)
    if move is None or move.state != COPIED:
        return move
    source, target = Path(move.source), Path(move.target)
    if not target.is_dir():
        return move
    before, now = files_of(target), files_of(source)
    for name, state in now.items():
        if before.get(name) != state:
            _copy(source / name, target / name, lambda _count: None)
    for name in set(_copied(usual)) - now.keys():  # deleted since; files of others stay
        (target / name).unlink(missing_ok=True)
    _flush_folder(target)
    move = replace(move, state=MOVED)
    write_move(usual, move)
    return move


def old_folder(usual: Path) -> Path | None:
    """The previous folder, if it still exists."""
    move = read_move(usual)
    source = Path(move.source) if move is not None and move.state == MOVED and move.source else None
    return source if source is not None and source.is_dir() and files_of(source) else None


def delete_old(usual: Path, report: Report) -> None:
    """Delete the previous folder.  What another program has put there since is copied first."""
    move, source = read_move(usual), old_folder(usual)
    if move is None or source is None:
        return
    target, known = Path(move.target), set(_copied(usual))
    left = files_of(source)
    for name in left:
        if name not in known and not (target / name).exists():
            _copy(source / name, target / name, lambda _count: None)
    for done, name in enumerate(left):
        report(done, len(left))
        (source / name).unlink(missing_ok=True)
    for place, _, _ in os.walk(source, topdown=False):
        with contextlib.suppress(OSError):  # not empty: it is the usual place, with its note
            os.rmdir(place)
    (usual / LIST).unlink(missing_ok=True)
    write_move(usual, replace(move, source=""))


# ---- inside


def _copied(usual: Path) -> list[str]:
    try:
        content = json.loads((usual / LIST).read_bytes())
    except (OSError, ValueError):
        return []
    names = [name for name in content if isinstance(name, str)]
    return [name for name in names if ".." not in Path(name).parts and not Path(name).is_absolute()]


def _copy(source: Path, target: Path, count: Callable[[int], None]) -> str:
    """Copy one file with its time; returns its hash, or "" if it has been deleted meanwhile."""
    found = hashlib.sha256()
    try:
        reader = open(source, "rb")  # noqa: SIM115
    except FileNotFoundError:
        return ""
    with reader:
        state = os.fstat(reader.fileno())
        with replacing(target) as writer:
            while piece := reader.read(CHUNK):
                writer.write(piece)
                found.update(piece)
                count(len(piece))
    os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    return found.hexdigest()


def _hash(path: Path, count: Callable[[int], None]) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(CHUNK):
            found.update(piece)
            count(len(piece))
    return found.hexdigest()


def _write_json(path: Path, content: object) -> None:
    replace_file(path, json.dumps(content))
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Flush changed names in a folder to the disk, where the system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _holds_something(folder: Path) -> bool:
    try:
        return folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror or error}.", "Choose another folder.") from error


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _free(folder: Path) -> int:
    """Free bytes on the disk of a folder that may not exist yet; ConfigError if it is not writable."""
    place = folder
    while not place.exists() and place.parent != place:
        place = place.parent
    if not os.access(place, os.W_OK):
        raise ConfigError(f"{place} is not writable.", "Choose another folder.")
    return shutil.disk_usage(place).free
