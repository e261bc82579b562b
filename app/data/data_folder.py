"""Where Codecoil keeps its state.  Never inside the user's repository, never anywhere else.

CODECOIL_DATA (which `--data-dir` sets) decides; otherwise where the user has moved it (`app.data.data_move`), otherwise
the platform's default.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "CODECOIL_DATA"


def usual_folder() -> Path:
    """The platform's default, whether it is used or not."""
    from platformdirs import user_data_path

    return user_data_path("Codecoil", appauthor=False)


def data_folder() -> Path:
    """The folder in use.  Created if necessary, unless it was moved to a disk that is missing now."""
    given = os.environ.get(VARIABLE)
    folder = Path(given).expanduser().absolute() if given else _moved_or_usual()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        from engine.errors import ConfigError

        raise ConfigError(
            f"The data folder {folder} cannot be used: {error.strerror}.",
            f"Choose another one with --data-dir or {VARIABLE}.",
        ) from error
    return folder


def _moved_or_usual() -> Path:
    usual = usual_folder()
    if not (usual / "moved.json").is_file():
        return usual
    from app.data.data_move import NOTE, read_move

    move = read_move(usual)
    if move is None:
        return usual
    if not move.folder.is_dir():
        from engine.errors import ConfigError

        raise ConfigError(
            f"The data folder {move.folder} does not exist.",
            f"Connect its disk, or choose another folder with --data-dir. To start over, delete {usual / NOTE}.",
        )
    return move.folder
