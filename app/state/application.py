"""The whole program without its window: settings, controllers, and the threads that do the work.

    controller ── jobs.ask(Worker.job, …) ──▶ worker in its thread ── the answer ──▶ controller ──▶ panes
                                                     └─ signals: what happens unasked ──▶ controller.on_…

Three threads: "engine" owns the device (`EngineWorker`, and the training, completion and measuring workers beside it),
"repository" reads and watches the folder, "files" works on the checkpoint store.  This file only says who is connected
to whom.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMetaObject, QObject, Qt, QThread, QTimer, Slot

from app.server.status import Status
from app.state.base_offer import BaseOffer
from app.state.base_speeds import BaseSpeedController
from app.state.checkpoints import CheckpointController
from app.state.choices import base_choices, model_choices, timelines
from app.state.completion import CompletionController
from app.state.downloads import DownloadController
from app.state.engine import EngineController
from app.state.folders import FoldersController
from app.state.garbage_collection import Collecting
from app.state.idle import IdleRules
from app.state.memory import MemoryController
from app.state.repository import RepositoryController
from app.state.server import ServerController
from app.state.settings import Settings
from app.state.storage import StorageController
from app.state.training import TrainingController
from app.values.completion import STARTER
from app.values.training import FinishedView
from app.workers.cancellation import Flag
from app.workers.completing import CompletionWorker, QueryLine
from app.workers.engine import EngineWorker
from app.workers.files import FilesWorker
from app.workers.jobs import Jobs, JobWorker
from app.workers.measuring import MeasuringWorker
from app.workers.moving import MovingWorker
from app.workers.open_device import OpenDevice
from app.workers.repository import RepositoryWorker
from app.workers.training import TrainingWorker

WARM_UP_DELAY = 2500  # milliseconds after the devices were found
STACK = 16 * 2**20  # macOS gives a thread 512 KiB, too little for a compiler


class Application(QObject):
    """Owns everything that outlives a page.  `start` once the window is painted, `stop` when it is gone."""

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.data_folder = folder
        self.settings = Settings(folder, self)
        self.jobs = jobs = Jobs(self)
        self._collecting = Collecting(self)
        self.engine = EngineController(self.settings, jobs, self)
        self.repository = RepositoryController(self.settings, jobs, self)
        self.training = TrainingController(self.settings, jobs, self)
        self.completion = CompletionController(self.settings, jobs, self)
        self.memory = MemoryController(self.settings, self)
        self.checkpoints = CheckpointController(jobs, self)
        self.folders = FoldersController(jobs, self.repository, self.completion, self.checkpoints, self)
        self.downloads = DownloadController(folder, jobs, self)
        self.base_speeds = BaseSpeedController(jobs, self.engine, self.training, self)
        self.base_offer = BaseOffer(folder, self.settings, self.checkpoints, self.downloads, self)
        self.storage = StorageController(folder, jobs, self)
        self.idle = IdleRules(self.settings, self)
        self._running = False
        self._counted_since = ""  # the model that changes were counted for last
        self._threads: list[QThread] = []
        self._warm_timer = QTimer(self)
        self._warm_timer.setSingleShot(True)
        self._warm_timer.setInterval(WARM_UP_DELAY)
        self._make_workers()
        self.server = ServerController(folder, self.settings, self._line.service, self, self.status)
        self._connect_engine()
        self._connect_repository()
        self._connect_training()
        self._connect_completion()
        self._connect_checkpoints()

    # ---- the life of the program

    def start(self, root: Path | None = None) -> None:
        """Start the threads, look for devices, read the store, and open a folder: `root`, or what was open last."""
        self._collecting.start()
        for thread in self._threads:
            thread.start()
        self._running = True
        self.engine.find_devices()
        self.checkpoints.tidy()
        self.training.find_runs()
        self.repository.apply_settings()
        self.idle.start()
        self.server.start()
        recent = self.settings.recent_folders
        if root is not None:
            self.repository.open(root)
        elif self.settings.reopen and recent and Path(recent[0]).is_dir():
            self.repository.open(recent[0])

    def stop(self) -> None:
        """End what is under way (a run is stopped and saved) and wait for the threads; the window is gone by then."""
        self.idle.stop()
        self.server.stop()
        self._warm_timer.stop()
        self.jobs.close()
        self._bench.leaving.set()
        self._scan_flag.close()
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
        """Call after making or loading much that stays: garbage collection then skips it."""
        self._collecting.settle()

    @property
    def busy(self) -> bool:
        """Whether closing the window would interrupt a run."""
        return self.training.active

    def status(self) -> Status:
        """For language servers, from any thread: values that the controllers replace as a whole."""
        view = self.memory.view
        return Status(
            folder=self.repository.root,
            model=self.completion.model,
            memory_files=view.files if view is not None else 0,
            memory_tokens=view.tokens if view is not None else 0,
            training=self.training.phase if self.training.active else "",
        )

    # ---- building

    def _make_workers(self) -> None:
        self._scan_flag, self._line = Flag(self), QueryLine(self)
        self._bench = bench = OpenDevice(self.data_folder)
        self._engine_worker = EngineWorker(bench)
        self._completion_worker = CompletionWorker(bench, self._line)
        self._training_worker = TrainingWorker(bench, self._completion_worker)
        self._repository_worker = RepositoryWorker(self.data_folder, self._scan_flag)
        self._files_worker = FilesWorker(self.data_folder)
        measuring = MeasuringWorker(bench, self._completion_worker)
        self._add_thread("engine", self._completion_worker, self._training_worker, measuring, self._engine_worker)
        self._add_thread("repository", self._repository_worker)
        self._add_thread("files", self._files_worker, MovingWorker())
        self._closing = (
            *(self._completion_worker, self._training_worker, self._engine_worker),
            self._repository_worker,
        )

    def _add_thread(self, name: str, *workers: JobWorker) -> None:
        thread = QThread(self)
        thread.setObjectName(name)
        thread.setStackSize(STACK)
        for worker in workers:
            self.jobs.serve(worker)
            worker.moveToThread(thread)
            thread.finished.connect(worker.deleteLater)
        self._threads.append(thread)

    def _connect_engine(self) -> None:
        controller, worker = self.engine, self._engine_worker
        worker.engine_failed.connect(controller.on_engine_failed)
        worker.memory_changed.connect(controller.on_memory)
        worker.activity_changed.connect(controller.on_activity)
        worker.warmed_up.connect(self.on_warmed_up)
        controller.devices_changed.connect(self._warm_timer.start)
        self._warm_timer.timeout.connect(self.on_warm_up_due)

    def _connect_repository(self) -> None:
        controller, worker = self.repository, self._repository_worker
        controller.cancel_wanted.connect(self._scan_flag.cancel)
        worker.corpus_read.connect(controller.on_corpus)
        worker.progressed.connect(controller.on_progress)
        worker.cancelled.connect(controller.on_cancelled)
        worker.failed.connect(controller.on_failed)
        worker.gone.connect(controller.on_gone)
        worker.changes_counted.connect(controller.on_changes)
        worker.watcher_changed.connect(controller.on_watcher)
        worker.corpus_ready.connect(self._training_worker.keep_corpus)
        worker.edited.connect(self._completion_worker.note_edits)
        worker.remembering.remembered.connect(self._completion_worker.keep_memory)
        worker.remembering.described.connect(self.memory.on_memory)
        controller.model_in_use = lambda: self.completion.model
        controller.changed.connect(self.on_repository_changed)
        controller.changes_counted.connect(self.on_repository_changed)
        controller.changes_counted.connect(self.idle.on_changes)

    def _connect_training(self) -> None:
        controller, worker = self.training, self._training_worker
        worker.began.connect(controller.on_began)
        worker.events_arrived.connect(controller.on_events)
        worker.finished.connect(controller.on_finished)
        worker.finished.connect(self.on_run_finished)
        worker.failed.connect(controller.on_failed)
        worker.checkpoint_saved.connect(self.on_checkpoint_saved)
        controller.changed.connect(self.on_training_changed)
        controller.losses_measured.connect(self.repository.on_losses)
        controller.discard_wanted.connect(self.checkpoints.discard)
        controller.use_wanted.connect(self.on_use_wanted)
        controller.back_wanted.connect(self.on_back_wanted)
        controller.compare_wanted.connect(self.on_compare_wanted)
        self.idle.may_adapt.connect(controller.adapt_automatically)
        self.idle.user_active.connect(controller.on_user_active)
        controller.began_automatically.connect(self.idle.on_began)

    def _connect_completion(self) -> None:
        controller, worker, line = self.completion, self._completion_worker, self._line
        controller.query_wanted.connect(line.add)
        controller.cancel_wanted.connect(line.cancel)
        controller.in_use_changed.connect(worker.use)
        line.added.connect(worker.serve)
        line.piece.connect(controller.on_piece)
        line.completed.connect(controller.on_completed)
        line.failed.connect(controller.on_failed)
        controller.changed.connect(self.on_completion_changed)
        controller.tell_in_use()
        self.server.requests_changed.connect(self.idle.on_editor_asked)

    def _connect_checkpoints(self) -> None:
        controller = self.checkpoints
        controller.waits_for = self.what_is_measured
        self._files_worker.listed.connect(controller.on_listed)
        self.downloads.fetched.connect(self.on_fetched)
        self.base_offer.use_wanted.connect(self.use_base)
        controller.changed.connect(self.on_checkpoints_changed)

    # ---- where two controllers meet

    @Slot()
    def on_warm_up_due(self) -> None:
        """Not while a folder is being read: two busy threads would make the window stutter."""
        if self.repository.phase == "reading":
            self._warm_timer.start()
        elif not self.training.active:
            self.engine.warm_up()

    @Slot()
    def on_warmed_up(self) -> None:
        """Load the model used for completions before the first request."""
        if not self.training.active:
            self.completion.prepare(self.completion.model)

    @Slot()
    def on_repository_changed(self) -> None:
        controller = self.repository
        self.completion.on_folder(controller.root)
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
        """Since the model in use; checkpoints may have been added or deleted."""
        self._counted_since = self.completion.model
        self.repository.count_changes(self._counted_since)

    def what_is_measured(self) -> str:
        """What a measurement would have to wait for, in words; "" if nothing."""
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
        if self.training.phase == "preparing":
            self.jobs.cancel_all(MeasuringWorker)  # the device belongs to the run
        self.completion.on_training(self.training.phase in ("running", "paused"))

    @Slot(str)
    def on_checkpoint_saved(self, _id: str) -> None:
        self.checkpoints.refresh()

    @Slot(str, str)
    def on_fetched(self, _id: str, _name: str) -> None:
        self.checkpoints.refresh()

    @Slot(str)
    def use_base(self, checkpoint: str) -> None:
        """Complete with this base model, and adapt it from now on."""
        self.completion.choose_model(checkpoint)
        self.training.choose_base(checkpoint)

    @Slot(object)
    def on_run_finished(self, finished: FinishedView | None) -> None:
        """Count changes from here on, and measure whether the run helped."""
        if finished is None or not finished.checkpoint:
            return
        if self.training.run_folder == self.repository.root:
            self.repository.count_changes_from(finished.checkpoint)
        self.training.score(finished)

    @Slot(str)
    def on_use_wanted(self, checkpoint: str) -> None:
        folder = self.training.run_folder
        before = self.completion.model_in(folder)
        if checkpoint != before:
            self.training.model_before = before
            self.completion.choose_model(checkpoint, folder)

    @Slot()
    def on_back_wanted(self) -> None:
        """Only if the run's result is still in use: a model chosen meanwhile stays."""
        before, folder = self.training.model_before, self.training.run_folder
        in_use = self.completion.model_in(folder) == self.training.finished.checkpoint
        if in_use and self.completion.choice(before) is not None:
            self.completion.choose_model(before, folder)

    @Slot(str, str)
    def on_compare_wanted(self, base: str, result: str) -> None:
        known = self.completion.choice(base)
        self.settings.unfolded = [*dict.fromkeys((*self.settings.unfolded, "compare"))]
        self.completion.choose_model(result)
        self.completion.choose_second(known.id if known else STARTER)
