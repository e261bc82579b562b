"""The whole program without its window: settings, controllers, and the threads that do the work.

    controller ──(x_wanted, queued)──▶ worker in its thread ──(signal, queued)──▶ controller.on_x ──▶ panes

Three threads: "engine" owns the device (`EngineWorker`, and the training, completion and measuring workers beside it),
"repository" reads and watches the folder, "files" works on the checkpoint store.  This file only ties them together.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMetaObject, QObject, Qt, QThread, QTimer, Signal, Slot

from app.state.checkpoints import CheckpointController
from app.state.choices import base_choices, model_choices, timelines
from app.state.completion import CompletionController
from app.state.downloads import DownloadController
from app.state.engine import EngineController
from app.state.garbage_collection import Collecting
from app.state.idle import IdleRules
from app.state.memory import MemoryController
from app.state.repository import RepositoryController
from app.state.settings import Settings
from app.state.storage import StorageController
from app.state.training import TrainingController
from app.values.completion import STARTER
from app.values.training import FinishedView
from app.workers.cancellation import CancelledTickets, Flag
from app.workers.completing import CompletionWorker, QueryLine
from app.workers.engine import EngineWorker
from app.workers.files import FilesWorker
from app.workers.measuring import MeasureEnds, MeasuringWorker
from app.workers.moving import MovingWorker
from app.workers.open_device import OpenDevice
from app.workers.repository import RepositoryWorker
from app.workers.training import TrainingWorker

WARM_UP_DELAY = 2500  # milliseconds after the devices were found
STACK = 16 * 2**20  # macOS gives a thread 512 KiB, too little for a compiler


class Application(QObject):
    """Owns everything that outlives a page.  `start` once the window is painted, `stop` when it is gone."""

    _score_files_wanted = Signal(str)
    _score_run_wanted = Signal(str, str)
    _lines_wanted = Signal(str)
    _count_wanted = Signal(str)  # the model in use
    _tidy_wanted = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.data_folder = folder
        self.settings = Settings(folder, self)
        self._collecting = Collecting(self)
        self.engine = EngineController(self.settings, self)
        self.repository = RepositoryController(self.settings, self)
        self.training = TrainingController(self.settings, self)
        self.completion = CompletionController(self.settings, self)
        self.memory = MemoryController(self.settings, self)
        self.checkpoints = CheckpointController(self)
        self.downloads = DownloadController(folder, self)
        self.storage = StorageController(folder, self)
        self.idle = IdleRules(self.settings, self)
        self._running = False
        self._counted_since = ""  # the model that changes were counted for last
        self._threads: list[QThread] = []
        self._warm_timer = QTimer(self)
        self._warm_timer.setSingleShot(True)
        self._warm_timer.setInterval(WARM_UP_DELAY)
        self._make_workers()
        self._connect_engine()
        self._connect_repository()
        self._connect_training()
        self._connect_completion()
        self._connect_checkpoints()
        self._connect_storage()

    # ---- the life of the program

    def start(self) -> None:
        """Start the threads, look for devices, read the store, and open what was open last."""
        self._collecting.start()
        for thread in self._threads:
            thread.start()
        self._running = True
        self.engine.devices_wanted.emit()
        self._tidy_wanted.emit()
        self.training.runs_wanted.emit()
        self.repository.watch_wanted.emit(self.settings.watch)
        self.repository.policy_wanted.emit(self.settings.secret_policy)
        self.idle.start()
        recent = self.settings.recent_folders
        if self.settings.reopen and recent and Path(recent[0]).is_dir():
            self.repository.open(recent[0])

    def stop(self) -> None:
        """End what runs (a run is stopped and saved) and wait for the threads; the window is gone by then."""
        self.idle.stop()
        self.downloads.stop()
        self._warm_timer.stop()
        for flag in self._flags:
            flag.close()
        for worker in self._closing if self._running else ():
            QMetaObject.invokeMethod(worker, "close", Qt.ConnectionType.BlockingQueuedConnection)
        for thread in self._threads if self._running else ():
            thread.quit()
            thread.wait()
        if self._running:
            self._collecting.stop()
        self.downloads.wait()
        self._running = False
        self.settings.save()

    def settle(self) -> None:
        """Much that is needed for long was made or loaded just now."""
        self._collecting.settle()

    @property
    def busy(self) -> bool:
        """Whether closing the window would interrupt a run."""
        return self.training.active

    # ---- building

    def _make_workers(self) -> None:
        self._check_flag, self._training_flag, self._scan_flag, self._files_flag = (Flag(self) for _ in range(4))
        self._moving_flag = Flag(self)
        self._measure_ends = ends = MeasureEnds(Flag(self), Flag(self), Flag(self), CancelledTickets(self))
        self._flags = (
            *(self._check_flag, self._training_flag, self._scan_flag, self._files_flag),
            *(ends.any, ends.scorecard, ends.files, self._moving_flag),
        )
        self._line, self._tickets = QueryLine(self), CancelledTickets(self)
        bench = OpenDevice(self.data_folder)
        self._engine_worker = EngineWorker(bench, self._check_flag)
        self._completion_worker = CompletionWorker(bench, self._line, self._tickets)
        self._training_worker = TrainingWorker(bench, self._training_flag)
        self._measuring_worker = MeasuringWorker(bench, self._completion_worker, ends)
        self._repository_worker = RepositoryWorker(self.data_folder, self._scan_flag)
        self._files_worker = FilesWorker(self.data_folder, self._files_flag)
        self._moving_worker = MovingWorker(self._moving_flag)
        in_engine = (self._completion_worker, self._training_worker, self._measuring_worker, self._engine_worker)
        for name, workers in (
            ("engine", in_engine),
            ("repository", (self._repository_worker,)),
            ("files", (self._files_worker, self._moving_worker)),
        ):
            thread = QThread(self)
            thread.setObjectName(name)
            thread.setStackSize(STACK)
            for worker in workers:
                worker.moveToThread(thread)
                thread.finished.connect(worker.deleteLater)
            self._threads.append(thread)
        self._closing = (
            *(self._completion_worker, self._training_worker, self._engine_worker),
            self._repository_worker,
        )

    def _connect_engine(self) -> None:
        controller, worker = self.engine, self._engine_worker
        controller.devices_wanted.connect(worker.find_devices)
        controller.check_wanted.connect(self._check_flag.arm)
        controller.check_wanted.connect(worker.check)
        controller.race_wanted.connect(self._check_flag.arm)
        controller.race_wanted.connect(worker.race)
        controller.cancel_wanted.connect(self._check_flag.cancel)
        controller.device_chosen.connect(worker.use_device)
        controller.warm_up_wanted.connect(worker.warm_up)
        worker.engine_found.connect(controller.on_engine_found)
        worker.kernel_checked.connect(controller.on_kernel_checked)
        worker.check_ended.connect(controller.on_check_ended)
        worker.raced.connect(controller.on_race_line)
        worker.race_ended.connect(controller.on_race_ended)
        worker.engine_failed.connect(controller.on_engine_failed)
        worker.memory_changed.connect(controller.on_memory)
        worker.activity_changed.connect(controller.on_activity)
        worker.warmed_up.connect(self.on_warmed_up)
        controller.devices_changed.connect(self._warm_timer.start)
        self._warm_timer.timeout.connect(self.on_warm_up_due)

    def _connect_repository(self) -> None:
        controller, worker = self.repository, self._repository_worker
        controller.open_wanted.connect(worker.open)
        controller.close_wanted.connect(worker.close_repository)
        controller.rescan_wanted.connect(worker.rescan)
        controller.cancel_wanted.connect(self._scan_flag.cancel)
        controller.override_wanted.connect(worker.override)
        controller.language_wanted.connect(worker.choose_language)
        controller.not_secret_wanted.connect(worker.set_not_secret)
        controller.policy_wanted.connect(worker.set_policy)
        controller.watch_wanted.connect(worker.watch)
        controller.score_wanted.connect(self.on_score_files_wanted)
        worker.corpus_read.connect(controller.on_corpus)
        worker.progressed.connect(controller.on_progress)
        worker.cancelled.connect(controller.on_cancelled)
        worker.failed.connect(controller.on_failed)
        worker.gone.connect(controller.on_gone)
        worker.changes_counted.connect(controller.on_changes)
        worker.watcher_changed.connect(controller.on_watcher)
        self._lines_wanted.connect(worker.keep_lines)
        self._count_wanted.connect(worker.count_since)
        worker.corpus_ready.connect(self._training_worker.keep_corpus)
        worker.edited.connect(self._completion_worker.note_edits)
        worker.remembering.remembered.connect(self._completion_worker.keep_memory)
        worker.remembering.described.connect(self.memory.on_memory)
        controller.delete_wanted.connect(worker.delete_kept)
        self._score_files_wanted.connect(self._measure_ends.files.arm)
        self._score_files_wanted.connect(self._measuring_worker.score_files)
        controller.cancel_score_wanted.connect(self._measure_ends.files.cancel)
        self._measuring_worker.files_scoring.connect(controller.on_scoring)
        self._measuring_worker.losses_measured.connect(controller.on_losses)
        self._measuring_worker.files_failed.connect(controller.on_score_failed)
        controller.changed.connect(self.on_repository_changed)
        controller.changes_counted.connect(self.on_repository_changed)
        controller.changes_counted.connect(self.idle.on_changes)

    def _connect_training(self) -> None:
        controller, worker = self.training, self._training_worker
        controller.plan_wanted.connect(worker.plan)
        controller.start_wanted.connect(self._training_flag.arm)
        controller.start_wanted.connect(self._measure_ends.any.cancel)
        controller.start_wanted.connect(worker.start)
        controller.pause_wanted.connect(worker.pause)
        controller.resume_wanted.connect(worker.resume)
        controller.stop_wanted.connect(worker.stop)
        controller.suspend_wanted.connect(worker.suspend)
        controller.cancel_wanted.connect(self._training_flag.cancel)
        controller.duty_cycle_changed.connect(worker.set_duty_cycle)
        controller.discard_wanted.connect(self._files_worker.discard)
        controller.runs_wanted.connect(self._files_worker.find_runs)
        self._files_worker.runs_found.connect(controller.on_runs)
        worker.planned.connect(controller.on_planned)
        worker.preparing.connect(controller.on_preparing)
        worker.began.connect(controller.on_began)
        worker.told.connect(controller.on_events)
        worker.finished.connect(controller.on_finished)
        worker.failed.connect(controller.on_failed)
        worker.checkpoint_saved.connect(self.on_checkpoint_saved)
        worker.finished.connect(self.on_run_finished)
        self._score_run_wanted.connect(self._measure_ends.scorecard.arm)
        self._score_run_wanted.connect(self._measuring_worker.score_run)
        controller.cancel_score_wanted.connect(self._measure_ends.scorecard.cancel)
        self._measuring_worker.score_cancelled.connect(controller.on_score_cancelled)
        self._measuring_worker.scored.connect(controller.on_scores)
        self._measuring_worker.scoring.connect(controller.on_scoring)
        self._measuring_worker.score_failed.connect(controller.on_score_failed)
        controller.changed.connect(self.on_training_changed)
        controller.use_wanted.connect(self.on_use_wanted)
        controller.back_wanted.connect(self.on_back_wanted)
        controller.compare_wanted.connect(self.on_compare_wanted)
        self.idle.may_adapt.connect(controller.adapt_by_itself)
        self.idle.user_active.connect(controller.on_user_active)
        controller.began_by_itself.connect(self.idle.on_began)

    def _connect_completion(self) -> None:
        controller, worker = self.completion, self._completion_worker
        controller.query_wanted.connect(self._line.add)
        controller.cancel_wanted.connect(self._tickets.cancel)
        controller.prepare_wanted.connect(worker.prepare)
        self._line.added.connect(worker.serve)
        worker.piece.connect(controller.on_piece)
        worker.completed.connect(controller.on_completed)
        worker.failed.connect(controller.on_failed)
        controller.changed.connect(self.on_completion_changed)

    def _connect_checkpoints(self) -> None:
        controller, worker, measuring = self.checkpoints, self._files_worker, self._measuring_worker
        self._tidy_wanted.connect(worker.tidy)
        controller.job_wanted.connect(worker.do)
        controller.measure_wanted.connect(measuring.do)
        controller.cancel_wanted.connect(self._files_flag.cancel)
        controller.measure_cancelled.connect(self._measure_ends.jobs.cancel)
        controller.waits_for = self.what_is_measured
        measuring.job_began.connect(controller.on_measure_began)
        measuring.job_ended.connect(controller.on_measure_ended)
        measuring.progressed.connect(controller.on_measure_progress)
        worker.job_ended.connect(controller.on_job_ended)
        worker.progressed.connect(controller.on_progress)
        worker.cancelled.connect(controller.on_cancelled)
        worker.listed.connect(controller.on_listed)
        for each in (worker, measuring):
            each.answered.connect(controller.on_answer)
            each.precision_measured.connect(controller.on_precision)
            each.precisions_ready.connect(controller.on_precisions)
            each.failed.connect(controller.on_failed)
        measuring.store_changed.connect(controller.refresh)
        self.downloads.fetched.connect(self.on_fetched)
        controller.changed.connect(self.on_checkpoints_changed)

    def _connect_storage(self) -> None:
        controller, worker = self.storage, self._moving_worker
        controller.plan_wanted.connect(worker.plan)
        controller.copy_wanted.connect(self._moving_flag.arm)
        controller.copy_wanted.connect(worker.copy)
        controller.undo_wanted.connect(worker.undo)
        controller.delete_wanted.connect(self._moving_flag.arm)
        controller.delete_wanted.connect(worker.delete)
        controller.cancel_wanted.connect(self._moving_flag.cancel)
        worker.planned.connect(controller.on_planned)
        worker.progressed.connect(controller.on_progress)
        worker.failed.connect(controller.on_failed)
        worker.ended.connect(controller.on_ended)

    # ---- where two controllers meet

    @Slot()
    def on_warm_up_due(self) -> None:
        """Not while pages are made and a folder is read: two busy threads would make the window stutter."""
        if self.repository.phase == "reading":
            self._warm_timer.start()
        elif not self.training.active:
            self.engine.warm_up_wanted.emit()

    @Slot()
    def on_warmed_up(self) -> None:
        """Load the model that completes before somebody asks it."""
        if not self.training.active:
            self.completion.prepare(self.completion.model)

    @Slot()
    def on_repository_changed(self) -> None:
        controller = self.repository
        usable = controller.phase == "ready" and controller.corpus is not None
        reading = controller.phase == "reading"
        totals = controller.corpus.totals if usable else None
        nothing = totals is not None and totals.learned.files <= totals.held_out.files
        root = controller.root if usable and not nothing else ""
        self.training.on_repository(root, controller.changes, reading, nothing)

    @Slot()
    def on_checkpoints_changed(self) -> None:
        shipped = self.checkpoints.has_starter
        rows = tuple(row for row in self.checkpoints.rows if not (shipped and row.built_in))  # not listed twice
        self.training.on_bases(base_choices(rows, shipped))
        self.completion.on_choices(model_choices(rows, shipped), self.checkpoints.listed)
        self.completion.on_training(self.training.phase in ("running", "paused"))
        self.completion.on_timelines(timelines(rows))
        self._count_changes()

    @Slot()
    def on_completion_changed(self) -> None:
        if self.completion.model != self._counted_since:
            self._count_changes()

    def _count_changes(self) -> None:
        """Since the model in use; checkpoints may have come or gone."""
        self._counted_since = self.completion.model
        self._count_wanted.emit(self._counted_since)

    def what_is_measured(self) -> str:
        """What a measurement would have to wait for, in words; "" where nothing is being done."""
        if self.training.scoring[1]:
            return "Waiting: the scorecard is being measured"
        if self.repository.scoring[1]:
            return "Waiting: the files are being scored"
        return "Waiting: a device is being checked" if self.engine.busy else ""

    @Slot()
    def on_training_changed(self) -> None:
        request, active = self.training.request, self.training.active
        if request is not None and request.changes is not None:
            if active:
                self.repository.answer_offer(request.changes)
            elif self.training.phase == "failed":
                self.repository.renew_offer()
        if not active:
            self._measure_ends.any.arm()
        self.completion.on_training(self.training.phase in ("running", "paused"))

    @Slot(str)
    def on_checkpoint_saved(self, _id: str) -> None:
        self.checkpoints.refresh()

    @Slot(str, str)
    def on_fetched(self, _id: str, _name: str) -> None:
        self.checkpoints.refresh()

    @Slot(object)
    def on_run_finished(self, finished: FinishedView | None) -> None:
        """Count changes from here on, and ask whether it helped."""
        if finished is None or not finished.checkpoint:
            return
        self._lines_wanted.emit(finished.checkpoint)
        self.training.on_scoring(0, 1, "")
        self._score_run_wanted.emit(finished.base or STARTER, finished.checkpoint)

    @Slot()
    def on_score_files_wanted(self) -> None:
        self._score_files_wanted.emit(self.completion.model)

    @Slot(str)
    def on_use_wanted(self, checkpoint: str) -> None:
        if checkpoint != self.completion.model:
            self.training.model_before = self.completion.model
            self.completion.choose_model(checkpoint)

    @Slot()
    def on_back_wanted(self) -> None:
        """Only from the result of the run: whoever has chosen another model meanwhile keeps that one."""
        before = self.training.model_before
        if self.completion.model == self.training.finished.checkpoint and self.completion.choice(before) is not None:
            self.completion.choose_model(before)

    @Slot(str, str)
    def on_compare_wanted(self, base: str, result: str) -> None:
        known = self.completion.choice(base)
        self.settings.unfolded = [*dict.fromkeys((*self.settings.unfolded, "compare"))]
        self.completion.choose_model(result)
        self.completion.choose_second(known.id if known else STARTER)
