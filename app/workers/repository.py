"""The repository's worker: reads, tokenises and watches the folder, in a thread of its own.

Why a thread: the first scan of a large folder takes seconds, and edits must be processed while the engine trains.  The
engine's `Repository` is built here and never leaves; a finished `Corpus` never changes and may be read anywhere.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, Slot

from app.values.failures import Cancelled, failure_from
from app.values.repository import ChangesSince
from app.workers.cancellation import Flag
from app.workers.changes import ChangeCounter
from app.workers.corpus_view import corpus_view
from app.workers.jobs import JobWorker
from app.workers.recent_edits import edited_files
from app.workers.remembering import Remembering, delete_kept
from app.workers.sample import place_sample, sample_folder
from app.workers.set_aside import OpenFolder, SetAside
from app.workers.watching import FolderWatch

LOOK_EVERY = 10.0  # seconds between two checks where the system cannot watch, at least
LOOK_SHARE = 20  # and this many times as long as a check takes
PREPARING = "Preparing to count tokens (takes longer the first time)"  # the first time, code is compiled here
THERE_EVERY = 2000  # milliseconds between two checks whether the folder exists


class RepositoryWorker(JobWorker):
    """Reads when asked to and when a file changes, so its results are signals."""

    corpus_read = Signal(object, bool)  # CorpusView, with its tokens
    progressed = Signal(int, int, str)
    cancelled = Signal()
    failed = Signal(object)  # Failure
    gone = Signal(str)  # root
    changes_counted = Signal(object)  # ChangesSince
    watcher_changed = Signal(str, str)  # state, words
    edited = Signal(object)  # tuple[EditedFile]: recently edited files; None when the folder is closed
    corpus_ready = Signal(object)  # the engine's Corpus, for the engine's thread; None when the folder is closed

    _noticed = Signal()  # from watchdog's thread

    def __init__(self, data_folder: Path, flag: Flag) -> None:
        super().__init__()
        self._data_folder, self._flag = data_folder, flag
        self._root: Path | None = None
        self._repository = None
        self._corpus = None
        self._policy = "mask"
        self._watching = True
        self._watch: FolderWatch | None = None
        self._looking = False  # checking periodically, because the system cannot watch
        self._counter: ChangeCounter | None = None
        self._in_use = ""  # the model used for completions
        self._left = frozenset()  # paths of an update that was cancelled
        self._is_gone = False
        self._aside = SetAside()
        self.remembering = Remembering(flag, self)
        self.remembering.failed.connect(self.failed)
        self._noticed.connect(self.on_noticed, Qt.ConnectionType.QueuedConnection)
        self._due = self._timer(self.on_due)
        self._look = self._timer(self.on_look)
        self._look.setInterval(int(1000 * LOOK_EVERY))
        self._there = self._timer(self.on_there)  # moving the folder itself causes no event

    def _timer(self, slot) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(slot)
        return timer

    # ---- what the controller asks for

    def open(self, root: str) -> None:
        """Close the open folder and read this one; one that was left lately is there at once, and checked then."""
        self._leave()
        self._root = Path(root)
        self._is_gone = False
        self._there.stop()
        if self._root == sample_folder(self._data_folder) and not self._placed_sample():
            return
        self._there.start(THERE_EVERY)
        if not self._root.is_dir():
            self._went()
            return
        self._start_watch()  # before reading, so that edits during it are noticed
        self._take_back()
        self._read(self._scanned)

    def close_repository(self) -> None:
        self._leave()
        self._there.stop()
        self._root = None

    def delete_kept(self, root: str) -> None:
        """Delete the data about a folder, closing it first if it is open; checkpoints stay."""
        from engine.corpus.reading.overrides import repository_folder

        if self._root == Path(root):
            self.close_repository()
        self._aside.take(Path(root))
        folder = repository_folder(self._data_folder, Path(root))
        try:
            delete_kept(folder)
        except OSError as error:
            cause = f"The data about {root} could not be deleted from {folder}: {error.strerror or error}."
            self.failed.emit(replace(failure_from(error), cause=cause, remedy="Delete that folder yourself."))

    def rescan(self) -> None:
        """Check every file again."""
        self._read(self._scanned)

    def override(self, path: str, learn: bool | None) -> None:
        """The user's choice for a file or folder."""
        self._choose(lambda overrides: overrides.with_path(path, _choice(learn)))

    def choose_language(self, language: str, on: bool | None) -> None:
        self._choose(lambda overrides: overrides.with_language(language, _choice(on)))

    def set_not_secret(self, fingerprint: str, no_secret: bool) -> None:
        self._choose(lambda overrides: overrides.with_not_secret(fingerprint, no_secret))

    def set_policy(self, policy: str) -> None:
        """How to treat secrets; the folder is read again."""
        if policy != self._policy:
            self._policy = policy
            self._aside.clear()
            if self._root is not None:
                self._repository = None
                self._read(self._first_reading, chosen=True)

    def watch(self, on: bool) -> None:
        """Watch the folder, or leave it alone until `rescan`."""
        self._watching = on
        self._stop_watch()
        if self._root is not None and not self._is_gone:
            self._start_watch()
            if on and self._corpus is not None:
                self._read(self._scanned)  # what changed while nothing was watching

    def keep_lines(self, checkpoint: str) -> None:
        """A checkpoint of this repository was made: count changes from here."""
        if self._counter is not None and self._corpus is not None:
            self._counter.keep(checkpoint, self._corpus)
            self.count_changes()

    def count_since(self, model: str) -> None:
        """Another model is in use, or checkpoints were added or deleted: count again."""
        self._in_use = model
        self.count_changes()

    def count_changes(self) -> None:
        """Count what changed since the checkpoint in use, or the newest of this repository."""
        if self._counter is None or self._corpus is None or not self._corpus.has_tokens:
            return
        try:
            self.changes_counted.emit(self._counter.count(self._corpus, self._in_use))
        except Exception as error:
            self.failed.emit(failure_from(error))

    @Slot()
    def close(self) -> None:
        """The last call: end the watching thread."""
        self._there.stop()
        self._leave()

    # ---- reading

    def _placed_sample(self) -> bool:
        """Copy the sample project before it is opened for the first time; reports a failure."""
        self._flag.arm()
        try:
            place_sample(self._data_folder, self._step)
        except Cancelled:
            self.cancelled.emit()
            return False
        except OSError as error:
            cause = f"The sample project could not be copied to {self._data_folder}: {error.strerror or error}."
            failure = failure_from(error)
            self.failed.emit(
                replace(failure, cause=cause, remedy="Free some space there, or open a folder of your own.")
            )
            return False
        return True

    def _step(self, done: int, total: int, what: str) -> None:
        self.progressed.emit(done, total, what)
        if self._flag.is_raised():
            raise Cancelled

    def _first_reading(self):
        """List the files first, so that there is something to show, then count their tokens."""
        from engine.corpus.reading.settings import ScanSettings, SecretPolicy
        from engine.corpus.repository import Repository

        settings = ScanSettings(secret_policy=SecretPolicy(self._policy))
        self._repository = repository = Repository(self._root, self._data_folder, None, settings)
        self._counter = ChangeCounter(self._data_folder, self._root, repository.folder)
        began = time.monotonic()
        listed = repository.list_files(self.progressed.emit, self._flag.is_raised)
        self.corpus_read.emit(corpus_view(listed, repository.overrides, time.monotonic() - began), False)
        self.progressed.emit(0, 0, PREPARING)
        repository.use_tokenizer(self._tokenizer())
        return repository.tokenise(self.progressed.emit, self._flag.is_raised)

    def _scanned(self):
        if self._repository is None or self._repository.tokenizer is None:
            return self._first_reading()
        return self._repository.scan(self.progressed.emit, self._flag.is_raised)

    def _read(self, reading, chosen: bool = False) -> None:
        """Do `reading` and report its result or failure.

        `chosen`: because the user changed what is to be learned.
        """
        from engine.corpus.reading.scan_progress import ScanCancelledError

        if self._root is None:
            return
        if not self._root.is_dir():
            self._went()
            return
        self._flag.arm()  # an earlier cancel was meant for an earlier reading
        began = time.monotonic()
        try:
            self._corpus = corpus = reading()
        except ScanCancelledError:
            self.cancelled.emit()
            return
        except Exception as error:
            if not self._root.is_dir():
                self._went()
            else:
                self.failed.emit(failure_from(error))
            return
        took = time.monotonic() - began
        self._look.setInterval(int(1000 * max(LOOK_EVERY, LOOK_SHARE * took)))
        self._look_later()
        self._pass_on(took)
        self.remembering.take_in(self._repository.folder, corpus, rebuild=chosen)

    def _pass_on(self, took: float) -> None:
        """Tell everyone what the folder contains."""
        self.corpus_ready.emit(self._corpus)
        self.corpus_read.emit(corpus_view(self._corpus, self._repository.overrides, took), True)
        self.count_changes()

    def _choose(self, change) -> None:
        if self._repository is None:
            self._read(self._first_reading)
        if self._repository is not None:
            self._read(
                lambda: self._repository.choose(
                    change(self._repository.overrides), self.progressed.emit, self._flag.is_raised
                ),
                chosen=True,
            )

    def _tokenizer(self):
        """The built-in model's, so that tokens are counted as it sees them; else one trained on this repository."""
        from engine.corpus.tokens.own_tokenizer import own_tokenizer
        from engine.corpus.tokens.tokenizer import Tokenizer
        from engine.model.starter import starter_folder

        folder = starter_folder()
        return Tokenizer.load(folder) if folder is not None else own_tokenizer(self._repository)

    # ---- watching

    def _start_watch(self) -> None:
        if not self._watching or self._root is None or self._is_gone:
            self.watcher_changed.emit("off", "Not watching")
            return
        self._watch = FolderWatch(self._root, self._noticed.emit)
        problem = self._watch.start()
        if problem:
            self._look_instead(problem)
        else:
            self.watcher_changed.emit("watching", "Watching for changes")

    def _look_instead(self, problem: str) -> None:
        """Stop watching, which would miss changes, and check periodically."""
        self._stop_watch()
        self._looking = True
        self._look_later()
        self.watcher_changed.emit("looking", f"Checking periodically: {problem}")

    def _look_later(self) -> None:
        """Only after a complete reading: one that was cancelled or failed is repeated by the user only."""
        if self._looking and self._corpus is not None and not self._is_gone:
            self._look.start()

    def _stop_watch(self) -> None:
        self._looking = False
        for timer in (self._due, self._look):
            timer.stop()
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _take_back(self) -> None:
        """Go on with a folder that was left lately, as it was then."""
        kept = self._aside.take(self._root)
        if kept is not None:
            self._repository, self._corpus, self._counter = kept.repository, kept.corpus, kept.counter
            self._pass_on(0.0)
            self.remembering.reopen(kept.repository.folder, kept.memory, kept.corpus)

    def _leave(self) -> None:
        """Close the open folder; what was made of it is kept for a while."""
        self._stop_watch()
        if self._repository is not None and self._corpus is not None and self._corpus.has_tokens:
            memory = self.remembering.memory
            self._aside.put(self._root, OpenFolder(self._repository, self._corpus, self._counter, memory))
        self._repository = self._corpus = self._counter = None
        self._left = frozenset()
        self.remembering.forget()
        self.corpus_ready.emit(None)
        self.edited.emit(None)

    @Slot()
    def on_noticed(self) -> None:
        self.on_due()

    @Slot()
    def on_due(self) -> None:
        """Process the changes once no more are coming in."""
        watch = self._watch
        wait = watch.gathering.due_in() if watch is not None else None
        if wait is None:
            return
        if wait > 0:
            self._due.start(int(1000 * wait) + 1)
            return
        changes = watch.gathering.take()
        gap = watch.gap()
        if gap:
            self._look_instead(gap)
        if not self._root.is_dir():
            self._went()
        elif self._corpus is None:
            return  # the reading was cancelled or failed: the user repeats it
        elif changes.many or gap or not self._corpus.has_tokens:
            self._read(self._scanned)
        else:
            paths = self._left | changes.paths
            self._left = paths
            self._read(lambda: self._updated(paths))
            if self._corpus is not None:
                self.edited.emit(edited_files(self._corpus, changes.paths))

    def _updated(self, paths: frozenset[str]):
        corpus = self._repository.update(paths, self.progressed.emit, self._flag.is_raised)
        self._left = frozenset()
        return corpus

    @Slot()
    def on_look(self) -> None:
        """Without a watch: check every file's time and size."""
        self._read(self._scanned)
        self._look_later()

    def _went(self) -> None:
        """The folder no longer exists: report it, and wait for it to come back."""
        self._stop_watch()
        self._repository = self._corpus = None
        self._is_gone = True
        self.remembering.forget()
        self.corpus_ready.emit(None)
        self.watcher_changed.emit("off", "Not watching")
        self.changes_counted.emit(ChangesSince())
        self.gone.emit(str(self._root))

    @Slot()
    def on_there(self) -> None:
        """Notice that the folder was removed, or has come back."""
        if self._root is None:
            return
        self._there.start(THERE_EVERY)
        there = self._root.is_dir()
        if there and self._is_gone:
            self.open(str(self._root))
        elif not there and not self._is_gone:
            self._went()


def _choice(learn: bool | None):
    from engine.corpus.reading.overrides import Choice

    return None if learn is None else Choice.LEARN if learn else Choice.LEAVE
