"""Writing outside the store: a file or folder appears under its name when it is complete, or not at all.

An export can be repeated: what an earlier one wrote is replaced. A folder that holds anything else is not touched.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.atomic_file import replacing
from engine.checkpoints.store.writing import Disk, FolderWriter, in_words, new_folder, remove_tree
from engine.errors import CheckpointError


@contextlib.contextmanager
def export_file(path: Path) -> Iterator[Path]:
    """A temporary sibling of `path` to write; it takes the place of `path` at the end, and is gone after an error."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise CheckpointError(f"{path} exists and is not a regular file.", "Choose a file name.")
    with in_words(f"{path} cannot be written"), replacing(path) as file:
        yield Path(file.name)


@contextlib.contextmanager
def export_folder(path: Path, ours: Iterable[str]) -> Iterator[FolderWriter]:
    """A folder to fill; `ours` are the names that a folder to be replaced may hold."""
    disk = Disk()
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise CheckpointError(f"{path} exists and is not a folder.", "Choose another place.")
    if not path.exists():
        with new_folder(path, disk) as writer:
            yield writer
        return
    with in_words(f"{path} cannot be written"):
        foreign = sorted({entry.name for entry in path.iterdir()} - frozenset(ours))
        if foreign:
            raise CheckpointError(
                f"{path} holds {foreign[0]!r}, which is not part of an export.", "Choose a new or empty folder."
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
    """JSON, sorted and indented, ending in a newline."""
    return (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
