"""How checkpoints reach the disk: written to a temporary place, flushed, then renamed.

At any instant a kill leaves the old or the new, never a half. Every call that changes the disk goes through `Disk`, so
that a test can make any one of them fail. A disk error becomes a readable `CheckpointError`.

Files are hashed while they are written, by a second thread: hashing costs as much as writing, and neither needs Python.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import shutil
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from engine.checkpoints.store.manifest import FileRecord
from engine.errors import CheckpointError
from engine.safe_reading import check_file_name, open_plain
from engine.tensor_file import DTYPES, as_float32, new_file, pieces_of, type_name

Described = tuple[str, tuple[int, ...]]  # a tensor's type by safetensors' name, and its shape
CHUNK = 1 << 20
ALONE = 1 << 20  # files up to this size are hashed without a second thread
PENDING = 64  # chunks that may wait to be hashed
EARLY = 16 << 20  # bytes after which the system is asked to start writing back
PATIENCE = 30.0  # seconds to wait for another program's lock, which is held for a rename
NO_SPACE = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT") if hasattr(errno, name))
NOT_ALLOWED = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_LOCKS_HERE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)

if os.name == "nt":  # pragma: no cover
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Disk:
    """The calls that change the disk, one method each.  Tests replace it to fail at any of them."""

    def make_folder(self, path: Path) -> None:
        os.mkdir(path)

    def create(self, path: Path) -> int:
        """A descriptor of a new file; an existing one is not opened."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)

    def open_lock(self, path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)

    def write(self, descriptor: int, data: memoryview) -> int:
        return os.write(descriptor, data)

    def flush(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def begin_flush(self, descriptor: int, start: int, length: int) -> None:
        """Start writing back what was just written, so that little is left for the flush at the end."""
        if hasattr(os, "posix_fadvise"):  # on Linux this starts writing back and waits for nothing
            with contextlib.suppress(OSError):
                os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)

    def flush_folder(self, path: Path) -> None:
        if os.name == "nt":  # pragma: no cover  (folders cannot be flushed there)
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Replaces an existing file, but not an existing folder."""
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def remove_folder(self, path: Path) -> None:
        os.rmdir(path)


class WatchedDisk(Disk):
    """Calls `look` before every write, which may raise to end it there, and `wrote` with the bytes of each."""

    def __init__(self, look: Callable[[], None] = lambda: None, wrote: Callable[[int], None] = lambda count: None):
        self.look, self.wrote = look, wrote

    def write(self, descriptor: int, data: memoryview) -> int:
        self.look()
        count = super().write(descriptor, data)
        self.wrote(count)
        return count


# ---- words


@contextlib.contextmanager
def in_words(what: str) -> Iterator[None]:
    """Turn system errors into messages that a person can act on; `what`: "The checkpoint cannot be saved"."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        if error.errno in NO_SPACE:
            raise CheckpointError(
                f"{what}: the disk is full{place}.",
                "Free some space (empty the trash, delete checkpoints) and try again; what was stored before is safe.",
            ) from error
        if error.errno in NOT_ALLOWED:
            raise CheckpointError(
                f"{what}: no permission to write there{place}.",
                "Change its permissions or choose another data folder; what was stored before is safe.",
            ) from error
        words = f"{what}: {error.strerror or error}{place}."
        raise CheckpointError(words, "What was stored before is safe.") from error


def need_space(folder: Path, nbytes: int, what: str) -> None:
    """Refuse early if the disk has too little space."""
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(folder).free
        if free < nbytes:
            raise CheckpointError(
                f"{what}: it needs {nbytes / 1e6:.1f} MB, and {folder} has {free / 1e6:.1f} MB free.",
                "Free some space (empty the trash, delete checkpoints) and try again.",
            )


# ---- locks


@contextlib.contextmanager
def locked(disk: Disk, path: Path) -> Iterator[None]:
    """Hold a lock file.  It belongs to the process: the system releases it if that is killed."""
    descriptor = disk.open_lock(path)
    try:
        deadline = time.monotonic() + PATIENCE
        while not _held(descriptor):
            if time.monotonic() > deadline:
                raise CheckpointError(f"Another program keeps {path} locked.", "Close other copies of Codecoil.")
            time.sleep(0.002)
        yield
    finally:
        os.close(descriptor)


def hold(disk: Disk, path: Path) -> int:
    """Take a lock file of one's own, held until the descriptor is closed."""
    descriptor = disk.open_lock(path)
    _held(descriptor)
    return descriptor


def is_held(path: Path) -> bool:
    """Whether a running program holds a lock file."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _held(descriptor)
    finally:
        os.close(descriptor)


def _held(descriptor: int) -> bool:
    """Take the lock if it is free; a file system without locks counts as free."""
    try:
        _try_lock(descriptor)
    except OSError as error:
        return error.errno in NO_LOCKS_HERE
    return True


# ---- files


class FolderWriter:
    """Files into one new folder, each flushed and hashed.  `records` is what a manifest says of them."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self.disk, self.folder = disk, folder
        self.records: dict[str, FileRecord] = {}
        self._folders: list[Path] = []
        disk.make_folder(folder)

    def write_file(self, name: str, data: bytes) -> FileRecord:
        self.records[name] = write_file(self.disk, self._place(name), data)
        return self.records[name]

    def write_tensors(
        self,
        name: str,
        tensors: Mapping[str, np.ndarray],
        metadata: Mapping[str, str] | None = None,
        described: Mapping[str, Described] | None = None,
    ) -> FileRecord:
        self.records[name] = write_tensors(self.disk, self._place(name), tensors, metadata, described)
        return self.records[name]

    def copy_file(self, name: str, source: Path) -> FileRecord:
        """Copy a regular file, hashing it on the way."""
        target = self._place(name)
        descriptor = open_plain(source)
        try:
            size = os.fstat(descriptor).st_size
            with _HashedFile(self.disk, target, size) as file:
                while chunk := os.read(descriptor, CHUNK):
                    file.write(chunk)
        finally:
            os.close(descriptor)
        self.records[name] = file.record
        return file.record

    def flush(self) -> None:
        """Make the names of all files durable."""
        for folder in (*self._folders, self.folder):
            self.disk.flush_folder(folder)

    def _place(self, name: str) -> Path:
        """Where a file goes: into the folder, or one level down ("resume/optimiser.safetensors")."""
        *above, last = name.split("/")
        check_file_name(last, "A file of the checkpoint")
        if len(above) > 1:
            raise CheckpointError(f"{name} is nested too deep for a file of a checkpoint.")
        for part in above:
            inner = self.folder / check_file_name(part, "A folder of the checkpoint")
            if inner not in self._folders:
                self.disk.make_folder(inner)
                self._folders.append(inner)
        return self.folder / name


