"""The checkpoint store as its page sees it: rows, details, and everything that can be done to a checkpoint."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.values.checkpoints import (
    CheckpointDetails,
    CheckpointRow,
    ComparisonView,
    DiskUseView,
    ExportView,
    LineageNode,
    Listing,
    MergeView,
    PrecisionLine,
    TrashRow,
    VerifyView,
)
from app.values.events import Failure

AT_ONCE = frozenset(  # jobs that are done before anybody could cancel them, or that are not left half way
    {
        "refresh",
        "rename",
        "note",
        "tag",
        "pin",
        "delete",
        "restore",
        "empty_trash",
        "delete_downloads",
        "export_formats",
    }
)


class CheckpointController(QObject):
    """Every method returns at once; what came of it arrives as a signal, and `rows` are read again by themselves."""

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
    exported = Signal(object)  # ExportView
    imported = Signal(object)  # CheckpointRow
    deleted = Signal(object)  # TrashRow: what `undo_delete` brings back
    disk_use_ready = Signal(object)  # DiskUseView
    progressed = Signal(int, int, str)  # done, total (0: not known), of what
    cancelled = Signal(str)  # the name of the job
    busy_changed = Signal()
    failed = Signal(object)  # Failure

    job_wanted = Signal(str, tuple)  # name of a slot-like method of the files' worker, its arguments
    measure_wanted = Signal(int, str, tuple)  # ticket, and the same for what needs the device
    measure_cancelled = Signal(int)  # ticket
    cancel_wanted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[CheckpointRow, ...] = ()
        self.trash: tuple[TrashRow, ...] = ()
        self.lineage: tuple[LineageNode, ...] = ()  # the tree, in drawing order
        self.listed = False  # False until the store was read once
        self.has_starter = False  # whether this program came with a model
        self.progress = (0, 0, "")
        self.disk_use = DiskUseView()
        self._damaged: dict[str, str] = {}  # what was found when it was verified, by id
        self.waits_for: Callable[[], str] = str  # what a measurement would have to wait for, in words
        self._jobs = 0
        self._asked: deque[str] = (
            deque()
        )  # jobs of the files' worker that are still to be done, the first one being done
        self._ticket = 0  # of the measurement that was asked for last
        self._measuring: set[int] = set()  # tickets that were not given up
        self._waiting = False  # the last one has not begun yet

    # ---- reading

    @property
    def busy(self) -> bool:
        """Whether something that was asked for is still being done."""
        return self._jobs > 0

    @property
    def cancellable(self) -> bool:
        """Whether `cancel` would end what is being done."""
        return bool(self._measuring) or (bool(self._asked) and self._asked[0] not in AT_ONCE)

    def row(self, id: str) -> CheckpointRow | None:
        return next((row for row in self.rows if row.id == id), None)

    def refresh(self) -> None:
        """Read the store again."""
        self._ask("refresh")

    def details(self, id: str) -> None:
        """All about one: `details_ready`."""
        self._ask("details", id)

    def histories(self, ids: list[str] | tuple[str, ...]) -> None:
        """The curves of several, to be laid over each other: `histories_ready`."""
        self._ask("histories", tuple(ids))

    def compare(self, first: str, second: str) -> None:
        """How far two are apart, by layer and tensor: `compared`."""
        self._ask("compare", first, second)

    def verify(self, id: str) -> None:
        """Read every byte and check it: `verified`."""
        self._ask("verify", id)

    def precisions(self, id: str, repository: str = "") -> None:
        """What each precision would cost, with held-out loss where a repository is named: `precision_measured`."""
        if repository:
            self._measure("precisions", id, repository)
        else:
            self._ask("precisions", id)

    def measure_decoding(self, model: str) -> None:
        """The held-out loss of a model at every decoding precision, on the open repository: `decode_losses_ready`."""
        self._measure("decode_losses", model)

    def measure_disk_use(self) -> None:
        """`disk_use_ready`."""
        self._ask("disk_use")

    # ---- changing

    def try_blend(self, first: str, second: str, weight: float, repository: str) -> None:
        """The held-out loss of a blend and of its parents, saving nothing: `blend_measured`."""
        self._measure("try_blend", first, second, float(weight), repository)

    def merge(
        self, first: str, second: str, weight: float, name: str = "", repository: str = "", loss: float | None = None
    ) -> None:
        """Save a blend as a checkpoint, with its `loss` where that was measured before; otherwise it is measured on
        the repository's held-out code, if one is named: `merged`."""
        if repository and loss is None:
            self._measure("merge", first, second, float(weight), name, repository)
        else:
            self._ask("merge", first, second, float(weight), name, loss)

    def rename(self, id: str, name: str) -> None:
        self._ask("rename", id, name)

    def note(self, id: str, text: str) -> None:
        self._ask("note", id, text)

    def tag(self, id: str, tags: tuple[str, ...]) -> None:
        self._ask("tag", id, tuple(tags))

    def pin(self, id: str, pinned: bool) -> None:
        self._ask("pin", id, bool(pinned))

    def delete(self, id: str) -> None:
        """Move to the trash: `deleted`; refused in words while others depend on it."""
        self._ask("delete", id)

    def undo_delete(self, trashed: TrashRow) -> None:
        """Bring back what was deleted, all of it."""
        for key in (trashed.key, *trashed.snapshots):
            self.restore(key)

    def restore(self, key: str) -> None:
        """Back from the trash."""
        self._ask("restore", key)

    def empty_trash(self) -> None:
        """Delete for good what is in the trash; a base that others need stays."""
        self._ask("empty_trash")

    def delete_downloads(self) -> None:
        """What was fetched of base models that are not whole: `disk_use_ready`."""
        self._ask("delete_downloads")

    def duplicate(self, id: str, name: str) -> None:
        self._ask("duplicate", id, name)

    def export(self, id: str, format: str, folder: str | Path, precision: str = "", whole: bool = False) -> None:
        """Write it as "hf", "gguf", "coil" or "adapter": `exported`."""
        self._ask("export", id, format, str(folder), precision, whole)

    def import_(self, path: str | Path) -> None:
        """Take in a Hugging Face folder, a .coil bundle or an MBJS file: `imported`."""
        self._ask("import_", str(path))

    def cancel(self) -> None:
        """End what is being done where it can be ended; nothing half-written stays.

        A measurement that still waits for another one is over at once.
        """
        self.cancel_wanted.emit()
        for ticket in sorted(self._measuring):
            self.measure_cancelled.emit(ticket)
        if self._waiting:
            self.on_progress(0, 0, "Cancelled")
            self.on_measure_ended(self._ticket)

    @property
    def export_formats(self) -> dict[str, tuple[str, ...]]:
        """Precisions by format, the default first; empty where it is written as it is."""
        from app.workers.checkpoint_rows import export_formats

        return export_formats()

    def read_export_formats(self) -> None:
        """The same without keeping the window waiting, because the formats take a second to load: `formats_ready`."""
        self._ask("export_formats")

    # ---- what the workers answer

    @Slot(object)
    def on_listed(self, listing: Listing) -> None:
        self.rows = tuple(map(self._marked, listing.rows))
        self.trash, self.lineage, self.listed = listing.trash, listing.lineage, True
        self.has_starter = listing.has_starter
        self.changed.emit()

    @Slot(str, object)
    def on_answer(self, name: str, answer: Any) -> None:
        """The result of a job, given to the signal that belongs to it."""
        if isinstance(answer, CheckpointDetails):
            self.details_ready.emit(replace(answer, row=self._marked(answer.row)))
        elif isinstance(answer, ComparisonView):
            self.compared.emit(answer)
        elif isinstance(answer, MergeView):
            (self.merged if answer.child else self.blend_measured).emit(answer)
        elif isinstance(answer, VerifyView):
            self._mark(answer)
            self.verified.emit(answer)
        elif isinstance(answer, ExportView):
            self.exported.emit(answer)
        elif isinstance(answer, CheckpointRow):
            self.imported.emit(answer)
        elif isinstance(answer, TrashRow):
            self.deleted.emit(answer)
        elif isinstance(answer, DiskUseView):
            self.disk_use = answer
            self.disk_use_ready.emit(answer)
        elif name == "decode_losses":
            self.decode_losses_ready.emit(answer)
        elif isinstance(answer, tuple) and name == "histories":
            self.histories_ready.emit(answer)
        elif isinstance(answer, dict) and name == "export_formats":
            self.formats_ready.emit(answer)

    @Slot(str, object)
    def on_precision(self, id: str, line: PrecisionLine) -> None:
        self.precision_measured.emit(id, line)

    @Slot(str, object)
    def on_precisions(self, id: str, lines: tuple[PrecisionLine, ...]) -> None:
        self.precisions_ready.emit(id, lines)

    @Slot(int, int, str)
    def on_progress(self, done: int, total: int, what: str) -> None:
        self.progress = (done, total, what)
        self.progressed.emit(done, total, what)

    @Slot()
    def on_job_ended(self) -> None:
        """The files' worker is done with what it was asked for first."""
        if self._asked:
            self._asked.popleft()
        self._ended()

    def _ended(self) -> None:
        self._jobs = max(0, self._jobs - 1)
        if not self._jobs:
            self.progress = (0, 0, "")
            self.busy_changed.emit()

    @Slot()
    def on_measure_began(self) -> None:
        """It is a measurement's turn."""
        self._waiting = False
        self.on_measure_progress(0, 0, "Measuring")

    @Slot(int, int, str)
    def on_measure_progress(self, done: int, total: int, what: str) -> None:
        """How far it is; nobody wants to know it of one that was given up."""
        if self._measuring:
            self.on_progress(done, total, what)

    @Slot(int)
    def on_measure_ended(self, ticket: int) -> None:
        if ticket in self._measuring:
            self._measuring.discard(ticket)
            self._waiting = False
            self._ended()

    @Slot(str)
    def on_cancelled(self, name: str) -> None:
        self.cancelled.emit(name)

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure)

    # ---- inside

    def _mark(self, found: VerifyView) -> None:
        """One that is damaged is called so from now on; nothing is made from it until it is whole again."""
        if bool(found.findings) != (found.id in self._damaged):
            self._damaged.pop(found.id, None)
            if found.findings:
                self._damaged[found.id] = f"It is damaged. {found.findings[0]}"
            self.refresh()

    def _marked(self, row: CheckpointRow) -> CheckpointRow:
        return replace(row, problem=row.problem or self._damaged.get(row.id, ""))

    def _ask(self, name: str, *arguments: Any) -> None:
        self._began()
        self._asked.append(name)
        self.job_wanted.emit(name, arguments)

    def _measure(self, name: str, *arguments: Any) -> None:
        self._began()
        self._ticket += 1
        self._measuring.add(self._ticket)
        self._waiting = True
        self.on_progress(0, 0, self.waits_for() or "Measuring")
        self.measure_wanted.emit(self._ticket, name, arguments)

    def _began(self) -> None:
        self._jobs += 1
        if self._jobs == 1:
            self.busy_changed.emit()
