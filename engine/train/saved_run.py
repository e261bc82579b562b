"""A run on disk: one file that is replaced during the run, and from which another process can resume it.

It is a safetensors file with all arrays, and the state of the run in its header. It is replaced atomically, so that a
kill leaves the old one or the new one; a checksum over everything finds what a disk has changed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, safe_open

from engine.atomic_file import replacing, sweep
from engine.errors import CheckpointError, ConfigError
from engine.train.options import TrainingOptions
from engine.train.trainer_state import RunNumbers, TrainerState

VERSION = "2"
SUFFIX = ".safetensors"
HISTORY = "history"  # the array that holds the lines of the history, compressed
RESERVED_AT_ONCE = 1 << 20  # bytes
DTYPES = {"float32": "F32", "int32": "I32", "uint8": "U8"}


@dataclass(frozen=True)
class SavedRun:
    """What is trained, on what, and how far it got.  `more` is for the caller of the trainer."""

    run: str
    root: str
    base: str
    options: TrainingOptions
    cursor: dict[str, Any]
    state: TrainerState
    more: dict[str, Any] = field(default_factory=dict)
    history: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class RunInfo:
    """An interrupted run; `problem`: why it cannot be resumed."""

    run: str
    root: str = ""
    base: str = ""
    mode: str = ""
    step: int = 0
    steps: int = 0
    saved: float = 0.0  # seconds since 1970
    problem: str = ""


def run_path(folder: Path, run: str) -> Path:
    """The file of a run; names that could leave the folder are refused."""
    if not run or not run.isalnum():
        raise CheckpointError(f"{run!r} is not the name of a run.", "`codecoil train` prints the name at the start.")
    return folder / f"{run}{SUFFIX}"


def save_run(folder: Path, saved: SavedRun) -> None:
    """Replace the run's file."""
    arrays = {name: np.ascontiguousarray(array) for name, array in saved.state.arrays.items()}
    lines = "".join(json.dumps(line) + "\n" for line in saved.history)
    arrays[HISTORY] = np.frombuffer(zlib.compress(lines.encode(), 1), np.uint8)
    about = json.dumps(
        {
            "run": saved.run,
            "root": saved.root,
            "base": saved.base,
            "options": asdict(saved.options),
            "cursor": saved.cursor,
            "numbers": saved.state.numbers.to_json(),
            "more": saved.more,
        }
    )
    path = run_path(folder, saved.run)
    try:
        with replacing(path) as file:
            for part in _parts(arrays, {"version": VERSION, "digest": _digest(about, arrays), "about": about}):
                file.write(part)
    except OSError as error:
        raise CheckpointError(
            f"The progress of the run cannot be saved in {folder}: {error.strerror or error}.",
            "Free some disk space, or choose another data folder. The previous save is intact.",
        ) from error


def require_room(folder: Path, nbytes: int) -> None:
    """Refuse a folder that cannot hold a file of `nbytes`: better before hours of training than after.

    The file is reserved and removed again; free space as the system reports it knows nothing of quotas and limits.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            _reserve(file, nbytes)
    except OSError as error:
        raise CheckpointError(
            f"The run needs {nbytes / 2**20:,.1f} MiB in {folder} for its progress and its result, "
            f"which cannot be written: {error.strerror or error}.",
            "Free some disk space, or choose another data folder.",
        ) from error


def _reserve(file: BinaryIO, nbytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, nbytes)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
    for _ in range(-(-nbytes // RESERVED_AT_ONCE)):
        file.write(bytes(RESERVED_AT_ONCE))
    file.flush()
    os.fsync(file.fileno())


def load_run(folder: Path, run: str) -> SavedRun:
    """Read a run's file, checked."""
    path = run_path(folder, run)
    if not path.is_file():
        known = ", ".join(info.run for info in interrupted_runs(folder) if not info.problem) or "none"
        raise CheckpointError(f"There is no interrupted run {run}.", f"Runs that can be resumed: {known}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata.get("version") != VERSION or metadata.get("digest") != _digest(metadata["about"], arrays):
            raise ValueError("wrong version or checksum")
        about = json.loads(metadata["about"])
        lines = zlib.decompress(arrays.pop(HISTORY).tobytes()).decode().splitlines()
        return SavedRun(
            about["run"],
            about["root"],
            about["base"],
            TrainingOptions(**about["options"]),
            about["cursor"],
            TrainerState(arrays, RunNumbers.from_json(about["numbers"])),
            about["more"],
            tuple(json.loads(line) for line in lines),
        )
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, zlib.error, ConfigError) as error:
        raise CheckpointError(f"The saved run {path.name} is damaged: {error}.", "Start a new run.") from error


def interrupted_runs(folder: Path) -> list[RunInfo]:
    """Runs that can be resumed, the latest first.  Only headers are read, so damage may show later."""
    found = []
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            with safe_open(path, framework="numpy") as file:
                about = json.loads((file.metadata() or {})["about"])
            options, step = about["options"], int(about["numbers"]["step"])
            where = path.stem, about["root"], about["base"]
            found.append(RunInfo(*where, options["mode"], step, options["steps"], path.stat().st_mtime))
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            found.append(RunInfo(path.stem, problem=f"The saved run {path.name} is damaged: {error}."))
    return sorted(found, key=lambda info: -info.saved)


def forget_run(folder: Path, run: str) -> None:
    """Delete the file of a run that is over, and what killed processes left in the folder."""
    path = run_path(folder, run)
    try:
        path.unlink(missing_ok=True)
        sweep(folder)
    except OSError as error:
        raise CheckpointError(
            f"The saved run {path} cannot be deleted: {error.strerror or error}.", "Delete it by hand."
        ) from error


def _digest(about: str, arrays: dict[str, np.ndarray]) -> str:
    """Of everything in the file: text, names, shapes and numbers."""
    digest = hashlib.blake2b(about.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(array.reshape(-1).view(np.uint8))
    return digest.hexdigest()


def _parts(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> Iterable[bytes | memoryview]:
    """The bytes of a safetensors file, an array at a time: one copy of everything would double the memory."""
    header: dict[str, Any] = {"__metadata__": metadata}
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    place = 0
    for name in order:
        array = arrays[name]
        header[name] = {
            "dtype": DTYPES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in order:
        if arrays[name].size:
            yield arrays[name].reshape(-1).view(np.uint8).data