@contextlib.contextmanager
def new_folder(target: Path, disk: Disk | None = None) -> Iterator[FolderWriter]:
    """A folder that appears at `target` complete or not at all, for exports.  An existing one is not replaced."""
    disk = disk or Disk()
    if target.exists() or target.is_symlink():
        raise CheckpointError(f"{target} already exists.", "Choose another name, or delete it first.")
    with in_words(f"{target} cannot be written"):
        temporary = target.with_name(f".{uuid.uuid4().hex}.part")
        writer = FolderWriter(disk, temporary)
        try:
            yield writer
            writer.flush()
            disk.rename(temporary, target)
            disk.flush_folder(target.parent)
        except BaseException:
            remove_tree(disk, temporary)
            raise


def write_file(disk: Disk, path: Path, data: bytes) -> FileRecord:
    """A new file with `data`, flushed."""
    with _HashedFile(disk, path, len(data)) as file:
        file.write(data)
    return file.record


def write_tensors(
    disk: Disk,
    path: Path,
    tensors: Mapping[str, np.ndarray],
    metadata: Mapping[str, str] | None = None,
    described: Mapping[str, Described] | None = None,
) -> FileRecord:
    """A new safetensors file, flushed: the same bytes as the safetensors library writes.

    `described`: types (safetensors' names) and shapes. With it, tensors are fetched a piece at a time when their turn
    comes; what is to be F32 may be any float.
    """
    if described is None:
        described = {name: (type_name(name, array.dtype), array.shape) for name, array in tensors.items()}
    layout = new_file(described, metadata)
    with _HashedFile(disk, path, layout.nbytes) as file:
        file.write(layout.start)
        for name in layout.order:
            for piece in _checked(name, pieces_of(tensors, name), *described[name]):
                file.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8))
                file.settle()  # so that the pages behind it can be released
    return file.record


def _checked(name: str, pieces: Iterator[np.ndarray], dtype: str, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """`pieces` in the announced type, checked to add up to the announced shape."""
    size = 0
    for piece in pieces:
        piece = as_float32(piece) if dtype == "F32" else np.asarray(piece)
        if tuple(piece.shape[1:]) != tuple(shape[1:]) or piece.dtype != DTYPES[dtype]:
            raise CheckpointError(f"{name} is {piece.dtype} {tuple(piece.shape)}; {dtype} {tuple(shape)} is needed.")
        size += piece.size
        yield piece
    if size != math.prod(shape):
        raise CheckpointError(f"{name} has {size} numbers; {math.prod(shape)} are needed.")


def remove_tree(disk: Disk, path: Path) -> None:
    """Remove a file or a folder with its contents, as far as possible; links are removed, not followed."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            for name in os.listdir(path):
                remove_tree(disk, path / name)
            disk.remove_folder(path)
        else:
            disk.remove(path)


class _HashedFile:
    """A new file, hashed while it is written; flushed and closed at the end of its `with`."""

    def __init__(self, disk: Disk, path: Path, expected: int) -> None:
        self._disk, self._path = disk, path
        self._hash, self._size, self._begun = hashlib.sha256(), 0, 0
        self._threads = ThreadPoolExecutor(1, "hashing") if expected > ALONE else None
        self._pending: deque[Future[None]] = deque()
        self.record = FileRecord("", 0)

    def __enter__(self) -> _HashedFile:
        self._descriptor = self._disk.create(self._path)
        return self

    def write(self, data: bytes | np.ndarray) -> None:
        """All of `data`, which must not change until `settle` or the end of the file."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        for start in range(0, len(view), CHUNK):
            chunk = view[start : start + CHUNK]
            self._update(chunk)
            self._size += len(chunk)
            while chunk:
                chunk = chunk[self._disk.write(self._descriptor, chunk) :]
            if self._size - self._begun >= EARLY:
                self._disk.begin_flush(self._descriptor, self._begun, self._size - self._begun)
                self._begun = self._size

    def settle(self) -> None:
        """Wait until all that was written is hashed: its memory can be released then."""
        while self._pending:
            self._pending.popleft().result()

    def _update(self, chunk: memoryview) -> None:
        if self._threads is None:
            self._hash.update(chunk)
            return
        while len(self._pending) >= PENDING:  # keeps few chunks alive when hashing is the slower of the two
            self._pending.popleft().result()
        self._pending.append(self._threads.submit(self._hash.update, chunk))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._disk.flush(self._descriptor)
        finally:
            os.close(self._descriptor)
            if self._threads is not None:
                self._threads.shutdown()
        self.settle()
        self.record = FileRecord(self._hash.hexdigest(), self._size)
