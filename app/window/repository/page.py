"""The page "Repository": puts its parts together and passes on what the RepositoryController reports."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, Qt, QTimer, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget

from app.state.application import Application
from app.values.events import Failure
from app.values.repository import ChangesSince, CorpusView
from app.values.words import duration, percent
from app.window.base_models.offer_card import OfferCard
from app.window.pages import ADAPT
from app.window.parts import (
    Card,
    ErrorCard,
    IconButton,
    InlineMessage,
    Page,
    PageColumn,
    PageTitle,
    PlainButton,
    ProgressLine,
    Segmented,
    label,
    tip,
)
from app.window.repository.changes_banner import ChangesBanner
from app.window.repository.figures import SECRETS, Figures
from app.window.repository.file_view import FileView
from app.window.repository.filters import CHANGED, FileFilter, FilterRow
from app.window.repository.language_bar import LanguageBar
from app.window.repository.overview import Overview
from app.window.repository.secrets_view import SecretsView
from app.window.repository.start_pane import StartPane

FILES = "files"
PATIENCE = 350  # milliseconds before reading shows its progress: most of it is over sooner
TREE_HEIGHT = 260  # the least
ORDER = "repository order"  # of the settings' places
SCORING = "Measures the model's loss on each held-out file and colours the list by it: what it knows least stands out"
NOT_NOW = "A run is using the device; files can be scored when it is over"
WATCHING = {
    "watching": "watching",
    "looking": "checking for changes",
    "failed": "cannot be watched",
    "off": "not watched",
}


class RepositoryPage(Page):
    """Which files are learned, which are not and why."""

    title, icon = "Repository", "repository"

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self._repository, self._training = application.repository, application.training
        self._corpus: CorpusView | None = None
        self._root = ""
        self._phase = ""
        self.start = StartPane(application.repository.has_sample)
        self.view = PageColumn()
        self.stack = QStackedWidget()
        self.overview = Overview(application)
        for pane in (self.start, self.view, self.overview):
            self.stack.addWidget(pane)
        self.offer = OfferCard(application.base_offer, application.downloads)
        self.body.addWidget(self.offer)
        self.body.addWidget(self.stack, 1)
        self._memory = application.memory
        self._build()
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self.on_progress)
        self._connect()
        self._show_corpus(None)
        self.files.restore_order(bytes(application.settings.place(ORDER).data()).decode("ascii", "replace"))
        self.on_changed()
        self.on_changes_counted(self._repository.changes)

    def _build(self) -> None:
        column = self.view.column
        self.heading = PageTitle("Repository")
        self.folder_button = PlainButton("Choose a folder", "Opens another repository", "Ctrl+O")
        self.again_button = IconButton("refresh", "Read the folder again", "F5")
        self.cancel_button = PlainButton("Cancel", "Stops reading; what has been read is kept")
        self.cancel_button.hide()
        self.heading.row.addWidget(self.cancel_button, 0, Qt.AlignmentFlag.AlignTop)
        self.heading.row.addWidget(self.again_button, 0, Qt.AlignmentFlag.AlignTop)
        self.heading.row.addWidget(self.folder_button, 0, Qt.AlignmentFlag.AlignTop)
        self.error_card = ErrorCard()
        self.banner = ChangesBanner()
        self.note = InlineMessage()
        self.progress_card = Card(margins=(16, 8, 12, 14))
        self.progress = ProgressLine("Reading the repository")
        self.progress_card.column.addWidget(self.progress)
        self.progress_card.hide()
        self.figures = Figures()
        self.languages = LanguageBar()
        for widget in (self.heading, self.error_card, self.banner, self.note, self.progress_card, self.figures):
            column.addWidget(widget)
        column.addWidget(self.languages)
        column.addWidget(self._build_list(), 1)

    def _build_list(self) -> Card:
        card = Card(margins=(6, 8, 6, 6), spacing=4)
        card.setMinimumHeight(TREE_HEIGHT)
        row = QHBoxLayout()
        row.setContentsMargins(8, 2, 8, 4)
        row.setSpacing(8)
        self.which = Segmented(((FILES, "Files"), (SECRETS, "Secrets")), "List")
        self.which.set_value(FILES)
        self.filters = FilterRow()
        self.shown = label("", "label")
        self.score_button = PlainButton("Score files", SCORING)
        row.addWidget(self.which)
        row.addWidget(self.filters, 20)
        row.addStretch(1)
        row.addWidget(self.shown)
        row.addWidget(self.score_button)
        self.files = FileView()
        self.secrets = SecretsView()
        self.lists = QStackedWidget()
        self.lists.addWidget(self.files)
        self.lists.addWidget(self.secrets)
        card.column.addLayout(row)
        card.column.addWidget(self.lists, 1)
        return card

    def _connect(self) -> None:
        repository = self._repository
        self.offer.list_wanted.connect(self.base_models_wanted)
        self.start.folder_wanted.connect(self.folder_wanted)
        self.start.sample_wanted.connect(self.on_sample_wanted)
        self.start.all_wanted.connect(self.show_overview)
        self.overview.folder_wanted.connect(self.folder_wanted)
        self.overview.open_wanted.connect(self.on_overview_chosen)
        self.overview.closed.connect(self._show_front)
        self.application.folders.changed.connect(self._say_where)
        self.start.recent_chosen.connect(repository.open)
        self.start.recent_forgotten.connect(repository.forget_recent)
        self.folder_button.clicked.connect(self.folder_wanted)
        self.again_button.clicked.connect(repository.rescan)
        self.error_card.action_wanted.connect(self.on_try_again)
        self.banner.adapt_wanted.connect(self.on_adapt_wanted)
        self._memory.switched.connect(self.on_memory_switched)
        self.banner.put_off.connect(self._repository.answer_offer)
        self.banner.files_wanted.connect(self.on_changed_files_wanted)
        self.progress.cancelled.connect(repository.cancel)
        self.cancel_button.clicked.connect(repository.cancel)
        self.figures.chosen.connect(self.on_figure_chosen)
        self.languages.language_chosen.connect(self.on_language_chosen)
        self.languages.language_switched.connect(repository.choose_language)
        self.which.chosen.connect(self.show_list)
        self.filters.changed.connect(self.on_filtered)
        self.score_button.clicked.connect(self.on_score_clicked)
        repository.scoring_changed.connect(self._enable_scoring)
        self.files.override_wanted.connect(repository.override)
        self.files.reason_wanted.connect(self.filters.choose)
        self.files.shown_changed.connect(self.on_shown_changed)
        self.secrets.policy_wanted.connect(repository.set_secret_policy)
        self.secrets.marked.connect(repository.set_not_secret)
        self.secrets.opened.connect(self.file_wanted)
        repository.changed.connect(self.on_changed)
        repository.progressed.connect(self.on_progress)
        repository.failed.connect(self.on_failed)
        repository.score_failed.connect(self.on_score_failed)
        repository.changes_counted.connect(self.on_changes_counted)
        repository.losses_changed.connect(self.on_losses_changed)
        self._training.changed.connect(self.on_training_changed)

    def keep_place(self) -> None:
        self.application.settings.keep_place(ORDER, QByteArray(self.files.order.encode()))

    # ---- what the user does

    @Slot()
    def on_sample_wanted(self) -> None:
        self._repository.open_sample()

    @Slot()
    def on_try_again(self) -> None:
        self.error_card.put_away()
        if self._repository.score_failure is not None and self._repository.failure is None:
            self._repository.score_files()
        else:
            self._repository.open(self._repository.root)

    @Slot()
    def on_adapt_wanted(self) -> None:
        self._training.adapt_to_changes()
        self.page_wanted.emit(ADAPT)

    @Slot()
    def on_changed_files_wanted(self) -> None:
        self.show_list(FILES)
        self.filters.choose(CHANGED)

    @Slot(str)
    def on_figure_chosen(self, key: str) -> None:
        self.show_list(SECRETS if key == SECRETS else FILES)
        if key != SECRETS:
            self.filters.choose(key)

    @Slot(str)
    def on_language_chosen(self, language: str) -> None:
        self.show_list(FILES)
        self.filters.choose(language="" if self.filters.language.value == language else language)

    @Slot(str)
    def show_list(self, key: str) -> None:
        """Files or secrets."""
        self.which.set_value(key)
        self.lists.setCurrentWidget(self.secrets if key == SECRETS else self.files)
        self._show_filters()
        self.shown.setVisible(key == FILES)
        self.score_button.setVisible(key == FILES)

    def _show_filters(self) -> None:
        """Only with a list of files."""
        self.filters.setVisible(self.which.value == FILES and self._corpus is not None)

    @Slot(object)
    def on_filtered(self, wanted: FileFilter) -> None:
        self.files.show_only(wanted.accept())

    @Slot()
    def show_overview(self) -> None:
        """All repositories, until one is opened."""
        self.stack.setCurrentWidget(self.overview)
        self.overview.view.setFocus()

    @Slot(str)
    def on_overview_chosen(self, root: str) -> None:
        if root == self._repository.root:
            self._show_front()
        else:
            self._repository.open(root)

    @Slot()
    def _show_front(self) -> None:
        """The open repository, or where to find one."""
        self.stack.setCurrentWidget(self.start if self._repository.phase == "none" else self.view)

    # ---- what the controller says

    @Slot()
    def on_changed(self) -> None:
        repository = self._repository
        if self.stack.currentWidget() is not self.overview or (repository.root and repository.root != self._root):
            self._show_front()
        self.start.show_recent(repository.recent)
        if repository.root != self._root:
            self._root = repository.root
            self.files.forget_open()
            self.error_card.put_away()
            self.filters.choose()
            self.show_list(FILES)
        if repository.corpus is not self._corpus:
            self._show_corpus(repository.corpus)
        if repository.phase == "reading":
            if self._phase != "reading":
                self._patience.start()
        else:
            self._patience.stop()
            self.progress.put_away()
            self.progress_card.hide()
            self.cancel_button.hide()
        if repository.phase in ("failed", "gone") and repository.failure is not None:
            self.error_card.show_failure(repository.failure, "Try again", "Reads the folder again")
        elif repository.failure is None and repository.score_failure is None:
            self.error_card.put_away()
        self._phase = repository.phase
        self.again_button.setEnabled(repository.phase in ("ready", "failed", "gone"))
        self._say_where()
        self._enable_scoring()
        self.on_changes_counted(repository.changes)

    def _show_corpus(self, corpus: CorpusView | None) -> None:
        self._corpus = corpus
        self.figures.show_corpus(corpus, self._repository.secret_policy)
        self.languages.setVisible(corpus is not None and bool(corpus.by_language))
        self._show_filters()
        self.files.show_files(corpus.files if corpus is not None else ())
        secrets = corpus.secrets if corpus is not None else ()
        self.secrets.show_secrets(secrets, self._repository.secret_policy)
        self.which.buttons[SECRETS].setText(f"Secrets  {len(secrets)}" if secrets else "Secrets")
        if corpus is not None:
            self.languages.show_corpus(corpus)
            self.filters.show_choices(corpus, self._repository.changes)
        if corpus is not None and corpus.notes:
            self.note.say("  ".join(corpus.notes), kind="warn")
        else:
            self.note.put_away()

    @Slot()
    def _say_where(self) -> None:
        repository = self._repository
        parts = [repository.root]
        if around := self.application.folders.around(repository.root):
            parts.append(f"part of {Path(around).name}")
        if repository.phase == "gone":
            parts.append("no longer there")
        elif repository.phase != "failed" and (self._corpus is not None or repository.phase != "reading"):
            parts.append(WATCHING.get(repository.watcher, repository.watcher))
        if repository.phase == "reading":
            parts.append(progress_words(*repository.progress))
        elif self._corpus is not None and repository.phase == "ready":
            parts.append(f"read in {duration(self._corpus.seconds)}" if self._corpus.seconds else "read")
        if repository.losses and repository.phase == "ready":
            parts.append(f"scored with {self._losses_of()}")
        self.heading.say(" · ".join(filter(None, parts)))

    def _losses_of(self) -> str:
        """The name of the model that the files were scored with."""
        chosen = self.application.completion.choice(self._repository.losses_of)
        return chosen.name if chosen is not None else "a deleted model"

    @Slot(int)
    def on_shown_changed(self, shown: int) -> None:
        total = len(self._corpus.files) if self._corpus is not None else 0
        self.shown.setText("" if shown == total else f"{shown:,} of {total:,}")
        why = "No file matches the filters above." if total else "There are no files in this folder."
        self.files.say_nothing(why if self._corpus is not None and not self.files.files.shown else "")

    @Slot()
    def on_progress(self, *_what) -> None:
        if self._repository.phase != "reading" or self._patience.isActive():
            return
        if self._corpus is not None:  # nothing may push the list down
            self.cancel_button.show()
            self._say_where()
            return
        done, total, what = self._repository.progress
        self.progress.show_progress(done, total, what or "Reading the folder")
        self.progress_card.show()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.error_card.show_failure(failure, "Try again", "Reads the folder again")
        self.view.ensureWidgetVisible(self.error_card)

    @Slot(object)
    def on_score_failed(self, failure: Failure) -> None:
        self.error_card.show_failure(failure, "Try again", "Scores the files again")
        self.view.ensureWidgetVisible(self.error_card)

    @Slot()
    def on_memory_switched(self, *_what: object) -> None:
        self.on_changes_counted(self._repository.changes)

    @Slot(object)
    def on_changes_counted(self, changes: ChangesSince) -> None:
        here = self._repository.phase not in ("gone", "failed")
        remembered = self._memory.is_there and self._memory.is_on
        offered = self._repository.offered_changes if here else ChangesSince()
        self.banner.show_changes(offered, not self._training.active, remembered)
        if self._corpus is not None:
            self.filters.show_choices(self._corpus, changes)

    @Slot()
    def on_losses_changed(self) -> None:
        self.files.show_losses(self._repository.losses, self._losses_of())
        self._say_where()
        self._enable_scoring()

    @Slot()
    def on_training_changed(self) -> None:
        self.on_changes_counted(self._repository.changes)
        self._enable_scoring()

    @Slot()
    def on_score_clicked(self) -> None:
        """Start scoring, or cancel it."""
        if self._repository.scoring[1]:
            self._repository.cancel_scoring()
        else:
            self.error_card.put_away()
            self._repository.score_files()

    @Slot()
    def _enable_scoring(self) -> None:
        repository = self._repository
        done, total = repository.scoring
        words = f"Cancel scoring, {percent(done / total)}" if total else "Score files"
        self.score_button.setText(words)
        self.score_button.setAccessibleName(words)
        held_out = self._corpus.totals.held_out.files if self._corpus is not None else 0
        free = not self._training.active
        self.score_button.setEnabled(total > 0 or (repository.phase == "ready" and held_out > 0 and free))
        tip(self.score_button, SCORING if free else NOT_NOW)


def progress_words(done: int, total: int, what: str) -> str:
    """reading files 1,240 of 5,200"""
    words = what[:1].lower() + what[1:] if what else "reading…"
    return f"{words} {done:,} of {total:,}" if total else words
