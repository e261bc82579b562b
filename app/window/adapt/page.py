"""The Adapt page: shows the parts that the phase of the training controller calls for, and nothing else.

Phases: idle (options and plan), preparing, running, paused, stopping (header and board), finished (before and after,
with the board), failed (the error, over the options or the board).  Without a folder it says what to do first.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QTimer, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QVBoxLayout, QWidget

from app.state.application import Application
from app.values.checkpoints import TrashRow
from app.values.completion import BUILT_IN, in_a_sentence
from app.values.events import Failure
from app.values.words import counted, thousands
from app.window.adapt.interrupted import InterruptedRun
from app.window.adapt.mode_cards import MODES
from app.window.adapt.result_card import ResultCard
from app.window.adapt.run_header import RunHeader
from app.window.adapt.setup import Setup
from app.window.parts import EmptyState, ErrorCard, InlineMessage, Page, PageColumn, PageTitle
from app.window.preloading import when_loaded

COMPLETE = "Complete"
FOLD, SCALE = "adapt options", "adapt loss axis"  # of the settings' places


class AdaptPage(Page):
    title = "Adapt"
    icon = "adapt"

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self._training = application.training
        self._discarded = ""  # id of the result that was discarded here last
        self._trashed: TrashRow | None = None  # the same, once it is in the trash
        self.board = None  # made with pyqtgraph, when it is first needed
        self._is_new = True  # not shown yet
        self._build()
        self._connect()
        self._loading = QTimer(self)
        self._loading.setSingleShot(True)
        self._loading.timeout.connect(self.load_board)
        self._ahead = when_loaded("app.window.adapt.board", self, self.load_board)
        self.refresh()

    def _build(self) -> None:
        self.empty = EmptyState(
            "adapt",
            "Nothing to learn from yet",
            "Choose a folder of source code. Codecoil reads it, holds some files out for measuring, and trains a small "
            "model on the rest. Nothing leaves this machine.",
        )
        self.folder_button = self.empty.add_button("Choose a folder", primary=True, keys="Ctrl+O")
        self.view = PageColumn()
        column = self.view.column
        self.heading = PageTitle("Adapt")
        self.error_card = ErrorCard()
        self.interrupted = InterruptedRun()
        self.message = InlineMessage()
        self.undo_button = self.message.add_button("Undo")
        self.setup = Setup(self.application)
        self.run_header = RunHeader()
        self.result = ResultCard()
        self._board_room = QWidget()
        room = QVBoxLayout(self._board_room)
        room.setContentsMargins(0, 0, 0, 0)
        for part in (self.heading, self.error_card, self.interrupted, self.message, self.run_header, self.result):
            column.addWidget(part)
        column.addWidget(self.setup, 1)
        column.addWidget(self._board_room, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.view)
        self.body.addWidget(self.stack)

    def _connect(self) -> None:
        application, training = self.application, self._training
        training.changed.connect(self.refresh)
        training.progressed.connect(self.on_progressed)
        training.scored.connect(self.on_scored)
        training.failed.connect(self.on_failed)
        application.repository.changed.connect(self.refresh)
        application.completion.changed.connect(self.on_scored)
        application.checkpoints.deleted.connect(self.on_deleted)
        self.folder_button.clicked.connect(self.folder_wanted)
        self.error_card.dismissed.connect(training.forget)
        self.error_card.action_wanted.connect(self.on_resume_failed)
        self.interrupted.resume_wanted.connect(training.resume_run)
        self.interrupted.discard_wanted.connect(training.discard_run)
        self.undo_button.clicked.connect(self.on_undo_clicked)
        self.run_header.pause_wanted.connect(training.pause)
        self.run_header.resume_wanted.connect(training.resume)
        self.run_header.stop_wanted.connect(training.stop)
        self.result.use_wanted.connect(training.use)
        self.result.back_wanted.connect(training.go_back)
        self.result.compare_wanted.connect(self.on_compare_wanted)
        self.result.discard_wanted.connect(self.on_discard_wanted)
        self.result.again_wanted.connect(training.forget)
        self.result.cancel_wanted.connect(training.cancel_scoring)

    # ---- remembered between sessions

    def on_shown(self) -> None:
        if self._is_new:  # not in the constructor: the options take a while to build
            self._is_new = False
            self.setup.fold.setChecked(self._kept(FOLD) == "open")

    def keep_place(self) -> None:
        settings = self.application.settings
        if not self._is_new:
            settings.keep_place(FOLD, QByteArray(b"open" if self.setup.fold.isChecked() else b""))
        if self.board is not None:
            settings.keep_place(SCALE, QByteArray(self.board.scale.value.encode()))

    def _kept(self, name: str) -> str:
        return bytes(self.application.settings.place(name).data()).decode("ascii", "replace")

    # ---- state

    @Slot()
    def refresh(self) -> None:
        """Show what the phase calls for."""
        training, repository = self._training, self.application.repository
        phase = training.phase
        active, has_steps = training.active, len(training.history) > 0
        focused = QApplication.focusWidget()
        nothing = not repository.root and not active and phase != "finished" and not training.resumable
        self.stack.setCurrentWidget(self.empty if nothing else self.view)
        self.heading.say(self._subtitle())
        self.interrupted.show_runs(training.resumable, can_start=phase == "idle")
        self.run_header.setVisible(active)
        self.result.setVisible(phase == "finished" and training.finished is not None)
        board = active or phase == "finished" or (phase == "failed" and has_steps)
        self.setup.setVisible(not board)
        self._board_room.setVisible(board)
        if focused is not None and self.isAncestorOf(focused) and not focused.isVisibleTo(self):
            self.setFocus()  # or Qt would give it to the next widget, and show a focus ring there
        if phase == "failed" and training.failure is not None:
            self.on_failed(training.failure)
        else:
            self.error_card.put_away()
        if active:
            self.message.put_away()
            self.run_header.show_run(training)
        if phase == "finished":
            self.on_scored()
        if board:
            self._show_board()

    def _subtitle(self) -> str:
        training, repository = self._training, self.application.repository
        started = training.request if training.active or training.phase == "finished" else None
        wanted = started.base if started else training.base
        base = in_a_sentence(next((each.name for each in training.bases if each.id == wanted), BUILT_IN))
        name = Path(started.root).name if started else repository.name
        if training.active or training.phase == "finished":
            mode = (training.run_plan.mode if training.run_plan else "") or training.mode
            kind = "changes" if started and started.changes else training.preset
            words = [f"{MODES[mode].name if mode in MODES else mode}, {kind}"]
            verb = "Training" if training.active else "Trained"
        else:
            words, verb = [], "Train"
        words.append(f"{verb} {base} on {name}" if name else "No folder is open")
        if started and started.changes:
            words.append(f"{counted(started.changes.files, 'changed file')}, mixed with older code")
        elif started and started.root != repository.root:
            pass  # the totals would be another folder's
        elif repository.corpus is not None and repository.phase != "failed":
            totals = repository.corpus.totals
            taught = totals.learned.tokens - totals.held_out.tokens
            tokens = f", {thousands(taught)} tokens" if taught else ""
            words.append(f"{counted(totals.learned.files - totals.held_out.files, 'file')}{tokens}")
            words.append(f"{counted(totals.held_out.files, 'file')} held out")
        return " · ".join(words)

    def put_away_others(self) -> None:
        """Back to the options if the result on show is another folder's."""
        training = self._training
        if training.phase == "finished" and training.request.root != self.application.repository.root:
            training.forget()

    # ---- the board

    @Slot()
    def load_board(self) -> None:
        """Load pyqtgraph and make the plots."""
        if self.board is None:
            from app.window.adapt.board import Board

            self.board = Board()
            self.board.save_reported.connect(self.on_save_reported)
            if self._kept(SCALE) == "log":
                self.board.choose_scale("log")
            self._board_room.layout().addWidget(self.board)
            self._show_board()

    def _show_board(self) -> None:
        training = self._training
        if self.board is None:
            if self.isVisible() and self._board_room.isVisible():
                self._loading.start(0)  # the page is painted first
            return
        plan = training.run_plan or training.plan
        ceiling = plan.ceiling if plan and plan.ceiling else self.application.engine.memory.ceiling
        self.board.show_run(training.history, training.steps, ceiling)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    # ---- events

    @Slot()
    def on_progressed(self) -> None:
        if self.isVisible() and self._training.active:
            self.run_header.show_run(self._training)
            if self.board is not None:
                self.board.mark()

    @Slot()
    def on_scored(self) -> None:
        training = self._training
        if training.phase == "finished" and training.finished is not None:
            finished = training.finished
            completion = self.application.completion
            in_use = bool(finished.checkpoint) and completion.model_in(training.run_folder) == finished.checkpoint
            before = completion.choice(training.model_before)
            self.result.show_result(finished, in_use, before.name if before is not None else "")
            pending = training.scoring[1] > 0
            self.result.show_scores(training.before, training.after, pending, self._scoring_words())

    def _scoring_words(self) -> str:
        """Progress of the scorecard, or why it is incomplete."""
        training = self._training
        done, total, what = training.scoring
        if training.score_problem:
            return f"The scorecard is incomplete: {training.score_problem}"
        if total:
            return f"Measuring the scorecard: {what}, {done:,} of {total:,}" if what else "Measuring the scorecard…"
        return ""

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        """Whether the run can be resumed is known a little later."""
        resumable = any(run.id == self._training.run for run in self._training.resumable)
        if self.error_card.failure is not failure or self.error_card.action_button.isHidden() == resumable:
            self.error_card.show_failure(failure, "Resume" if resumable else "", "Continue from the last save")

    @Slot(str)
    def on_save_reported(self, words: str) -> None:
        self.undo_button.hide()
        self.message.say(words)

    # ---- user actions

    @Slot()
    def on_resume_failed(self) -> None:
        self._training.resume_run(self._training.run)

    @Slot()
    def on_compare_wanted(self) -> None:
        self._training.compare()
        self.page_wanted.emit(COMPLETE)

    @Slot()
    def on_discard_wanted(self) -> None:
        finished = self._training.finished
        self._discarded = finished.checkpoint if finished is not None else ""
        self._training.discard()

    @Slot(object)
    def on_deleted(self, trashed: TrashRow) -> None:
        """What was discarded on this page can be brought back from here."""
        if trashed.id == self._discarded:
            self._discarded, self._trashed = "", trashed
            self.undo_button.show()
            self.message.say(f"{trashed.name} is in the trash.")

    @Slot()
    def on_undo_clicked(self) -> None:
        if self._trashed is not None:
            self.application.checkpoints.undo_delete(self._trashed)
            self._trashed = None
        self.message.put_away()
