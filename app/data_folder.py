"""Where Codecoil keeps its state.  Never inside the user's repository, never anywhere else."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "CODECOIL_DATA"


def data_folder() -> Path:
    """CODECOIL_DATA (which `--data-dir` sets), otherwise the platform's own place.  Made if it is not there."""
    given = os.environ.get(VARIABLE)
    if given:
        folder = Path(given).expanduser().absolute()
    else:
        from platformdirs import user_data_path

        folder = user_data_path("Codecoil", appauthor=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        from engine.errors import ConfigError

        raise ConfigError(
            f"The data folder {folder} cannot be used: {error.strerror}.",
            f"Name another one with --data-dir or {VARIABLE}.",
        ) from error
    return folder
