"""The files' worker: everything that is done to the checkpoint store and needs no device.

Why a thread: hashing, copying and exporting take seconds, must not stop the window, and should not wait for a training
step either.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from app.values.checkpoints import CheckpointRow, DiskUseView, ExportView, MergeView, PrecisionLine, VerifyView
from app.values.folders import FolderRow
from app.values.training import ResumableRun
from app.workers import checkpoint_rows
from app.workers.jobs import JobWorker

if TYPE_CHECKING:
    from engine.session.machine_speed import MachineSpeed


class FilesWorker(JobWorker):
    """Every public method is a job."""

    listed = Signal(object)  # Listing: after whatever changes the store

    def __init__(self, data_folder: Path) -> None:
        super().__init__()
        self._data_folder = data_folder

    @functools.cached_property
    def _disk(self):
        from engine.checkpoints.store.writing import WatchedDisk

        return WatchedDisk(lambda: self.job.look())

    @functools.cached_property
    def _store(self):
        from engine.checkpoints.store.store import CheckpointStore

        return CheckpointStore(self._data_folder / "checkpoints", self._disk)

    # ---- base models

    def base_memory(self, name: str) -> tuple[str, dict[str, int], str]:
        """Bytes that training a base model of the list would hold, by mode, and for how large a batch."""
        import engine
        from app.network.base_models import base_model
        from engine.session.inspection import batch_words

        device = engine.open_device("cpu")
        try:
            return name, base_model(name).memory_by_mode(device), batch_words()
        finally:
            device.close()

    def known_speeds(self, device: str) -> dict[str, MachineSpeed]:
        """What was measured on this device before, by name of the base model."""
        from app.data.machine_speeds import MachineSpeeds
        from app.network import base_models
        from engine.session.machine_speed import model_key

        known = MachineSpeeds(self._data_folder).known(device)
        keys = {model.name: model_key(model.config) for model in base_models.BASE_MODELS} if known else {}
        return {name: known[key] for name, key in keys.items() if key in known}

    def find_models(self) -> int:
        """Look through the folders of other programs; reports each FoundModel, returns how many."""
        from app.data.model_folders import find_models

        count = 0
        for model in find_models():
            self.job.look()
            self.report(model)
            count += 1
        return count

    # ---- folders

    def known_folders(self, recent: tuple[str, ...]) -> tuple[FolderRow, ...]:
        """Every folder that was read, the last one first; `recent`: those that the window has shown."""
        from engine.checkpoints.store.contents import size_of
        from engine.corpus.reading.known_folders import known_folders
        from engine.memory.repository_memory import FOLDER as MEMORY

        rows = {}
        for known, data in known_folders(self._data_folder):
            memory = size_of(data / MEMORY, self.job.look)
            is_there = Path(known.root).is_dir()
            rows[known.root] = FolderRow(
                known.root, known.files, known.nbytes, known.tokens, memory, known.read, is_there
            )
        others = (FolderRow(root, is_there=Path(root).is_dir()) for root in recent if root not in rows)
        return (*rows.values(), *others)

    # ---- runs

    def find_runs(self) -> tuple[ResumableRun, ...]:
        """Runs that were interrupted."""
        from engine.train.saved_run import interrupted_runs

        return tuple(map(resumable_run, interrupted_runs(self._data_folder / "runs")))

    def forget_run(self, run: str) -> tuple[ResumableRun, ...]:
        """Delete what was saved of an interrupted run; returns those that remain."""
        from engine.train.saved_run import forget_run

        forget_run(self._data_folder / "runs", run)
        return self.find_runs()

    def discard(self, checkpoint: str) -> None:
        """Move a run's result and the snapshots along its way to the trash; reports the TrashRow that undoes it."""
        run = self._store.get(checkpoint).run
        trashed = checkpoint_rows.trash_row(self._store.delete(checkpoint))
        snapshots: list[str] = []
        try:
            for manifest in self._store.list():
                if run and manifest.run == run and manifest.is_snapshot:
                    snapshots.append(self._store.delete(manifest.id).key)
        finally:
            self.report(replace(trashed, snapshots=tuple(snapshots)))
            self.refresh()

    def tidy(self) -> None:
        """Remove what killed writers left behind, and read the store for the first time."""
        try:
            self._store.gc()
        finally:
            self.refresh()

    # ---- reading

    def refresh(self) -> None:
        """Read the store again."""
        self.listed.emit(checkpoint_rows.listing_of(self._store))

    def details(self, id: str):
        return checkpoint_rows.details_of(self._store, id, self.job.look)

    def histories(self, ids: tuple[str, ...]):
        return tuple(checkpoint_rows.curve_of(self._store, self._store.get(id), self.job.look) for id in ids)

    def compare(self, first: str, second: str):
        self.progress(0, 0, "Comparing")

        def report(done: int, total: int) -> None:
            self.progress(done, total, "Comparing, tensor by tensor")

        return checkpoint_rows.comparison_of(self._store, first, second, report)

    def verify(self, id: str) -> VerifyView:
        findings = self._store.verify(id, self.bytes_done("Verifying"))
        known = (checkpoint_rows.shown_name(each) for each in self._store.list() if each.id == id)
        name = next(known, id[:8])
        words = tuple(f"{each.file}: {each.words}".removeprefix(": ") for each in findings)
        return VerifyView(id, name, words)

    def precisions(self, id: str) -> tuple[PrecisionLine, ...]:
        """What each precision would cost; reports a PrecisionLine for each."""
        from engine.checkpoints.combining.packed_models import PRECISIONS
        from engine.checkpoints.combining.precision_table import precision_table

        lines = []
        with self._store.load_parameters(id) as parameters:
            for row in precision_table(parameters, parameters.config):
                lines.append(checkpoint_rows.precision_line(row))
                self.report(lines[-1])
                self.progress(len(lines), len(PRECISIONS), "Measuring precisions")
        return tuple(lines)

    def export_formats(self) -> dict[str, tuple[str, ...]]:
        return checkpoint_rows.export_formats()

    def disk_use(self) -> DiskUseView:
        from app.network.base_model_fetching import downloads_folder
        from app.workers.sample import sample_folder
        from engine.checkpoints.store.contents import size_of
        from engine.memory.repository_memory import FOLDER as MEMORY

        self.progress(0, 0, "Measuring disk use")
        folder, look = self._data_folder, self.job.look
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

    def merge(self, first: str, second: str, weight: float, name: str, loss: float | None) -> MergeView:
        from engine.checkpoints.combining.merge import merge, save_merge
        from engine.checkpoints.combining.sides import side_of

        self.progress(0, 0, "Merging")
        sides = side_of(self._store, first), side_of(self._store, second)
        with self._writing("Merging", 4 * sides[0].config.parameter_count):
            name = name or checkpoint_rows.merge_name(self._store, first, second)
            child = save_merge(self._store, first, second, merge(*sides, weight), name, loss)
        self.refresh()
        return MergeView(first, second, weight, child.id, child.name, child_loss=loss)

    def rename(self, id: str, name: str) -> None:
        self._store.rename(id, name)
        self.refresh()

    def note(self, id: str, text: str) -> None:
        self._store.annotate(id, note=text)
        self.refresh()

    def tag(self, id: str, tags: tuple[str, ...]) -> None:
        self._store.annotate(id, tags=tags)
        self.refresh()

    def pin(self, id: str, pinned: bool) -> None:
        self._store.annotate(id, pinned=pinned)
        self.refresh()

    def delete(self, id: str):
        item = self._store.delete(id)
        self.refresh()
        return checkpoint_rows.trash_row(item)

    def restore(self, key: str) -> None:
        self._store.restore(key)
        self.refresh()

    def empty_trash(self) -> DiskUseView:
        self.progress(0, 0, "Emptying the trash")
        self._store.empty_trash()
        self.refresh()
        return self.disk_use()

    def delete_downloads(self) -> DiskUseView:
        """Partial downloads; the window does not ask for this while something is being downloaded."""
        from app.network.base_model_fetching import downloads_folder

        folder = downloads_folder(self._data_folder)
        if folder.exists():
            shutil.rmtree(folder)
        return self.disk_use()

    def duplicate(self, id: str, name: str) -> None:
        with self._writing("Copying", self._store.get(id).nbytes):
            self._store.duplicate(id, name)
        self.refresh()

    def convert(self, id: str, precision: str, loss: float | None):
        """A full copy in a precision of the table, with the loss that was measured in it."""
        from engine.checkpoints.combining.number_formats import packed_bytes

        total = packed_bytes(self._store.config(id), precision)
        with self._writing("Converting", total):
            manifest = self._store.convert(id, precision, loss=loss)
        self.refresh()
        return checkpoint_rows.row_in(self._store, manifest)

    def export(self, id: str, format: str, folder: str, precision: str, whole: bool) -> ExportView:
        from engine.checkpoints.formats.exporting import export_checkpoint

        report = self.bytes_done("Exporting")
        done = export_checkpoint(self._store, id, format, Path(folder), precision or None, whole, report)
        return ExportView(id, str(done.path), done.format, done.nbytes, done.notes)

    def import_(self, path: str, name: str = "") -> CheckpointRow | None:
        """None for the result of a hand-off, which the measuring worker imports: that needs the device."""
        from engine.checkpoints.formats.importing import import_checkpoint
        from engine.handoff import find_result

        if find_result(Path(path)) is not None:
            return None
        with self._writing("Importing", size_of_model(Path(path))):
            manifest = import_checkpoint(self._store, Path(path), name or None, report_for=self.bytes_done)
        self.refresh()
        return checkpoint_rows.row_in(self._store, manifest)

    @contextlib.contextmanager
    def _writing(self, what: str, total: int) -> Iterator[None]:
        """Reports how much of about `total` bytes the store has written; ends the job if it was cancelled."""
        report, done = self.bytes_done(what), 0

        def wrote(count: int) -> None:
            nonlocal done
            done += count
            report(min(done, total), total)

        before, self._disk.wrote = self._disk.wrote, wrote
        try:
            yield
        finally:
            self._disk.wrote = before


def resumable_run(info) -> ResumableRun:
    """An interrupted run of the engine as the Adapt page shows it."""
    missing = bool(info.root) and not Path(info.root).is_dir()
    problem = info.problem or (f"The folder {info.root} no longer exists." if missing else "")
    return ResumableRun(info.run, info.root, info.base, info.mode, info.step, info.steps, info.saved, problem)


def size_of_model(path: Path) -> int:
    """About how many bytes an import reads: the weights."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.glob("*.safetensors"))
    return path.stat().st_size if path.is_file() else 0
