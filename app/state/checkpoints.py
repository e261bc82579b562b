"""The checkpoint store as its page sees it: rows, details, and everything that can be done to a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.values.checkpoints import (
    CheckpointDetails,
    CheckpointRow,
    DiskUseView,
    ImportedResult,
    LineageNode,
    Listing,
    MergeView,
    PrecisionLine,
    RecitationView,
    TrashRow,
    VerifyView,
)
from app.workers.files import FilesWorker
from app.workers.jobs import Job, Jobs
from app.workers.measuring import MeasuringWorker

AT_ONCE = {  # not cancellable: over at once, or not to be left half done
    FilesWorker.tidy,
    FilesWorker.refresh,
    FilesWorker.rename,
    FilesWorker.note,
    FilesWorker.tag,
    FilesWorker.pin,
    FilesWorker.delete,
    FilesWorker.discard,
    FilesWorker.restore,
    FilesWorker.empty_trash,
    FilesWorker.delete_downloads,
    FilesWorker.export_formats,
}


class CheckpointController(QObject):
    """Every method returns at once; its result arrives as a signal, and `rows` are updated automatically."""

    changed = Signal()  # rows, trash, lineage
    details_ready = Signal(object)  # CheckpointDetails
    histories_ready = Signal(object)  # tuple[HistoryCurve]
    compared = Signal(object)  # ComparisonView
    blend_measured = Signal(object)  # MergeView without a child
    merged = Signal(object)  # MergeView
    formats_ready = Signal(object)  # dict: precisions by format, as `export_formats` has them
    precision_measured = Signal(str, object)  # id, PrecisionLine: one after the other
    precisions_ready = Signal(str, object)  # id, tuple[PrecisionLine]
    decode_losses_ready = Signal(str)  # model
    verified = Signal(object)  # VerifyView
    audited = Signal(object)  # RecitationView
    exported = Signal(object)  # ExportView
    imported = Signal(object)  # CheckpointRow
    result_imported = Signal(object)  # ImportedResult: after `imported`, once it is scored
    converted = Signal(object)  # CheckpointRow
    deleted = Signal(object)  # TrashRow: what `undo_delete` brings back
    disk_use_ready = Signal(object)  # DiskUseView
    progressed = Signal(int, int, str)  # done, total (0: not known), of what
    cancelled = Signal(str)  # the name of the job
    busy_changed = Signal()
    failed = Signal(object)  # Failure

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._pending: list[Job] = []  # in the order in which they were asked for
        self.rows: tuple[CheckpointRow, ...] = ()
        self.trash: tuple[TrashRow, ...] = ()
        self.lineage: tuple[LineageNode, ...] = ()  # the tree, in drawing order
        self.listed = False  # False until the store was read once
        self.has_starter = False  # whether this program came with a model
        self.progress = (0, 0, "")
        self.disk_use = DiskUseView()
        self._damaged: dict[str, str] = {}  # the finding of its verification, by id
        self.waits_for: Callable[[], str] = str  # what a measurement would have to wait for, in words

    # ---- reading

    @property
    def busy(self) -> bool:
        """Whether a job is under way."""
        return bool(self._pending)

    @property
    def cancellable(self) -> bool:
        """Whether `cancel` would end something."""
        return bool(self._cancellable_jobs())

    def row(self, id: str) -> CheckpointRow | None:
        return next((row for row in self.rows if row.id == id), None)

    def refresh(self) -> None:
        """Read the store again."""
        self._ask(FilesWorker.refresh)

    def details(self, id: str) -> None:
        """All about one: `details_ready`."""
        self._ask(FilesWorker.details, id, then=self._on_details)

    def histories(self, ids: list[str] | tuple[str, ...]) -> None:
        """The curves of several, to be overlaid: `histories_ready`."""
        self._ask(FilesWorker.histories, tuple(ids), then=self.histories_ready.emit)

    def compare(self, first: str, second: str) -> None:
        """How much two differ, by layer and tensor: `compared`."""
        self._ask(FilesWorker.compare, first, second, then=self.compared.emit)

    def verify(self, id: str) -> None:
        """Read every byte and check it: `verified`."""
        self._ask(FilesWorker.verify, id, then=self._on_verified)

    def precisions(self, id: str, repository: str = "") -> None:
        """What each precision would cost, with held-out loss if a repository is named: `precision_measured`."""

        def measured(line: PrecisionLine) -> None:
            self.precision_measured.emit(id, line)

        def ready(lines: tuple[PrecisionLine, ...]) -> None:
            self.precisions_ready.emit(id, lines)

        if repository:
            self._measure(MeasuringWorker.precisions, id, repository, then=ready, reported=measured)
        else:
            self._ask(FilesWorker.precisions, id, then=ready, reported=measured)

    def measure_decoding(self, model: str) -> None:
        """The held-out loss of a model at every decoding precision, on the open repository: `decode_losses_ready`."""
        self._measure(MeasuringWorker.decode_losses, model, then=self.decode_losses_ready.emit)

    def audit(self, id: str) -> None:
        """What the weights recite of the code that they were trained on: `audited`."""
        self._measure(MeasuringWorker.recitation, id, then=self._on_audited)

    def measure_disk_use(self) -> None:
        """`disk_use_ready`."""
        self._ask(FilesWorker.disk_use, then=self.on_disk_use)

    # ---- changing

    def try_blend(self, first: str, second: str, weight: float, repository: str) -> None:
        """The held-out loss of a blend and of its parents, saving nothing: `blend_measured`."""
        self._measure(
            *(MeasuringWorker.try_blend, first, second, float(weight), repository), then=self.blend_measured.emit
        )

    def merge(
        self, first: str, second: str, weight: float, name: str = "", repository: str = "", loss: float | None = None
    ) -> None:
        """Save a blend as a checkpoint, with its `loss` where that was measured before; otherwise it is measured on
        the repository's held-out code, if one is named: `merged`."""
        if repository and loss is None:
            self._measure(
                *(MeasuringWorker.merge, first, second, float(weight), name, repository), then=self._on_merged
            )
        else:
            self._ask(FilesWorker.merge, first, second, float(weight), name, loss, then=self.merged.emit)

    def convert(self, id: str, precision: str, loss: float | None = None) -> None:
        """Keep a full copy in a precision, with the held-out `loss` that was measured in it: `converted`."""
        self._ask(FilesWorker.convert, id, precision, loss, then=self.converted.emit)

    def rename(self, id: str, name: str) -> None:
        self._ask(FilesWorker.rename, id, name)

    def note(self, id: str, text: str) -> None:
        self._ask(FilesWorker.note, id, text)

    def tag(self, id: str, tags: tuple[str, ...]) -> None:
        self._ask(FilesWorker.tag, id, tuple(tags))

    def pin(self, id: str, pinned: bool) -> None:
        self._ask(FilesWorker.pin, id, bool(pinned))

    def delete(self, id: str) -> None:
        """Move to the trash: `deleted`; fails while others depend on it."""
        self._ask(FilesWorker.delete, id, then=self.deleted.emit)

    def undo_delete(self, trashed: TrashRow) -> None:
        """Restore everything that was deleted together."""
        for key in (trashed.key, *trashed.snapshots):
            self.restore(key)

    def restore(self, key: str) -> None:
        """Back from the trash."""
        self._ask(FilesWorker.restore, key)

    def empty_trash(self) -> None:
        """Delete what is in the trash permanently; a base that others need stays."""
        self._ask(FilesWorker.empty_trash, then=self.on_disk_use)

    def delete_downloads(self) -> None:
        """Partial downloads of base models: `disk_use_ready`."""
        self._ask(FilesWorker.delete_downloads, then=self.on_disk_use)

    def duplicate(self, id: str, name: str) -> None:
        self._ask(FilesWorker.duplicate, id, name)

    def export(self, id: str, format: str, folder: str | Path, precision: str = "", whole: bool = False) -> None:
        """Write it as "hf", "gguf", "coil" or "adapter": `exported`."""
        self._ask(FilesWorker.export, id, format, str(folder), precision, whole, then=self.exported.emit)

    def import_(self, path: str | Path, name: str = "") -> None:
        """Import a Hugging Face folder, or a GGUF, .coil or MBJS file: `imported`.

        The result of a hand-off is scored besides, as after a run: `result_imported`.
        """
        arguments = (str(path), name) if name else (str(path),)

        def read(row: CheckpointRow | None) -> None:
            if row is not None:
                self.imported.emit(row)
                return
            self._measure(
                *(MeasuringWorker.import_result, *arguments), then=self._on_result, reported=self._on_result_saved
            )

        self._ask(FilesWorker.import_, *arguments, then=read)

    def discard(self, id: str) -> None:
        """Move the result of a run to the trash, with the snapshots along its way: `deleted`."""
        self._ask(FilesWorker.discard, id, reported=self.deleted.emit)

    def tidy(self) -> None:
        """Remove what killed writers left behind, and read the store."""
        self._ask(FilesWorker.tidy)

    def cancel(self) -> None:
        """End what is under way where it can be ended; nothing half-written stays."""
        for job in self._cancellable_jobs():
            self._jobs.cancel(job)

    @property
    def export_formats(self) -> dict[str, tuple[str, ...]]:
        """Precisions by format, the default first; empty for a format that stores weights unchanged."""
        from app.workers.checkpoint_rows import export_formats

        return export_formats()

    def read_export_formats(self) -> None:
        """The same without keeping the window waiting, because the formats take a second to load: `formats_ready`."""
        self._ask(FilesWorker.export_formats, then=self.formats_ready.emit)

    # ---- what the workers answer

    @Slot(object)
    def on_listed(self, listing: Listing) -> None:
        self.rows = tuple(map(self._marked, listing.rows))
        self.trash, self.lineage, self.listed = listing.trash, listing.lineage, True
        self.has_starter = listing.has_starter
        self.changed.emit()

    def on_disk_use(self, use: DiskUseView) -> None:
        self.disk_use = use
        self.disk_use_ready.emit(use)

    def on_progress(self, done: int, total: int, what: str) -> None:
        self.progress = (done, total, what)
        self.progressed.emit(done, total, what)

    def _on_details(self, details: CheckpointDetails) -> None:
        self.details_ready.emit(replace(details, row=self._marked(details.row)))

    def _on_verified(self, found: VerifyView) -> None:
        self._mark(found)
        self.verified.emit(found)

    def _on_merged(self, merged: MergeView) -> None:
        self.refresh()  # the measuring worker does not list the store
        self.merged.emit(merged)

    def _on_audited(self, found: RecitationView) -> None:
        self.refresh()
        self.audited.emit(found)

    def _on_result_saved(self, row: CheckpointRow) -> None:
        self.refresh()
        self.imported.emit(row)

    def _on_result(self, found: ImportedResult) -> None:
        self.details(found.row.id)  # with its scores, which its row does not have
        self.result_imported.emit(found)

    def _on_cancelled(self, name: str) -> None:
        self.on_progress(0, 0, "Cancelled")
        self.cancelled.emit(name)

    # ---- inside

    def _mark(self, found: VerifyView) -> None:
        """A damaged checkpoint is marked from now on, and nothing is made from it until it is intact again."""
        if bool(found.findings) != (found.id in self._damaged):
            self._damaged.pop(found.id, None)
            if found.findings:
                self._damaged[found.id] = f"It is damaged. {found.findings[0]}"
            self.refresh()

    def _marked(self, row: CheckpointRow) -> CheckpointRow:
        return replace(row, problem=row.problem or self._damaged.get(row.id, ""))

    def _cancellable_jobs(self) -> list[Job]:
        """Every measurement, and the present job of the files' worker where it is worth cancelling."""
        measuring = [job for job in self._pending if job.worker == MeasuringWorker.__name__]
        others = [job for job in self._pending if job not in measuring]
        return measuring + [job for job in others[:1] if job.work not in AT_ONCE]

    def _measure(self, work: Callable[..., Any], *arguments: Any, **callbacks: Callable[[Any], None]) -> None:
        self._ask(work, *arguments, **callbacks)
        self.on_progress(0, 0, self.waits_for() or "Measuring")

    def _ask(
        self,
        work: Callable[..., Any],
        *arguments: Any,
        then: Callable[[Any], None] | None = None,
        reported: Callable[[Any], None] | None = None,
    ) -> None:
        job = self._jobs.ask(
            *(work, *arguments),
            then=lambda result: self._end(job, then, result),
            failed=lambda failure: self._end(job, self.failed.emit, failure),
            cancelled=lambda: self._end(job, self._on_cancelled, job.name),
            progressed=self.on_progress,
            reported=reported,
        )
        self._pending.append(job)
        if len(self._pending) == 1:
            self.busy_changed.emit()

    def _end(self, job: Job, show: Callable[[Any], None] | None, value: object) -> None:
        if show is not None:
            show(value)
        self._pending.remove(job)
        if not self._pending:
            self.progress = (0, 0, "")
            self.busy_changed.emit()
