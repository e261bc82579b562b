"""Finds possible duplicates of a changed file, so that a change re-checks a handful of files instead of all.

Compares one signature with all others at once; a whole repository is compared by `near_duplicates`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.corpus.reading.near_duplicates import BINS, SIGNATURE_BYTES


class Resemblance:
    """Digests and signatures of the files that would be learned."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rows: dict[str, int] = {}
        self._paths: list[str | None] = []
        self._free: list[int] = []
        self._matrix = np.zeros((64, BINS), "<u2")
        self._digests: dict[str, set[str]] = {}
        self._digest_of: dict[str, str] = {}

    def put(self, path: str, digest: str, signature: bytes) -> None:
        """Add or replace a file.  A file too short to compare has no signature."""
        self.drop(path)
        self._digests.setdefault(digest, set()).add(path)
        self._digest_of[path] = digest
        if len(signature) != SIGNATURE_BYTES:
            return
        if self._free:
            row = self._free.pop()
            self._paths[row] = path
        else:
            row = len(self._paths)
            self._paths.append(path)
            if row == len(self._matrix):
                self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
        self._matrix[row] = np.frombuffer(signature, "<u2")
        self._rows[path] = row

    def drop(self, path: str) -> None:
        """Remove a file, if it is known."""
        digest = self._digest_of.pop(path, None)
        if digest is None:
            return
        self._digests[digest].discard(path)
        if not self._digests[digest]:
            del self._digests[digest]
        row = self._rows.pop(path, None)
        if row is not None:
            self._paths[row] = None
            self._free.append(row)

    def like(self, path: str) -> set[str]:
        """The files that are the same as, or at least `threshold` like, this one; itself among them."""
        digest = self._digest_of.get(path)
        if digest is None:
            return set()
        found = set(self._digests[digest])
        row = self._rows.get(path)
        if row is not None:
            used = self._matrix[: len(self._paths)]
            equal = np.count_nonzero(used == used[row], axis=1)
            near = np.flatnonzero(equal >= np.ceil(self.threshold * BINS))
            found.update(name for name in (self._paths[index] for index in near) if name is not None)
        return found

    def cluster(self, paths: Iterable[str], most: int) -> set[str] | None:
        """These files and all that are linked to them by resemblance; None if there are more than `most`."""
        waiting = list(paths)
        found = set(waiting)
        while waiting:
            new = self.like(waiting.pop()) - found
            found |= new
            waiting.extend(new)
            if len(found) > most:
                return None
        return found
