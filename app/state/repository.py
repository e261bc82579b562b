"""The open repository: its files with their verdicts, the user's choices, and what has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.state.settings import Settings
from app.values.completion import STARTER
from app.values.events import Failure
from app.values.repository import ChangesSince, CorpusView, FileLosses
from app.workers.jobs import Job, Jobs
from app.workers.measuring import MeasuringWorker
from app.workers.repository import RepositoryWorker
from app.workers.sample import sample_folder, sample_is_there

GONE = "The folder {} no longer exists."


class RepositoryController(QObject):
    """One folder at a time.  Reading happens in the repository's own thread."""

    changed = Signal()  # phase, root, corpus, watcher, recent
    progressed = Signal(int, int, str)  # done, total (0: not known), of what
    failed = Signal(object)  # Failure
    score_failed = Signal(object)  # Failure
    changes_counted = Signal(object)  # ChangesSince
    losses_changed = Signal()
    scoring_changed = Signal()
    kept_deleted = Signal()  # the data about a folder

    cancel_wanted = Signal()  # to the repository's worker: whatever is being read

    def __init__(self, settings: Settings, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings, self._jobs = settings, jobs
        self._scoring: Job | None = None
        self.model_in_use: Callable[[], str] = lambda: STARTER  # the one that files are scored with
        self.phase = "none"  # none, reading, ready, failed, gone
        self.root = ""
        self.corpus: CorpusView | None = None
        self.progress = (0, 0, "")  # done, total, of what
        self.changes = ChangesSince()
        self._answered = ChangesSince()  # the changes that an adaptation was offered for, and the user has answered
        self.losses: dict[str, float] = {}  # held-out loss by path, once scored
        self.losses_of = ""  # the model that they were measured with
        self.scoring = (0, 0)  # files scored, files to score; (0, 0) when nothing is scored
        self.watcher = "off"  # off, watching, looking ("every 20 s", where the system cannot watch), failed
        self.watcher_words = ""
        self._cancelling = False  # by the user, not by opening another folder
        self.failure: Failure | None = None  # why the phase is "failed" or "gone"
        self.score_failure: Failure | None = None  # why the files could not be scored
        settings.changed.connect(self.on_setting_changed)

    # ---- what the panes ask for

    def open(self, folder: str | Path) -> None:
        """Read this folder and watch it; a reading under way is cancelled."""
        self._cancelling = False
        self.cancel_wanted.emit()
        self.root = str(Path(folder).expanduser().absolute())
        self.corpus, self.failure, self.changes = None, None, ChangesSince()
        self.progress = (0, 0, "")
        self._forget_losses()
        self._enter("reading")
        self.changes_counted.emit(self.changes)
        self._jobs.ask(RepositoryWorker.open, self.root)

    @property
    def has_sample(self) -> bool:
        """Whether this build has the sample project."""
        return sample_is_there()

    def open_sample(self) -> None:
        """Read the sample project; the first time, it is copied into the data folder."""
        self.open(sample_folder(self._settings.path.parent))

    def close(self) -> None:
        self.cancel_wanted.emit()
        self._jobs.ask(RepositoryWorker.close_repository)
        self._have_none()

    def delete_kept(self, root: str = "") -> None:
        """Delete the data about a folder, by default the open one, which is closed then; checkpoints, and the folder
        itself, stay."""
        root = root or self.root
        if not root:
            return
        if root == self.root:
            self.cancel_wanted.emit()
            self._have_none()
        self._jobs.ask(RepositoryWorker.delete_kept, root, then=lambda _: self.kept_deleted.emit())
        self.forget_recent(root)

    def _have_none(self) -> None:
        self.root, self.corpus, self.failure, self.changes = "", None, None, ChangesSince()
        self._forget_losses()
        self._enter("none")
        self.changes_counted.emit(self.changes)

    def rescan(self) -> None:
        """Check every file again."""
        if self.root and self.phase != "reading":
            self._enter("reading")
            self._jobs.ask(RepositoryWorker.rescan)

    def cancel(self) -> None:
        """End the running scan; what was read is kept."""
        if self.phase == "reading":
            self._cancelling = True
            self.cancel_wanted.emit()

    def override(self, path: str, learn: bool | None) -> None:
        """Learn this file or folder ("a/b/"), exclude it, or (None) let the rules decide again."""
        if self.root:
            self._enter("reading")
            self._jobs.ask(RepositoryWorker.override, path, learn)

    def choose_language(self, language: str, on: bool | None) -> None:
        """Switch a language on or off, or (None) let the rules decide."""
        if self.root:
            self._enter("reading")
            self._jobs.ask(RepositoryWorker.choose_language, language, on)

    def set_not_secret(self, fingerprint: str, no_secret: bool = True) -> None:
        """Mark a finding as not a secret, or undo that."""
        if self.root:
            self._enter("reading")
            self._jobs.ask(RepositoryWorker.set_not_secret, fingerprint, no_secret)

    def set_secret_policy(self, policy: str) -> None:
        """ "mask": blank the lines; "leave_out": exclude the files.  Saved as a setting."""
        self._settings.secret_policy = policy

    @property
    def offered_changes(self) -> ChangesSince:
        """The changes to offer an adaptation for: none after an answer, until something else changes."""
        changes, answered = self.changes, self._answered
        same = changes.checkpoint == answered.checkpoint and set(changes.paths) <= set(answered.paths)
        return ChangesSince() if same and changes.lines <= answered.lines else changes

    def answer_offer(self, changes: ChangesSince | None = None) -> None:
        """The user has accepted or declined the offer for these changes (by default all there are)."""
        changes = self.changes if changes is None else changes
        if changes != self._answered:
            self._answered = changes
            self.changes_counted.emit(self.changes)

    def renew_offer(self) -> None:
        """Nothing came of the answer: offer the same changes again."""
        self.answer_offer(ChangesSince())

    def count_changes(self, model: str) -> None:
        """Count what changed since this model, which is in use now: `changes`."""
        self._jobs.ask(RepositoryWorker.count_since, model)

    def count_changes_from(self, checkpoint: str) -> None:
        """A checkpoint of the repository was made: changes are counted from what it has learned."""
        self._jobs.ask(RepositoryWorker.keep_lines, checkpoint)

    def apply_settings(self) -> None:
        """At the start: whether to watch, and what to do about secrets."""
        self._jobs.ask(RepositoryWorker.watch, self._settings.watch)
        self._jobs.ask(RepositoryWorker.set_policy, self._settings.secret_policy)

    def score_files(self) -> None:
        """Measure the held-out loss of every held-out file with the model in use: `losses`."""
        if self.phase == "ready" and self.corpus is not None and not self.scoring[1]:
            self.score_failure = None
            self.on_scoring(0, self.corpus.totals.held_out.files)
            self._scoring = self._jobs.ask(
                *(MeasuringWorker.score_files, self.model_in_use()),
                then=self.on_scored,
                failed=self.on_score_failed,
                cancelled=self.on_scoring,
                progressed=self.on_scoring,
            )

    def cancel_scoring(self) -> None:
        """End the scoring of files."""
        if self.scoring[1]:
            self._jobs.cancel(self._scoring)

    def forget_recent(self, folder: str) -> None:
        """Remove a folder from the list of recent ones."""
        self._settings.recent_folders = [each for each in self._settings.recent_folders if each != folder]
        self.changed.emit()

    # ---- what the panes read

    @property
    def recent(self) -> list[str]:
        """Folders opened before, the latest first."""
        return list(self._settings.recent_folders)

    @property
    def name(self) -> str:
        """The folder's own name, for the chip."""
        return Path(self.root).name if self.root else ""

    @property
    def secret_policy(self) -> str:
        return self._settings.secret_policy

    # ---- what the workers answer

    @Slot(object, bool)
    def on_corpus(self, corpus: CorpusView, final: bool) -> None:
        """A new list; `final` once it has its tokens."""
        if corpus.root != self.root:
            return  # of a folder that was closed meanwhile
        self.corpus, self.failure = corpus, None
        if final:
            self._cancelling = False
            self._remember()
        self._enter("ready" if final else "reading")

    @Slot(int, int, str)
    def on_progress(self, done: int, total: int, what: str) -> None:
        self.progress = (done, total, what)
        self.progressed.emit(done, total, what)

    @Slot()
    def on_cancelled(self) -> None:
        """What was known before the scan still holds."""
        if not self._cancelling:
            return
        self._cancelling = False
        if self.corpus is not None and self.corpus.has_tokens:
            self._enter("ready")
        elif self.root:
            self.failure = Failure("Reading was cancelled.", "Read the folder again to continue where it stopped.")
            self._enter("failed")

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        if self.phase != "gone":
            self.failure = failure
            self._enter("failed" if self.corpus is None else "ready")
        self.failed.emit(failure)

    @Slot(str)
    def on_gone(self, root: str) -> None:
        if root == self.root:
            self.failure = Failure(
                GONE.format(root), "What the model has learned is kept. Restore the folder, or choose another one."
            )
            self._enter("gone")
            self.failed.emit(self.failure)

    @Slot(object)
    def on_changes(self, changes: ChangesSince) -> None:
        self.changes = changes
        self.changes_counted.emit(changes)

    @Slot(str, str)
    def on_watcher(self, state: str, words: str) -> None:
        self.watcher, self.watcher_words = state, words
        self.changed.emit()

    def on_scoring(self, done: int = 0, total: int = 0, _what: str = "") -> None:
        """How far the scoring is; 0 of 0: it is over."""
        self.scoring = (done, total)
        self.scoring_changed.emit()

    def on_scored(self, scored: FileLosses) -> None:
        self.on_losses(scored)
        self.on_scoring()

    def on_score_failed(self, failure: Failure) -> None:
        self.on_scoring()
        if self.phase == "ready":  # otherwise there is a worse failure to show
            self.score_failure = failure
            self.score_failed.emit(failure)

    def on_losses(self, scored: FileLosses) -> None:
        """Losses of one model at a time, and of this folder only."""
        if scored.root == self.root:
            known = self.losses if scored.model == self.losses_of else {}
            self.losses, self.losses_of = {**known, **scored.losses}, scored.model
            self.losses_changed.emit()

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "watch":
            self._jobs.ask(RepositoryWorker.watch, self._settings.watch)
        elif name == "secret_policy":
            if self.root:
                self._enter("reading")
            self._jobs.ask(RepositoryWorker.set_policy, self._settings.secret_policy)

    def _forget_losses(self) -> None:
        self.cancel_scoring()
        self.losses, self.losses_of, self.score_failure = {}, "", None
        self.losses_changed.emit()

    def _remember(self) -> None:
        rest = [each for each in self._settings.recent_folders if each != self.root]
        self._settings.recent_folders = [self.root, *rest][: self._settings.MOST_RECENT]

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self.changed.emit()
