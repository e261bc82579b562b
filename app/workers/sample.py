"""The sample project: a copy in the data folder, which the user may edit to see how changes are noticed."""

from __future__ import annotations

import importlib.resources
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.resources.abc import Traversable
from pathlib import Path

NAME = "sample_repository"


def packaged_sample() -> Traversable:
    """The original."""
    return importlib.resources.files("resources") / NAME


def sample_is_there() -> bool:
    """Whether this build has the sample project."""
    return packaged_sample().is_dir()


def sample_folder(data_folder: Path) -> Path:
    """Where the copy is, or will be."""
    return data_folder / "sample" / "tidewater"


def place_sample(data_folder: Path, step: Callable[[int, int, str], None]) -> Path:
    """The copy, made the first time; `step` reports the files that are done and may raise to cancel.

    Never half a copy: it is renamed into place when it is complete.
    """
    target = sample_folder(data_folder)
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        importlib.resources.as_file(packaged_sample()) as source,
        tempfile.TemporaryDirectory(dir=target.parent) as partial,
    ):
        copy = Path(partial, "copy")
        files = [path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
        copy.mkdir()
        for done, path in enumerate(files):
            step(done, len(files), "Copying the sample project")
            place = copy / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        os.replace(copy, target)
    return target
