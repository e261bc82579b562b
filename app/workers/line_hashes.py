"""How many lines changed since a checkpoint, by a hash of every line at the time it was made.

The checkpoint itself contains no text, and should not.  32 bits of a line's hash cannot be turned back into the line.
A file's changed lines are those whose hash the old file does not have; moved lines do not count.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from engine.atomic_file import replacing

MOST_BYTES = 4 << 20  # of one file
KEPT = 3  # checkpoints of a repository whose hashes are kept


def hashes_of(path: Path) -> np.ndarray:
    """uint32, one for each line that is not blank; empty if the file cannot be read."""
    from engine.corpus.reading.safe_opening import read_file

    try:
        data = read_file(path, MOST_BYTES)
    except OSError:
        return np.empty(0, np.uint32)
    lines = (line.strip() for line in data.splitlines())
    return np.fromiter((zlib.crc32(line) for line in lines if line), np.uint32)


def changed_lines(before: np.ndarray, after: np.ndarray) -> int:
    """Lines of `after` that `before` does not have, or lines that are gone, whichever are more."""
    old, old_counts = np.unique(before, return_counts=True)
    new, new_counts = np.unique(after, return_counts=True)
    _, at_old, at_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    same = int(np.minimum(old_counts[at_old], new_counts[at_new]).sum())
    return max(len(before), len(after)) - same


class LineHashes:
    """The hashes of a repository's learned files, one file on disk for each checkpoint."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the data about the repository."""
        self._folder = folder
        self._known: tuple[str, dict[str, np.ndarray]] = ("", {})

    def keep(self, checkpoint: str, root: Path, paths: Iterable[str]) -> None:
        """Save the present lines.  If that cannot be written, whole files are counted later."""
        hashes = {path: hashes_of(root / path) for path in paths}
        self._known = (checkpoint, hashes)
        names = "\0".join(hashes).encode("utf-8", "surrogateescape")
        ends = np.cumsum([len(each) for each in hashes.values()], dtype=np.int64)
        values = np.concatenate([np.empty(0, np.uint32), *hashes.values()])
        target = self._path(checkpoint)
        with contextlib.suppress(OSError):
            with replacing(target, durable=False) as file:
                for array in (np.frombuffer(names, np.uint8), ends, values):
                    np.lib.format.write_array(file, array, allow_pickle=False)
            kept = sorted(self._folder.glob("lines-*.npy"), key=lambda each: each.stat().st_mtime, reverse=True)
            for old in kept[KEPT:]:
                old.unlink(missing_ok=True)

    def count(self, checkpoint: str, root: Path, paths: Iterable[str]) -> int:
        """How many lines of these files changed since; all lines of a file that has no hashes."""
        before = self._load(checkpoint)
        nothing = np.empty(0, np.uint32)
        return sum(changed_lines(before.get(path, nothing), hashes_of(root / path)) for path in paths)

    def _load(self, checkpoint: str) -> dict[str, np.ndarray]:
        if self._known[0] != checkpoint:
            self._known = (checkpoint, {})
            with contextlib.suppress(OSError, ValueError, EOFError), open(self._path(checkpoint), "rb") as file:
                names, ends, values = (np.lib.format.read_array(file, allow_pickle=False) for _ in range(3))
                names = names.tobytes().decode("utf-8", "surrogateescape").split("\0")
                parts = np.split(values.astype(np.uint32), ends[:-1])
                if len(names) == len(parts):
                    self._known = (checkpoint, dict(zip(names, parts, strict=True)))
        return self._known[1]

    def _path(self, checkpoint: str) -> Path:
        return self._folder / f"lines-{checkpoint}.npy"
