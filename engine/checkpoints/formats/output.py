"""Writing outside of the store: a file or a folder appears under its name when it is whole, or not at all.

An export may be repeated: what an earlier one wrote is replaced. A folder that holds anything else is not touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.checkpoints.store.writing import Disk, FolderWriter, in_words, new_folder, remove_tree
from engine.errors import CheckpointError


@contextlib.contextmanager
def export_file(path: Path, disk: Disk | None = None) -> Iterator[Path]:
    """A temporary sibling of `path` to write; it takes the place of `path` at the end, and is gone after an error."""
    disk = disk or Disk()
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise CheckpointError(f"{path} is there and is no plain file.", "Name a file.")
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    with in_words(f"{path} cannot be written"):
        try:
            yield part
            descriptor = os.open(part, os.O_RDWR)
            try:
                disk.flush(descriptor)
            finally:
                os.close(descriptor)
            disk.rename(part, path)
            disk.flush_folder(path.parent)
        except BaseException:
            remove_tree(disk, part)
            raise


@contextlib.contextmanager
def export_folder(path: Path, ours: Iterable[str], disk: Disk | None = None) -> Iterator[FolderWriter]:
    """A folder to fill; `ours` are the names that a folder to be replaced may hold."""
    disk = disk or Disk()
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise CheckpointError(f"{path} is there and is no folder.", "Choose another place.")
    if not path.exists():
        with new_folder(path, disk) as writer:
            yield writer
        return
    with in_words(f"{path} cannot be written"):
        foreign = sorted({entry.name for entry in path.iterdir()} - frozenset(ours))
        if foreign:
            raise CheckpointError(
                f"{path} holds {foreign[0]!r}, which is not part of an export.", "Choose a new or an empty folder."
            )
        fresh, old = (path.with_name(f".{uuid.uuid4().hex}.part") for _ in range(2))
        with new_folder(fresh, disk) as writer:
            yield writer
        try:
            disk.rename(path, old)
            try:
                disk.rename(fresh, path)
            except BaseException:
                disk.rename(old, path)
                raise
        except BaseException:
            remove_tree(disk, fresh)
            raise
        disk.flush_folder(path.parent)
        remove_tree(disk, old)


def json_bytes(content: Any) -> bytes:
    """JSON for people and programs: sorted, indented, with a line's end."""
    return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
