"""Keeps the memory of the open repository up to date, in the repository's thread.

    corpus ─▶ take_in ─▶ update (milliseconds after an edit) ─▶ remembered: the engine's thread
                 │                                           └▶ described: the window
                 └▶ a quiet moment ─▶ merge (seconds), if much has changed

A cancelled build is repeated after a quiet moment; closing the folder releases its memory.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.values.events import Failure
from app.values.failures import failure_from
from app.values.memory import READING, READY, MemoryView
from app.workers.cancellation import Flag

QUIET = 3000  # milliseconds without a change before a merge
DELETE_TRIES, DELETE_PAUSE = 20, 0.1  # Windows deletes a mapped file only once every thread has closed it; seconds


class Remembering(QObject):
    """A child of the repository's worker, so it lives in the same thread."""

    remembered = Signal(object)  # the engine's MemorySnapshot, for the engine's thread; None when the folder is closed
    described = Signal(object)  # MemoryView of it, or None
    failed = Signal(object)  # Failure

    def __init__(self, flag: Flag, parent: QObject) -> None:
        super().__init__(parent)
        self._flag = flag
        self.memory = None  # the engine's RepositoryMemory
        self._corpus = None  # as of the last update
        self._folder: Path | None = None
        self._known = False  # whether there is a snapshot
        self._rebuild = False  # nothing is on disk: merge even if little has changed
        self._failure: Failure | None = None  # the last one reported
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET)
        self._quiet.timeout.connect(self.on_quiet)

    def reopen(self, folder: Path, memory, corpus) -> None:
        """A folder that was left is open again, and `memory` remembers `corpus` of it."""
        self.forget()
        if memory is not None and memory.tokenizer.digest == corpus.tokenizer.digest:
            self.memory, self._folder = memory, folder
            self.take_in(folder, corpus)

    def take_in(self, folder: Path, corpus, rebuild: bool = False) -> None:
        """Update the memory to `corpus`; `folder`: the data about its repository.

        `rebuild`: the user has excluded something, which must not stay on disk either.
        """
        self._quiet.stop()
        if not corpus.has_tokens:
            return
        if self.memory is None or self._folder != folder or self.memory.tokenizer.digest != corpus.tokenizer.digest:
            from engine.memory import RepositoryMemory

            self.memory = RepositoryMemory(folder, corpus.tokenizer)
            self._folder, self._known = folder, False
            self.described.emit(MemoryView(0, 0, 0, READING))
        self._corpus = corpus
        if rebuild:
            self._rebuild = True
            shutil.rmtree(self.memory.folder, ignore_errors=True)
        if self._build(self.memory.update) and (self.memory.needs_merge or self._rebuild):
            self._quiet.start()

    @Slot()
    def on_quiet(self) -> None:
        """Nothing has changed for a moment: time for what takes longer, or was cancelled."""
        if self.memory is None:
            return
        self._flag.arm()  # an earlier cancel was meant for earlier work
        if not self._known:
            self.take_in(self._folder, self._corpus)
        elif self._build(self.memory.merge):
            self._rebuild = False

    def forget(self) -> None:
        """The folder is closed."""
        self._quiet.stop()
        self.memory = self._corpus = self._folder = self._failure = None
        self._known = self._rebuild = False
        self.remembered.emit(None)
        self.described.emit(None)

    def _build(self, how) -> bool:
        """Send the snapshot that `how` makes of the corpus; False if it was cancelled or failed."""
        try:
            snapshot = how(self._corpus, self._flag.is_raised)
        except Exception as error:
            failure = failure_from(error)
            if failure != self._failure:  # a full disk is reported once, not with every edit
                self.failed.emit(failure)
            self._failure = failure
            return False
        if snapshot is None:
            self._quiet.start()
            return False
        self._known, self._failure = True, None
        files = len({entry.path for entry in snapshot.entries})
        self.remembered.emit(snapshot)
        self.described.emit(MemoryView(snapshot.tokens, files, self.memory.nbytes, READY))
        return True


def delete_kept(folder: Path) -> None:
    """Delete the data about a repository: the list of its files, the user's choices, the split and the memory."""
    for left in reversed(range(DELETE_TRIES)):
        try:
            shutil.rmtree(folder)
            return
        except FileNotFoundError:
            return
        except OSError:
            if not left:
                raise
            time.sleep(DELETE_PAUSE)
