"""The sample project: a copy in the data folder, where a user may change it and see what the watcher says."""

from __future__ import annotations

import importlib.resources
import os
import shutil
import tempfile
from pathlib import Path

NAME = "sample_repository"


def sample_is_there() -> bool:
    """Whether this build has the sample project."""
    return (importlib.resources.files("resources") / NAME).is_dir()


def place_sample(data_folder: Path) -> Path:
    """The copy, made the first time.  Half a copy is never left: it is renamed into its place when it is whole."""
    target = data_folder / "sample" / "tidewater"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        importlib.resources.as_file(importlib.resources.files("resources") / NAME) as source,
        tempfile.TemporaryDirectory(dir=target.parent) as partial,
    ):
        copy = Path(partial, "copy")
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        os.replace(copy, target)
    return target
