"""The files' worker: everything that is done to the checkpoint store and needs no device.

Why a thread: hashing, copying and exporting take seconds, must not stop the window, and should not wait for a training
step either.  A job is a method of this class, called by its name; it answers with a frozen value.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.values.checkpoints import DiskUseView, ExportView, MergeView, VerifyView
from app.values.training import ResumableRun
from app.workers import checkpoint_rows
from app.workers.cancellation import Flag
from app.workers.failures import Cancelled, failure_from

MIB = 2**20


class FilesWorker(QObject):
    """One job after the other."""

    listed = Signal(object)  # Listing
    answered = Signal(str, object)  # name of the job, what came of it
    precision_measured = Signal(str, object)
    precisions_ready = Signal(str, object)
    progressed = Signal(int, int, str)
    cancelled = Signal(str)  # name of the job
    job_ended = Signal()
    failed = Signal(object)  # Failure
    runs_found = Signal(object)  # tuple[ResumableRun]

    def __init__(self, data_folder: Path, flag: Flag) -> None:
        super().__init__()
        self._data_folder, self._flag = data_folder, flag

    @functools.cached_property
    def _disk(self):
        return stopping_disk(self._flag)

    @functools.cached_property
    def _store(self):
        from engine.checkpoints.store.store import CheckpointStore

        return CheckpointStore(self._data_folder / "checkpoints", self._disk)

    @Slot(str, tuple)
    def do(self, name: str, arguments: tuple) -> None:
        """Do a job and answer."""
        self._flag.arm()
        try:
            answer = getattr(self, f"_{name.rstrip('_')}")(*arguments)
            if answer is not None:
                self.answered.emit(name, answer)
        except Cancelled:
            self.progressed.emit(0, 0, "Cancelled")
            self.cancelled.emit(name)
        except Exception as error:
            self.failed.emit(replace(failure_from(error), job=name))
        finally:
            self.job_ended.emit()

    @Slot()
    def find_runs(self) -> None:
        """Look for runs that were interrupted."""
        from engine.train.saved_run import interrupted_runs

        try:
            self.runs_found.emit(tuple(map(resumable_run, interrupted_runs(self._data_folder / "runs"))))
        except Exception as error:
            self.failed.emit(failure_from(error))

    @Slot(str, str)
    def discard(self, checkpoint: str, run: str) -> None:
        """Move a run's checkpoint to the trash, or forget what was kept of an interrupted run."""
        from engine.train.saved_run import forget_run

        try:
            if checkpoint:
                self._delete_run(checkpoint)
            if run:
                forget_run(self._data_folder / "runs", run)
                self.find_runs()
        except Exception as error:
            self.failed.emit(failure_from(error))

    def _delete_run(self, checkpoint: str) -> None:
        """A run's result with the snapshots along its way; answers with what brings all of it back."""
        run = self._store.get(checkpoint).run
        trashed = checkpoint_rows.trash_row(self._store.delete(checkpoint))
        snapshots: list[str] = []
        try:
            for manifest in self._store.list():
                if run and manifest.run == run and manifest.is_snapshot:
                    snapshots.append(self._store.delete(manifest.id).key)
        finally:
            self._list()
            self.answered.emit("discard", replace(trashed, snapshots=tuple(snapshots)))

    @Slot()
    def tidy(self) -> None:
        """Remove what killed writers left behind, and read the store for the first time."""
        try:
            self._store.gc()
        except Exception as error:
            self.failed.emit(failure_from(error))
        self._list()

    # ---- reading

    def _list(self) -> None:
        try:
            self.listed.emit(checkpoint_rows.listing_of(self._store))
        except Exception as error:
            self.failed.emit(failure_from(error))

    def _refresh(self) -> None:
        self._list()

    def _details(self, id: str):
        return checkpoint_rows.details_of(self._store, id, self._look)

    def _histories(self, ids: tuple[str, ...]):
        return tuple(checkpoint_rows.curve_of(self._store, self._store.get(id), self._look) for id in ids)

    def _compare(self, first: str, second: str):
        self.progressed.emit(0, 0, "Comparing")

        def told(done: int, total: int) -> None:
            self._step(done, total, "Comparing, tensor by tensor")

        return checkpoint_rows.comparison_of(self._store, first, second, told)

    def _verify(self, id: str) -> VerifyView:
        findings = self._store.verify(id, self._bytes("Verifying"))
        known = (checkpoint_rows.shown_name(each) for each in self._store.list() if each.id == id)
        name = next(known, id[:8])
        words = tuple(f"{each.file}: {each.words}".removeprefix(": ") for each in findings)
        return VerifyView(id, name, words)

    def _precisions(self, id: str) -> None:
        from engine.checkpoints.combining.packed_models import PRECISIONS
        from engine.checkpoints.combining.precision_table import precision_table

        lines = []
        with self._store.load_parameters(id) as parameters:
            for row in precision_table(parameters):
                lines.append(checkpoint_rows.precision_line(row))
                self.precision_measured.emit(id, lines[-1])
                self._step(len(lines), len(PRECISIONS), "Measuring precisions")
        self.precisions_ready.emit(id, tuple(lines))

    def _export_formats(self) -> dict[str, tuple[str, ...]]:
        return checkpoint_rows.export_formats()

    def _disk_use(self) -> DiskUseView:
        from app.network.base_model_fetching import downloads_folder
        from app.workers.sample import sample_folder
        from engine.checkpoints.store.contents import size_of
        from engine.memory.repository_memory import FOLDER as MEMORY

        self.progressed.emit(0, 0, "Measuring disk use")
        folder, look = self._data_folder, self._look
        use = self._store.disk_use(look)
        repositories = folder / "repositories"
        memory = sum(size_of(each / MEMORY, look) for each in repositories.glob("*"))
        known = DiskUseView(
            use.checkpoints,
            use.trash,
            use.leftovers,
            runs=size_of(folder / "runs", look),
            memory=memory,
            tokens=size_of(folder / "tokens", look),
            lists=size_of(repositories, look) - memory,
            downloads=size_of(downloads_folder(folder), look),
            sample=size_of(sample_folder(folder), look),
            free=use.free,
        )
        return replace(known, other=max(0, size_of(folder, look) - known.total))

    # ---- changing

    def _merge(self, first: str, second: str, weight: float, name: str, loss: float | None) -> MergeView:
        from engine.checkpoints.combining.merge import merge, save_merge
        from engine.checkpoints.combining.sides import side_of

        self.progressed.emit(0, 0, "Merging")
        sides = side_of(self._store, first), side_of(self._store, second)
        with self._writing("Merging", 4 * sides[0].config.parameter_count):
            name = name or checkpoint_rows.merge_name(self._store, first, second)
            child = save_merge(self._store, first, second, merge(*sides, weight), name, loss)
        self._list()
        return MergeView(first, second, weight, child.id, child.name, child_loss=loss)

    def _rename(self, id: str, name: str) -> None:
        self._store.rename(id, name)
        self._list()

    def _note(self, id: str, text: str) -> None:
        self._store.annotate(id, note=text)
        self._list()

    def _tag(self, id: str, tags: tuple[str, ...]) -> None:
        self._store.annotate(id, tags=tags)
        self._list()

    def _pin(self, id: str, pinned: bool) -> None:
        self._store.annotate(id, pinned=pinned)
        self._list()

    def _delete(self, id: str):
        item = self._store.delete(id)
        self._list()
        return checkpoint_rows.trash_row(item)

    def _restore(self, key: str) -> None:
        self._store.restore(key)
        self._list()

    def _empty_trash(self) -> DiskUseView:
        self.progressed.emit(0, 0, "Emptying the trash")
        self._store.empty_trash()
        self._list()
        return self._disk_use()

    def _delete_downloads(self) -> DiskUseView:
        """What was fetched in part; the window does not ask for it while something is being fetched."""
        from app.network.base_model_fetching import downloads_folder

        folder = downloads_folder(self._data_folder)
        if folder.exists():
            shutil.rmtree(folder)
        return self._disk_use()

    def _duplicate(self, id: str, name: str) -> None:
        with self._writing("Copying", self._store.get(id).nbytes):
            self._store.duplicate(id, name)
        self._list()

    def _export(self, id: str, format: str, folder: str, precision: str, whole: bool) -> ExportView:
        from engine.checkpoints.formats.exporting import export_checkpoint

        report = self._bytes("Exporting")
        done = export_checkpoint(self._store, id, format, Path(folder), precision or None, whole, report)
        return ExportView(id, str(done.path), done.format, done.nbytes, done.notes)

    def _import(self, path: str):
        from engine.checkpoints.formats.importing import import_checkpoint

        with self._writing("Importing", size_of_model(Path(path))):
            manifest = import_checkpoint(self._store, Path(path), told=self._bytes)
        self._list()
        names = {each.id: checkpoint_rows.shown_name(each) for each in self._store.list()}
        return checkpoint_rows.row_of(manifest, names)

    @contextlib.contextmanager
    def _writing(self, what: str, total: int) -> Iterator[None]:
        """Tells how much of about `total` bytes the store has written, and ends the job where that is asked for."""
        report, done = self._bytes(what), 0

        def wrote(count: int) -> None:
            nonlocal done
            done += count
            report(min(done, total), total)

        self._disk.wrote = wrote
        try:
            yield
        finally:
            del self._disk.wrote

    def _bytes(self, what: str):
        """Tells what is done in MiB, as often as that changes, and ends the job where that is asked for."""
        told = -1
        self.progressed.emit(0, 0, what)

        def report(done: int, total: int) -> None:
            nonlocal told
            if done // MIB != told:
                told = done // MIB
                self.progressed.emit(told, -(-total // MIB), f"{what}, in MiB")
            self._look()

        return report

    def _step(self, done: int, total: int, what: str) -> None:
        self.progressed.emit(done, total, what)
        self._look()

    def _look(self) -> None:
        if self._flag.is_raised():
            raise Cancelled


def resumable_run(info) -> ResumableRun:
    """What the engine keeps of an interrupted run, as the Adapt page shows it."""
    missing = bool(info.root) and not Path(info.root).is_dir()
    problem = info.problem or (f"The folder {info.root} is not there." if missing else "")
    return ResumableRun(info.run, info.root, info.base, info.mode, info.step, info.steps, info.saved, problem)


def stopping_disk(flag: Flag):
    """The store's disk, with writing that ends when the job is cancelled.  (Its class is loaded with the store.)"""
    from engine.checkpoints.store.writing import Disk

    class StoppingDisk(Disk):
        def wrote(self, count: int) -> None:
            """Told what was written; a job that wants to know it puts its own in this place."""

        def write(self, descriptor: int, data: memoryview) -> int:
            if flag.is_raised():
                raise Cancelled
            count = super().write(descriptor, data)
            self.wrote(count)
            return count

    return StoppingDisk()


def size_of_model(path: Path) -> int:
    """About how many bytes of a file or folder are taken in: its weights."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.glob("*.safetensors"))
    return path.stat().st_size if path.is_file() else 0
