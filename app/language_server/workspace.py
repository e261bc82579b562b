"""The folders that are open in the editor, and who completes for each of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from app.language_server.asking import Cancel, Heard, Question, Source, Suggestion
from app.server.status import Status


class Workspace:
    """A source is opened when the first file of its folder is, and ends with the folder."""

    def __init__(self, open_source: Callable[[Path | None], Source]) -> None:
        """`open_source`: of a folder, or, for a file that is in none, of None."""
        self._open_source = open_source
        self._lock = threading.Lock()
        self._folders: list[Path] = []
        self._sources: dict[Path | None, Source] = {}
        self._ending: list[Source] = []
        self._closed = False

    def change_folders(self, added: list[Path], removed: list[Path] = ()) -> None:
        with self._lock:
            self._folders = [folder for folder in self._folders if folder not in removed]
            self._folders += [folder for folder in dict.fromkeys(added) if folder not in self._folders]
            gone = [self._sources.pop(folder) for folder in removed if folder in self._sources]
            self._ending += gone
        for source in gone:
            source.end()

    def folder_of(self, path: Path | None) -> Path | None:
        """The innermost folder that has the file, else the first one: one model is enough for a stray file."""
        with self._lock:
            folders = list(self._folders)
        owners = [folder for folder in folders if path is not None and path.is_relative_to(folder)]
        return max(owners, key=lambda folder: len(folder.parts), default=folders[0] if folders else None)

    def prepare(self, path: Path | None) -> None:
        """A file was opened: whoever completes for it gets ready."""
        self._source_of(self.folder_of(path))

    def ask(self, question: Question, heard: Heard) -> Cancel:
        """The newest question wins, whichever folder the earlier ones were about."""
        source = self._source_of(self.folder_of(question.path))
        if source is None:
            heard(Suggestion())
            return lambda: None
        return source.ask(question, heard)

    def status(self, path: Path | None) -> Status | None:
        """Of the folder of a file; None where nothing was opened yet."""
        folder = self.folder_of(path)
        with self._lock:
            source = self._sources.get(folder) or next(iter(self._sources.values()), None)
        return source.status() if source is not None else None

    def drop(self, source: Source) -> None:
        """It can no longer be asked: the next question opens another one."""
        with self._lock:
            self._sources = {folder: each for folder, each in self._sources.items() if each is not source}
            self._ending.append(source)
        source.end()

    def close(self, seconds: float) -> None:
        """End everything, and wait for it that long."""
        with self._lock:
            self._closed = True
            sources = [*self._sources.values(), *self._ending]
            self._sources, self._ending = {}, []
        for source in sources:
            source.end()
        for source in sources:
            source.join(seconds)

    def _source_of(self, folder: Path | None) -> Source | None:
        with self._lock:
            if self._closed:
                return None
            if folder not in self._sources:
                self._sources[folder] = self._open_source(folder)
            return self._sources[folder]
