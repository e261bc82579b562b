"""Reads and writes the user's files in threads of their own: a disk may be slow, and the window does not wait for it.

A file is written atomically, in the form it had, and nowhere outside the repository.  One that has changed on disk
since it was opened is not written: the user is asked first.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot

from app.values.events import Failure
from app.values.failures import failure_of
from app.window.complete.file_text import FileForm, FileText, decode, digest_of, encode
from engine.atomic_file import replace_file
from engine.corpus.reading.safe_opening import read_file
from engine.errors import ConfigError

MOST_BYTES = 2 << 20  # that the editor opens
SAVED, CHANGED, GONE, FAILED = "saved", "changed", "gone", "failed"
KEPT = "Your text is still in the editor."
NEW_MODE = 0o644  # permissions of a file that has to be created again


# ---- reading


class FileReader(QObject):
    """Reads one file after the other; only the one requested last is reported."""

    read = Signal(str, object)  # path as requested, FileText
    failed = Signal(str, str)  # path, why

    _done = Signal(int, str, object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)  # waits for its thread when it is destroyed
        self._pool.setMaxThreadCount(1)
        self._number = 0
        self._done.connect(self.on_done)

    def request(self, root: str, path: str) -> None:
        """Read `path` below `root`."""
        self._number += 1
        self._pool.start(_ReadJob(self._number, root, path, self._done))

    def forget(self) -> None:
        """Ignore the last request."""
        self._number += 1

    def wait(self) -> None:
        """Block until the current read has finished."""
        self._pool.waitForDone()

    @Slot(int, str, object, str)
    def on_done(self, number: int, path: str, text: FileText | None, problem: str) -> None:
        if number != self._number:
            return
        if problem:
            self.failed.emit(path, problem)
        else:
            self.read.emit(path, text)


class _ReadJob(QRunnable):
    def __init__(self, number: int, root: str, path: str, done) -> None:
        super().__init__()
        self._number, self._root, self._path, self._done = number, root, path, done

    def run(self) -> None:
        self._done.emit(self._number, self._path, *read_text(self._root, self._path))


def read_text(root: str, path: str) -> tuple[FileText | None, str]:
    """The text of a file of the repository, or None and why it cannot be shown.  Never waits on a pipe."""
    name = Path(path).name
    try:
        content = read_file(resolve_inside(root, path), MOST_BYTES + 1)
    except ConfigError as error:
        return None, error.message
    except OSError as error:
        return None, f"{name} cannot be read: {error.strerror or error}."
    if len(content) > MOST_BYTES:
        return None, f"{name} is larger than {MOST_BYTES >> 20} MiB, too large for this editor."
    text = decode(content)
    return text, "" if text is not None else f"{name} is not a text file."


# ---- writing


@dataclass(frozen=True)
class SaveRequest:
    """`digest`: of the file as it was opened; "": overwrite whatever is there now."""

    root: str
    path: str
    text: str
    digest: str
    form: FileForm  # for a file that no longer exists


@dataclass(frozen=True)
class SaveOutcome:
    """SAVED; CHANGED or GONE on disk since it was opened, nothing written; or FAILED with the reason."""

    request: SaveRequest
    state: str
    digest: str = ""  # of what is on disk now
    failure: Failure | None = None


class FileWriter(QObject):
    """Writes one file after the other."""

    written = Signal(object)  # SaveOutcome

    _done = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)  # waits for its thread when it is destroyed
        self._pool.setMaxThreadCount(1)
        self._done.connect(self.on_done)

    def write(self, request: SaveRequest) -> None:
        self._pool.start(_WriteJob(request, self._done))

    def wait(self) -> None:
        """Block until every requested write has finished."""
        self._pool.waitForDone()

    @Slot(object)
    def on_done(self, outcome: SaveOutcome) -> None:
        self.written.emit(outcome)


class _WriteJob(QRunnable):
    def __init__(self, request: SaveRequest, done) -> None:
        super().__init__()
        self._request, self._done = request, done

    def run(self) -> None:
        self._done.emit(save(self._request))


def save(request: SaveRequest) -> SaveOutcome:
    """Write a file of the repository, or report why that is not possible."""
    name = Path(request.path).name
    try:
        target = resolve_inside(request.root, request.path)
        mode, content = _on_disk(target, name)
        if request.digest and content is None:
            return SaveOutcome(request, GONE)
        if request.digest and digest_of(content) != request.digest:
            return SaveOutcome(request, CHANGED)
        new = _encoded(request, decode(content) if content is not None else None, name)
        replace_file(target, new, mode=mode)
        return SaveOutcome(request, SAVED, digest_of(new))
    except ConfigError as error:
        return SaveOutcome(request, FAILED, failure=failure_of(error))
    except OSError as error:
        failure = failure_of(error)
        words = f"{name} could not be saved: {error.strerror or error}."
        return SaveOutcome(request, FAILED, failure=Failure(words, f"{KEPT} {_remedy(error)}", failure.details))


def resolve_inside(root: str, path: str) -> Path:
    """The real path of a file of the repository; refused if a link leads out of it."""
    inside = Path(root).resolve(strict=True)
    target = (inside / path).resolve()
    if target == inside or not target.is_relative_to(inside):
        raise ConfigError(
            f"{path} is a link that leads out of the repository.", f"{KEPT} Edit the file where it really is."
        )
    return target


def _on_disk(target: Path, name: str) -> tuple[int, bytes | None]:
    """The permissions that a file has or will get, and its bytes; None if it does not exist."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return NEW_MODE, None
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{name} is no longer a regular file.", KEPT)
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
        raise ConfigError(f"{name} is read-only, so it was not saved.", f"{KEPT} Make the file writable, then save.")
    return stat.S_IMODE(mode), target.read_bytes()


def _encoded(request: SaveRequest, now: FileText | None, name: str) -> bytes:
    form = now.form if now is not None else request.form
    try:
        return encode(request.text, form, now.text if now is not None else None)
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{name} is encoded as {form.encoding}, which cannot represent {error.object[error.start]!r}.",
            f"{KEPT} Remove the character, or convert the file's encoding with another program.",
        ) from error


def _remedy(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "Make the file and its folder writable, then save again."
    if isinstance(error, FileNotFoundError):
        return "Its folder no longer exists: restore it, then save again."
    return "Check that the disk is connected and has space, then save again."
