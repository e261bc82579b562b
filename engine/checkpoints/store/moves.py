"""Where a store is changed: the lock, the folder `work`, and the few moves that everything is made of.

Whatever is being written is under `work` until a single rename puts it in place. A folder there has a lock file
beside it that its writer holds, so that another program's clean-up can tell a running writer from a killed one.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.checkpoints.store.contents import LOCK, WORK, size_of
from engine.checkpoints.store.manifest import MANIFEST_FILE, Manifest
from engine.checkpoints.store.writing import (
    Disk,
    FolderWriter,
    hold,
    in_words,
    is_held,
    locked,
    remove_tree,
    write_file,
)
from engine.errors import CheckpointError


class StoreMoves:
    """The changes that can be made to a store's folder."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.folder, self._disk = folder, disk

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other programs from changing the store."""
        self.ensure(self.folder)
        with locked(self._disk, self.folder / LOCK):
            yield

    def ensure(self, folder: Path) -> None:
        """Make a folder and its parents, if missing."""
        if folder.is_dir():
            return
        if folder.parent != folder:
            self.ensure(folder.parent)
        try:
            self._disk.make_folder(folder)
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            self._disk.flush_folder(folder.parent)

    @contextlib.contextmanager
    def writing(self, manifest: Manifest) -> Iterator[FolderWriter]:
        """A new folder under `work`, marked as in use for as long as this lasts."""
        place = self.folder / WORK / manifest.id
        with in_words(f"{manifest.name} cannot be saved"), contextlib.ExitStack() as stack:
            with self.locked():  # so that no clean-up comes between the making of the lock and the holding of it
                self.ensure(self.folder / WORK)
                stack.callback(os.close, hold(self._disk, _lock_of(place)))
            try:
                yield FolderWriter(self._disk, place)
            finally:
                remove_tree(self._disk, place)  # after a commit it is no longer there
                remove_tree(self._disk, _lock_of(place))

    def commit(self, writer: FolderWriter, manifest: Manifest, check: Callable[[], Manifest | None]) -> Manifest:
        """Put a written folder in its place in the store; returns what is in the store then.

        Under the lock, `check` may still refuse, or return a checkpoint that makes this one redundant.
        """
        write_file(self._disk, writer.folder / MANIFEST_FILE, manifest.to_json())
        writer.flush()
        with self.locked():
            if (other := check()) is not None:
                return other
            if (self.folder / manifest.id).exists():
                raise CheckpointError(f"Checkpoint {manifest.id} already exists.")
            self.move(writer.folder, self.folder / manifest.id)
            return manifest

    @contextlib.contextmanager
    def in_use(self, id: str, run: str) -> Iterator[None]:
        """Mark a checkpoint as needed by a run, for as long as this lasts or the process lives."""
        place = self.folder / WORK / f"{id}.{run}.lock"
        with self.locked():
            self.ensure(self.folder / WORK)
            held = hold(self._disk, place)
        try:
            yield
        finally:
            os.close(held)
            remove_tree(self._disk, place)

    def replace_manifest(self, new: Manifest) -> None:
        """Replace a manifest.  Call it with the lock held."""
        self.ensure(self.folder / WORK)
        temporary = self.folder / WORK / uuid.uuid4().hex
        try:
            write_file(self._disk, temporary, new.to_json())
            self._disk.rename(temporary, self.folder / new.id / MANIFEST_FILE)
        except BaseException:
            remove_tree(self._disk, temporary)
            raise
        self._disk.flush_folder(self.folder / new.id)

    def move(self, source: Path, target: Path) -> None:
        """A durable rename.  Call it with the lock held."""
        self._disk.rename(source, target)
        self._disk.flush_folder(target.parent)
        self._disk.flush_folder(source.parent)

    def leftovers(self) -> list[Path]:
        """What killed writers left behind.  Call it with the lock held."""
        work = self.folder / WORK
        found = [work / name for name in sorted(os.listdir(work))] if work.is_dir() else []
        return [path for path in found if not is_held(_lock_of(path))]

    def discard(self, path: Path) -> int:
        """Remove a file or a folder that nothing refers to; returns the bytes freed."""
        size = size_of(path)
        remove_tree(self._disk, path)
        return size - size_of(path)


def _lock_of(path: Path) -> Path:
    return path if path.suffix == ".lock" else path.with_name(f"{path.name}.lock")
