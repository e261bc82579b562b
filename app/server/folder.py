"""A folder that is read, watched and remembered without a window, and the model that answers for it.

    thread "engine"   loads the model, answers requests                     service.run
    main thread       reads the folder, watches it, updates the memory      follow

The engine's `Repository` and `RepositoryMemory` belong to the main thread; what crosses is a snapshot of the memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from app.server.status import LOADING, READY, Status
from app.workers.watching import FolderWatch
from engine.errors import CodecoilError
from engine.generate.service.asking import Asking
from engine.generate.service.service import CompletionService, Opened

if TYPE_CHECKING:
    from engine.corpus.corpus import Corpus
    from engine.devices import Device
    from engine.generate.completer import Completer
    from engine.memory import MemorySnapshot

AT_MOST = 1.0  # seconds until an end that a signal asked for is noticed
LOOK_EVERY = 10.0  # seconds between two checks where the system cannot watch
WARM_UP_TOKENS = 4000  # of the file, at most, in which the first completion is made
MERGE_AFTER = 3.0  # seconds without a change before the memory is rebuilt

Progress = Callable[[int, int, str], None]


class Chosen:
    """What the engine's thread answers with: made there, closed there."""

    def __init__(self, model, tokenizer, name: str, completer: Completer, device: Device) -> None:
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self.completer, self.device = completer, device

    def close(self) -> None:
        self.completer.close()
        self.model.close()
        self.device.close()


class ServedFolder:
    """Answers for one folder from `start` to `stop`."""

    def __init__(self, root: Path | None, data_folder: Path, choose: Callable[[], Chosen]) -> None:
        """`choose` opens the model, in the engine's thread. `root` None: there is no folder, and no memory."""
        self.root, self._data_folder, self._choose = root, data_folder, choose
        self.service = CompletionService(self._opened)
        self.chosen: Chosen | None = None
        self.memory_tokens = self.memory_files = 0
        self._snapshot: MemorySnapshot | None = None
        self._error: Exception | None = None
        self._loaded = threading.Event()
        self._noticed = threading.Event()
        self._ended = self._is_ready = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._repository = self._memory = None
        self._watch = FolderWatch(root, self._noticed.set) if root is not None else None
        self._watch_problem = ""

    # ---- the life of it

    def start(self, progress: Progress) -> None:
        """Load the model and read the folder; returns once both are ready."""
        progress(0, 0, "Loading the model")
        self._thread.start()
        self._loaded.wait()
        if self._error is not None:
            raise self._error
        if self.root is not None:
            self._read(progress)
        self._warm_up()
        self._is_ready = True

    def _read(self, progress: Progress) -> None:
        from engine.corpus.repository import Repository
        from engine.memory import RepositoryMemory

        self._watch_problem = self._watch.start()  # before the folder is read: what changes meanwhile is seen, too
        self._repository = Repository(self.root, self._data_folder, self.chosen.tokenizer)
        self._memory = RepositoryMemory(self._repository.folder, self.chosen.tokenizer)
        corpus = self._repository.scan(progress)
        progress(0, 0, "Reading the memory")
        self._take_in(corpus)

    def follow(self, report: Callable[[str], None]) -> None:
        """Keep the memory up to date until `end` or, within a second, `end_soon`."""
        while self.root is None and not self._ended:
            self._noticed.wait(AT_MOST)
        if self.root is None:
            return
        if self._watch_problem:
            report(f"The folder is checked every {LOOK_EVERY:.0f} seconds: {self._watch_problem}.")
        quiet_since = looked = time.monotonic()
        while not self._ended:
            wait = self._watch.gathering.due_in()
            if wait is None:
                self._noticed.wait(AT_MOST)
                self._noticed.clear()
                if self._watch_problem and time.monotonic() - looked > LOOK_EVERY:
                    self._update(None, report)
                    looked = time.monotonic()
                elif self._memory.needs_merge and time.monotonic() - quiet_since > MERGE_AFTER:
                    self._merge(report)
            elif wait > 0:
                self._noticed.wait(min(wait, AT_MOST))
            else:
                changes = self._watch.gathering.take()
                self._update(None if changes.many else changes.paths, report)
                quiet_since = time.monotonic()

    def status(self) -> Status:
        """From any thread: of what is answered with now."""
        return Status(
            READY if self._is_ready else LOADING,
            str(self.root or ""),
            self.chosen.name if self.chosen is not None else "",
            self.memory_files,
            self.memory_tokens,
        )

    def end(self) -> None:
        """From any thread: `follow` returns."""
        self._ended = True
        self._noticed.set()

    def end_soon(self) -> None:
        """For a signal, which may come while this thread holds the lock of `_noticed`: within a second."""
        self._ended = True

    def stop(self) -> None:
        """Answer nothing more, and release everything."""
        self.end()
        if self._watch is not None:
            self._watch.stop()
        self.service.close()
        if self._thread.ident is not None:
            self._thread.join()

    # ---- the engine's thread

    def _run(self) -> None:
        try:
            self.chosen = self._choose()
        except Exception as error:  # raised again in the thread that waits
            self._error = error
            return
        finally:
            self._loaded.set()
        try:
            self.service.run()
        finally:
            self.chosen.close()

    def _opened(self, _asking: Asking) -> Opened:
        if self.chosen.device.lost:
            gone, self.chosen = self.chosen, self._choose()
            gone.close()
        self.chosen.completer.memory = self._snapshot
        return Opened(self.chosen.completer, self.chosen.name)

    # ---- the folder

    def _take_in(self, corpus: Corpus) -> None:
        self._snapshot = snapshot = self._memory.update(corpus)
        self._corpus = corpus
        self.memory_tokens, self.memory_files = snapshot.tokens, len({entry.path for entry in snapshot.entries})

    def _update(self, paths: frozenset[str] | None, report: Callable[[str], None]) -> None:
        """Read what has changed; None: everything.  A folder that is gone for a moment keeps its memory."""
        try:
            self._take_in(self._repository.scan() if paths is None else self._repository.update(paths))
        except (CodecoilError, OSError) as error:
            report(f"The folder could not be read: {getattr(error, 'message', error)}")

    def _merge(self, report: Callable[[str], None]) -> None:
        try:
            self._snapshot = self._memory.merge(self._corpus)
        except (CodecoilError, OSError) as error:
            report(f"The memory could not be saved: {getattr(error, 'message', error)}")

    def _warm_up(self) -> None:
        """Completions in the middle of a file, so that the first key waits for nothing that is compiled or loaded."""
        from engine.generate.service.file_finding import text_of
        from engine.generate.warming import SAMPLE, requests

        entries = self._snapshot.entries if self._snapshot is not None else ()
        sizes = {entry.path: entry.count for entry in entries if entry.count <= WARM_UP_TOKENS}
        path = max(sizes, key=sizes.get, default="")
        text = (text_of(self._snapshot, path) if path else "") or SAMPLE
        for request in requests(text):
            done = threading.Event()
            asking = Asking("warm-up", request, is_window=request.offer is not None)
            self.service.ask(asking, lambda item, done=done: done.set() if hasattr(item, "why_empty") else None)
            done.wait()
