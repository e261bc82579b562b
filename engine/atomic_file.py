"""The one way a file is replaced: after a kill or a full disk there is the old one or the new one, never a half.

    with replacing(path) as file:            replace_file(path, content)
        file.write(...)

A sibling is written, flushed and renamed.  Whatever goes wrong is raised, and leaves nothing behind; what a killed
process leaves (`.name.….part`) is removed by `sweep`.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

LONGEST = 40  # characters of the file's name in that of its temporary sibling
SUFFIX = ".part"
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.part", re.DOTALL)


@contextlib.contextmanager
def replacing(path: Path, *, mode: int | None = None, durable: bool = True) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends well.  The folder is made where it is missing.

    `mode`: the permissions that the file is to have (by default those of any new file).
    `durable=False`: for what can be computed again, do not wait for the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name[:LONGEST]}.{uuid.uuid4().hex}{SUFFIX}")
    try:
        # With its permissions from the start: a secret is never readable for a moment.
        with open(partial, "xb", opener=None if mode is None else partial_opener(mode)) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if mode is not None:
            os.chmod(partial, mode)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def partial_opener(mode: int):
    """Opens a file with these permissions."""
    return lambda path, flags: os.open(path, flags, mode)


def replace_file(path: Path, content: bytes | str, *, mode: int | None = None, durable: bool = True) -> None:
    """Replace `path` by `content`; text is written as UTF-8."""
    with replacing(path, mode=mode, durable=durable) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def is_temporary(name: str) -> bool:
    """Whether a file of that name is being written here, or was left by a killed writer."""
    return TEMPORARY.fullmatch(name) is not None


def sweep(folder: Path, older_than: float = 3600.0) -> None:
    """Remove what killed writers left in `folder`; `older_than`: seconds, to spare files that are being written."""
    with contextlib.suppress(OSError):
        for left in folder.glob(f".*{SUFFIX}"):
            if time.time() - left.stat().st_mtime > older_than:
                left.unlink()
