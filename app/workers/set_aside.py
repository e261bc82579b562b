"""Folders that were read and left: going back to one of them does not wait for a reading."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.workers.changes import ChangeCounter

if TYPE_CHECKING:
    from engine.corpus.corpus import Corpus
    from engine.corpus.repository import Repository
    from engine.memory import RepositoryMemory

MOST_FOLDERS = 4  # each holds its lists of files and its memory, tens of MB for a large repository


@dataclass(frozen=True)
class OpenFolder:
    """All that the repository's thread has made of a folder."""

    repository: Repository
    corpus: Corpus
    counter: ChangeCounter
    memory: RepositoryMemory | None


class SetAside:
    """The folders left last, by their path."""

    def __init__(self) -> None:
        self._folders: dict[Path, OpenFolder] = {}

    def put(self, root: Path, folder: OpenFolder) -> None:
        """Keep this folder; the one left first makes room."""
        self._folders.pop(root, None)
        self._folders[root] = folder
        while len(self._folders) > MOST_FOLDERS:
            del self._folders[next(iter(self._folders))]

    def take(self, root: Path) -> OpenFolder | None:
        """The folder, if it was kept; from now on it is the caller's."""
        return self._folders.pop(root, None)

    def clear(self) -> None:
        """Keep none: they were read in a way that no longer holds."""
        self._folders.clear()
