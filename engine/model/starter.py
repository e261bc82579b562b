"""The model that Codecoil comes with: a few million parameters, so that completions work before the first adaptation.

It is an ordinary Hugging Face folder among the program's resources; `packaging/starter_model.py` makes it.
"""

from __future__ import annotations

from pathlib import Path

from engine.devices.interface import Device
from engine.errors import CheckpointError
from engine.model.files import WEIGHTS_FILE
from engine.model.model import Model, load_model
from engine.shipped import starter_place


def starter_folder() -> Path | None:
    """The starter model's folder, with its tokenizer and its card; None where this program came without one."""
    folder = starter_place()
    return folder if (folder / WEIGHTS_FILE).is_file() else None


def load_starter(device: Device | str | None = None) -> Model:
    """The starter model on `device`: an open one, or the name of one to open, which the model then closes itself."""
    folder = starter_folder()
    if folder is None:
        raise CheckpointError(
            "This copy of Codecoil came without its starter model.",
            "Install it again, or choose another model: a checkpoint, or a folder in Hugging Face format.",
        )
    return load_model(folder, device)
