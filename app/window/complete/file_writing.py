"""Writes one file of the user's in a thread of its own: as a whole, in the form that it had, and never elsewhere.

A file that was changed by somebody else since it was opened is not written: the user is asked first.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot

from app.values.events import Failure
from app.window.complete.file_text import FileForm, FileText, decode, digest_of, encode
from app.workers.failures import failure_of
from engine.atomic_file import replace_file
from engine.errors import ConfigError

SAVED, CHANGED, GONE, FAILED = "saved", "changed", "gone", "failed"
KEPT = "Your text is still here."
NEW_MODE = 0o644  # permissions of a file that has to be made again


@dataclass(frozen=True)
class SaveRequest:
    """`digest`: of the file as it was opened; "": write it whatever is there now."""

    root: str
    path: str
    text: str
    digest: str
    form: FileForm  # for a file that is not there any more


@dataclass(frozen=True)
class SaveOutcome:
    """SAVED, or CHANGED or GONE (on disk, since it was opened; nothing was written), or FAILED with why."""

    request: SaveRequest
    state: str
    digest: str = ""  # of what is on disk now
    failure: Failure | None = None


class FileWriter(QObject):
    """One file after the other."""

    written = Signal(object)  # SaveOutcome

    _came = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)  # waits for its thread when it is destroyed
        self._pool.setMaxThreadCount(1)
        self._came.connect(self.on_came)

    def write(self, request: SaveRequest) -> None:
        self._pool.start(_Job(request, self._came))

    def wait(self) -> None:
        """Until all that was asked for is written."""
        self._pool.waitForDone()

    @Slot(object)
    def on_came(self, outcome: SaveOutcome) -> None:
        self.written.emit(outcome)


class _Job(QRunnable):
    def __init__(self, request: SaveRequest, came) -> None:
        super().__init__()
        self._request, self._came = request, came

    def run(self) -> None:
        self._came.emit(save(self._request))


def save(request: SaveRequest) -> SaveOutcome:
    """Write a file of the repository, or say why not."""
    name = Path(request.path).name
    try:
        target = place_of(request.root, request.path)
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


def place_of(root: str, path: str) -> Path:
    """Where a file of the repository really is; refused where a link leads out of it."""
    inside = Path(root).resolve(strict=True)
    target = (inside / path).resolve()
    if target == inside or not target.is_relative_to(inside):
        raise ConfigError(
            f"{path} leads out of the repository, and was not saved.", f"{KEPT} Edit the file where it really is."
        )
    return target


def _on_disk(target: Path, name: str) -> tuple[int, bytes | None]:
    """The permissions that a file has or gets, and its bytes; None where there is none."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return NEW_MODE, None
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{name} is no file any more.", KEPT)
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(target, os.W_OK):
        raise ConfigError(f"{name} is read-only, and was not saved.", f"{KEPT} Allow writing to the file, then save.")
    return stat.S_IMODE(mode), target.read_bytes()


def _encoded(request: SaveRequest, now: FileText | None, name: str) -> bytes:
    form = now.form if now is not None else request.form
    try:
        return encode(request.text, form, now.text if now is not None else None)
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{name} is written in {form.encoding}, which has no {error.object[error.start]!r}.",
            f"{KEPT} Take the character out, or change the file's encoding elsewhere.",
        ) from error


def _remedy(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "Allow writing to the file and its folder, then save again."
    if isinstance(error, FileNotFoundError):
        return "Its folder is gone: restore it, then save again."
    return "Make sure that the disk is there and has room, then save again."
