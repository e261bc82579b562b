"""A run on disk: one file that a run replaces as it goes, and that another process can go on from.

The file is a safetensors with all arrays and, in its header, where the run is. It is written beside its name and then
renamed, so that a kill leaves the old one or the new one; a checksum over the arrays finds what a disk has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from engine.errors import CheckpointError, ConfigError
from engine.train.options import TrainingOptions
from engine.train.trainer import TrainerState

VERSION = "1"


@dataclass(frozen=True)
class SavedRun:
    """Everything to go on with: what was trained on what, and how far."""

    run: str
    root: str
    base: str
    options: TrainingOptions
    cursor: dict[str, Any]
    state: TrainerState


def run_path(folder: Path, run: str) -> Path:
    """The file of a run; names that could leave the folder are refused."""
    if not run or not run.isalnum():
        raise CheckpointError(f"{run!r} is not the name of a run.", "`codecoil train` prints it when a run starts.")
    return folder / f"{run}.safetensors"


def save_run(folder: Path, saved: SavedRun) -> None:
    """Write the run's file, whole or not at all."""
    arrays = saved.state.arrays
    about = {
        "version": VERSION,
        "digest": _digest(arrays),
        "about": json.dumps(
            {
                "run": saved.run,
                "root": saved.root,
                "base": saved.base,
                "options": asdict(saved.options),
                "cursor": saved.cursor,
                "numbers": saved.state.numbers,
            }
        ),
    }
    path = run_path(folder, saved.run)
    partial = path.with_suffix(f".{os.getpid()}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(partial, "wb") as file:
            file.write(save(arrays, about))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise CheckpointError(
            f"The progress of the run cannot be saved in {folder}: {error.strerror}.",
            "Make room or choose another data folder; what was saved before is still there.",
        ) from error


def load_run(folder: Path, run: str) -> SavedRun:
    """Read a run's file, checked."""
    path = run_path(folder, run)
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.safetensors"))) or "none"
        raise CheckpointError(f"There is no interrupted run {run}.", f"Runs that can go on: {known}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(metadata["about"])
        if metadata.get("version") != VERSION or metadata.get("digest") != _digest(arrays):
            raise ValueError("its checksum does not fit")
        return SavedRun(
            about["run"],
            about["root"],
            about["base"],
            TrainingOptions(**about["options"]),
            about["cursor"],
            TrainerState(arrays, about["numbers"]),
        )
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, ConfigError) as error:
        raise CheckpointError(f"The saved run {path.name} is damaged: {error}.", "Start the run again.") from error


def forget_run(folder: Path, run: str) -> None:
    """Delete the file of a run that is over."""
    run_path(folder, run).unlink(missing_ok=True)


def _digest(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).view(np.uint8))
    return digest.hexdigest()
