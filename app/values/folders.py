"""The folders that Codecoil knows, as their overview shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FolderRow:
    """One folder as it was last read.  `files` is None for one that this version has not read yet."""

    root: str
    files: int | None = None
    nbytes: int = 0
    tokens: int = 0
    memory: int = 0  # bytes of its memory on disk
    read: str = ""  # ISO 8601, UTC
    is_there: bool = True


@dataclass(frozen=True)
class FolderModel:
    """What a folder is completed with, and when a model was last adapted to it."""

    name: str = ""  # of the model that answers there
    adapted: str = ""  # ISO 8601, UTC; "" if never
    adapted_name: str = ""  # what came of it
