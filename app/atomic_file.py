"""Replaces a file as a whole: after a kill or a full disk there is the old one or the new one, never a half."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

LONGEST = 40  # characters of the file's name in that of its temporary sibling


def replace_file(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write a sibling, wait for the disk, and rename it.  `mode`: the permissions that the file is to have.

    The folder is made where it is missing.  Whatever goes wrong is raised, and leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(f".{os.getpid()}.part", f".{path.name[:LONGEST]}.", path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(partial, mode)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
