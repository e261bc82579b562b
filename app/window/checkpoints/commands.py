"""User actions on the selected checkpoints, passed to the controllers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication

from app.state.application import Application
from app.values.checkpoints import CheckpointRow
from app.values.completion import STARTER
from app.window.checkpoints.actions import CheckpointActions
from app.window.checkpoints.detail_pane import EXPORT, MERGE, DetailPane
from app.window.checkpoints.importing import ImportDialog
from app.window.checkpoints.notices import Notices
from app.window.checkpoints.table_view import CheckpointView
from app.window.pages import ADAPT, COMPLETE
from engine.checkpoints.store import SNAPSHOT_TAG


class Commands(QObject):
    """One slot per action, panel and button."""

    page_wanted = Signal(str)
    choose_wanted = Signal(list)  # ids
    began = Signal()  # a long job: no other one should be started until it is over

    def __init__(
        self,
        application: Application,
        actions: CheckpointActions,
        table: CheckpointView,
        detail: DetailPane,
        notices: Notices,
        dialog: ImportDialog,
    ) -> None:
        super().__init__(table)
        self._application, self._checkpoints = application, application.checkpoints
        self._table, self._detail, self._notices = table, detail, notices
        self._audited: set[str] = set()  # ids that were asked for, so that what was cancelled does not begin again
        self._awaited: tuple[str, ...] = ()  # ids of snapshots that are being made checkpoints
        self._then: Callable[[], None] | None = None  # what to do once they are
        for signal, slot in (
            (self._checkpoints.changed, self.on_store_changed),
            (actions.use.triggered, self.on_use),
            (actions.train.triggered, self.on_train),
            (actions.compare.triggered, self.on_compare),
            (actions.merge.triggered, self.on_merge),
            (actions.export.triggered, self.on_export),
            (actions.verify.triggered, self.on_verify),
            (actions.rename.triggered, table.edit_name),
            (actions.note.triggered, detail.facts.edit_note),
            (actions.tags.triggered, detail.facts.edit_tags),
            (actions.pin.triggered, self.on_pin),
            (actions.duplicate.triggered, self.on_duplicate),
            (actions.copy_id.triggered, self.on_copy_id),
            (actions.folder.triggered, self.on_folder),
            (actions.delete.triggered, self.on_delete),
            (actions.undo.triggered, notices.undo),
            (actions.close_panel.triggered, detail.close_panel),
            (detail.panel_changed, actions.close_panel.setEnabled),
            (actions.import_file.triggered, dialog.ask_for_file),
            (actions.import_folder.triggered, dialog.ask_for_folder),
            (dialog.chosen, self.import_path),
            (table.table.rename_wanted, self._checkpoints.rename),
            (table.table.pin_wanted, self._checkpoints.pin),
            (detail.facts.note_wanted, self._checkpoints.note),
            (detail.facts.tags_wanted, self._checkpoints.tag),
            (detail.precision.measure_wanted, self.on_precision_wanted),
            (detail.precision.keep_wanted, self.on_keep_wanted),
            (detail.merge.try_wanted, self.on_try_wanted),
            (detail.merge.merge_wanted, self.on_merge_wanted),
            (detail.export.export_wanted, self.on_export_wanted),
            (detail.export.audit_wanted, self.on_audit_wanted),
            (detail.drift.side_by_side_wanted, self.on_side_by_side),
            (self.began, notices.put_away),
        ):
            signal.connect(slot)

    # ---- state

    @property
    def in_use(self) -> str:
        """The id of the checkpoint that completions come from; "" if none."""
        model = self._application.completion.model
        if model != STARTER:
            return model
        built_in = (row.id for row in self._checkpoints.rows if self._is_built_in(row))
        return next(built_in, "")

    @property
    def measured_on(self) -> str:
        """The repository whose held-out code can be measured on now; "" if none."""
        repository = self._application.repository
        return repository.root if repository.phase == "ready" and not self._application.training.active else ""

    @property
    def why_not_measured(self) -> str:
        """What would be measured on, or why nothing can be measured."""
        if self._application.training.active:
            return "The held-out loss cannot be measured during a run."
        if not self.measured_on:
            return "Open a repository to measure the held-out loss."
        return f"The loss is measured on the held-out code of {self._application.repository.name}."

    def origin(self, row: CheckpointRow) -> str:
        """The id of what a checkpoint was made from, if that is in the store; else ""."""
        return next((id for id in (row.base, *row.parents) if id and self._checkpoints.row(id) is not None), "")

    def _is_built_in(self, row: CheckpointRow) -> bool:
        """Whether it is the store's copy of the built-in model."""
        return self._checkpoints.has_starter and row.built_in

    @property
    def _one(self) -> CheckpointRow:
        return self._table.chosen[0]

    # ---- actions

    @Slot()
    def on_use(self) -> None:
        model = STARTER if self._is_built_in(self._one) else self._one.id
        self._keep([self._one], lambda: self._application.completion.choose_model(model))

    @Slot()
    def on_train(self) -> None:
        base = "" if self._is_built_in(self._one) else self._one.id
        self._keep([self._one], lambda: self._train_on(base))

    def _train_on(self, base: str) -> None:
        self._application.training.choose_base(base)
        self.page_wanted.emit(ADAPT)

    def _keep(self, rows: Sequence[CheckpointRow], then: Callable[[], None]) -> None:
        """Make checkpoints of the snapshots among them before they are used: snapshots cannot be chosen on the other
        pages, and are thrown away with their run."""
        snapshots = [row for row in rows if row.is_snapshot]
        if not snapshots:
            then()
            return
        self._awaited, self._then = tuple(row.id for row in snapshots), then
        for row in snapshots:
            self._checkpoints.tag(row.id, tuple(tag for tag in row.tags if tag != SNAPSHOT_TAG))

    @Slot()
    def on_store_changed(self) -> None:
        """Do what waited for snapshots to become checkpoints."""
        rows = [self._checkpoints.row(id) for id in self._awaited]
        if rows and all(row is not None and not row.is_snapshot for row in rows):
            then, self._awaited, self._then = self._then, (), None
            names = " and ".join(row.name for row in rows)
            self._notices.say(f"{names} {'is a checkpoint' if len(rows) == 1 else 'are checkpoints'} now.")
            then()

    @Slot()
    def on_compare(self) -> None:
        """One with what it was made from; two on the same code."""
        if self._detail.pair is None:
            self.choose_wanted.emit([self._one.id, self.origin(self._one)])
        else:
            self.on_side_by_side()

    @Slot()
    def on_side_by_side(self) -> None:
        if self._detail.pair is not None:
            first, second = (STARTER if self._is_built_in(row) else row.id for row in self._detail.pair)
            self._keep(self._detail.pair, lambda: self._show_side_by_side(first, second))

    def _show_side_by_side(self, first: str, second: str) -> None:
        self._application.completion.choose_model(second)
        self._application.completion.choose_second(first)
        self.page_wanted.emit(COMPLETE)

    @Slot()
    def on_merge(self) -> None:
        self._detail.open_panel(MERGE)

    @Slot()
    def on_export(self) -> None:
        if not self._detail.export.is_ready:
            self._checkpoints.read_export_formats()
        self._detail.open_panel(EXPORT)
        row = self._one
        if row.repository and not row.recited and row.id not in self._audited and self.may_audit:
            self.on_audit_wanted(row.id)

    @property
    def may_audit(self) -> bool:
        """A run needs the device for itself."""
        return not self._application.training.active

    @Slot(str)
    def on_audit_wanted(self, id: str) -> None:
        self._audited.add(id)
        self.began.emit()
        self._checkpoints.audit(id)
        self._detail.export.recitation.show_asked(id)

    @Slot()
    def on_verify(self) -> None:
        self.began.emit()
        self._checkpoints.verify(self._one.id)

    @Slot()
    def on_pin(self) -> None:
        """Pin all of them, or unpin them if all are pinned."""
        rows = [row for row in self._table.chosen if row.kind]
        pin = not all(row.pinned for row in rows)
        for row in rows:
            if row.pinned != pin:
                self._table.table.toggle_pin(self._table.table.row_of(row.id))

    @Slot()
    def on_duplicate(self) -> None:
        self.began.emit()
        self._checkpoints.duplicate(self._one.id, f"{self._one.name[:100]} copy")

    @Slot()
    def on_copy_id(self) -> None:
        QGuiApplication.clipboard().setText(self._one.id)
        self._notices.say(f"Copied {self._one.id}.")

    @Slot()
    def on_folder(self) -> None:
        if self._detail.model_card.details is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(self._detail.model_card.details.folder))

    @Slot()
    def on_delete(self) -> None:
        """Move to the trash, dependants first; then select the next row."""
        rows = self._table.chosen
        going = {row.id for row in rows}
        shown = [row.id for row in self._table.table.shown]
        last = max(shown.index(id) for id in going)
        rest = [id for id in shown[last + 1 :] if id not in going] or [id for id in shown[:last] if id not in going][
            -1:
        ]
        depths = {node.row.id: node.depth for node in self._checkpoints.lineage}
        self.choose_wanted.emit(rest[:1])
        self._notices.delete(sorted(going, key=lambda id: -depths.get(id, 0)))

    @Slot(str)
    def import_path(self, path: str) -> None:
        self.began.emit()
        self._checkpoints.import_(path)

    # ---- panels

    @Slot(bool)
    def on_precision_wanted(self, with_loss: bool) -> None:
        self._detail.precision.show_lines(())
        self.began.emit()
        self._checkpoints.precisions(self._one.id, self.measured_on if with_loss else "")

    @Slot(str, object)
    def on_keep_wanted(self, precision: str, loss: float | None) -> None:
        self.began.emit()
        self._checkpoints.convert(self._one.id, precision, loss)

    @Slot(str, str, float)
    def on_try_wanted(self, first: str, second: str, weight: float) -> None:
        self.began.emit()
        self._checkpoints.try_blend(first, second, weight, self.measured_on)

    @Slot(str, str, float, str, object)
    def on_merge_wanted(self, first: str, second: str, weight: float, name: str, loss: float | None) -> None:
        self.began.emit()
        self._checkpoints.merge(first, second, weight, name, self.measured_on, loss)

    @Slot(str, str, str, str, bool)
    def on_export_wanted(self, id: str, format: str, path: str, precision: str, whole: bool) -> None:
        self.began.emit()
        self._detail.close_panel()
        self._checkpoints.export(id, format, path, precision, whole)
