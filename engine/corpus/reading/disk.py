"""Locking and error messages for writing to the data folder.

Nothing here knows what is stored.  The system releases a lock when the process that holds it is killed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from engine.errors import CorpusError

LOCK_NAME = "lock"
PATIENCE = 30.0  # seconds to wait for another process; a lock is held for one write of a few megabytes
NO_SPACE = (errno.ENOSPC, errno.EDQUOT) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)
NOT_ALLOWED = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_LOCKS_HERE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's write lock; creates the folder.  Without file locks, checksums must do."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        held = _wait_for_lock(descriptor, folder)
        try:
            yield
        finally:
            if held:
                _unlock(descriptor)
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, folder: Path) -> bool:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            _try_lock(descriptor)
            return True
        except OSError as error:
            if error.errno in NO_LOCKS_HERE:
                return False
            if time.monotonic() > deadline:
                raise CorpusError(
                    f"Another program has locked the cache in {folder}.",
                    "Close other copies of Codecoil and try again.",
                ) from error
        time.sleep(0.005)


def is_read_only(error: OSError) -> bool:
    """The folder is not writable; the caller can carry on without it."""
    return error.errno in NOT_ALLOWED


def refused(error: OSError, folder: Path, what: str) -> CorpusError:
    """The error to show when `what` could not be written."""
    if error.errno in NO_SPACE:
        return CorpusError(
            f"The disk is full: {what} could not be written to {folder}. Existing data is unchanged.",
            "Free some space, or set a data folder on another disk with --data-dir or CODECOIL_DATA, then scan again.",
        )
    return CorpusError(
        f"{what[:1].upper()}{what[1:]} could not be written to {folder}: {error.strerror or error}.",
        "Check the data folder, or set another one with --data-dir or CODECOIL_DATA.",
    )
