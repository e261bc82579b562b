"""The Checkpoints page: the table on the left, the selection on the right.

A selection is shown at once with what the table knows; its files are read once the selection has been stable for a
moment, so that moving through a thousand rows with the arrow keys reads only one.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMenu, QStackedWidget, QVBoxLayout, QWidget

from app.state.application import Application
from app.values.checkpoints import CheckpointRow, DiskUseView, MergeView, PrecisionLine
from app.values.events import Failure
from app.window.checkpoints.actions import CheckpointActions
from app.window.checkpoints.commands import Commands
from app.window.checkpoints.detail_pane import EDGE, DetailPane
from app.window.checkpoints.importing import ImportDialog, dropped_model
from app.window.checkpoints.list_card import TRASH, ListCard
from app.window.checkpoints.marks import MOST_CURVES, marks_of
from app.window.checkpoints.notices import Notices
from app.window.checkpoints.words import store_words
from app.window.dropping import Drops
from app.window.pages import ADAPT
from app.window.parts import GAP, EmptyState, ErrorCard, IconButton, LinkButton, Page, PageTitle, PlainButton
from app.window.parts.key_splitter import KeySplitter
from app.window.preloading import when_loaded

REST = 90  # milliseconds that a selection must be stable before its files are read
HEADER_PLACE, SPLITTER_PLACE = "checkpoints table", "checkpoints splitter"
SIDES = (3, 2)  # shares of the width, until the splitter is moved


class CheckpointsPage(Page):
    title, icon = "Checkpoints", "checkpoints"

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self._checkpoints = application.checkpoints
        self._wanted = ""  # id of a new checkpoint, to be selected once it is listed
        self._asked: tuple = ()  # the rows whose files were read
        self._measured: dict[str, tuple[PrecisionLine, ...]] = {}  # precisions by id
        self._working = False  # a long job was started here
        self.actions_ = CheckpointActions(self)
        self._build()
        self.drops = Drops(self, self, dropped_model, "import")
        self._resting, self._loading = QTimer(self), QTimer(self)
        for timer, slot in ((self._resting, self.on_rested), (self._loading, self.load_curves)):
            timer.setSingleShot(True)
            timer.timeout.connect(slot)
        self._connect()
        self._restore_place()
        self.on_changed()
        self._ahead = when_loaded("app.window.checkpoints.curves", self, self.load_curves)

    # ---- building

    def _build(self) -> None:
        actions = self.actions_
        self.empty = EmptyState(
            "checkpoints",
            "No checkpoints yet",
            "Every run leaves a checkpoint: the trained weights, its history and its scores. Here you can compare, "
            "merge, restore and export them. Nothing leaves this machine.",
        )
        self.adapt_button = self.empty.add_button("Go to Adapt")
        self.first_import_button = self.empty.add_button("Import…", help_words="Or drop a model onto this page")
        self.empty_trash_link = LinkButton("Open the trash")
        self.empty.below.addWidget(self.empty_trash_link, 0, Qt.AlignmentFlag.AlignHCenter)
        self.view = QWidget()
        column = QVBoxLayout(self.view)
        column.setContentsMargins(20, 18, 4, 0)
        column.setSpacing(GAP)
        self.heading = PageTitle("Checkpoints")
        self.error_card = ErrorCard()
        top = QVBoxLayout()
        top.setContentsMargins(0, 0, EDGE, 0)
        top.setSpacing(GAP)
        top.addWidget(self.heading)
        top.addWidget(self.error_card)
        column.addLayout(top)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, EDGE, 0)
        row.setSpacing(8)
        self.buttons = {
            name: actions.button(getattr(actions, name))
            for name in ("use", "train", "compare", "merge", "export", "verify", "delete")
        }
        for button in self.buttons.values():
            row.addWidget(button)
        self.more_button = IconButton("more", "More actions")
        row.addWidget(self.more_button)
        row.addStretch(1)
        self.import_button = PlainButton(
            "Import…", "A folder, or a .gguf, .coil or MBJS file; or drop it onto this page", "Ctrl+I"
        )
        row.addWidget(self.import_button)
        column.addLayout(row)
        self.splitter = KeySplitter()
        self.splitter.setHandleWidth(GAP)
        self.detail = DetailPane(self._checkpoints)
        self.splitter.addWidget(self._build_left())
        self.splitter.addWidget(self.detail)
        for side, share in enumerate(SIDES):
            self.splitter.setStretchFactor(side, share)
        column.addWidget(self.splitter, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.view)
        self.body.addWidget(self.stack)
        self.import_dialog = ImportDialog(self)
        self.import_menu, self.more_menu = QMenu(self), actions.menu(self, self.table.sort_menu, self.table.column_menu)
        self.import_menu.addActions([actions.import_file, actions.import_folder])
        self.commands = Commands(self.application, actions, self.table, self.detail, self.notices, self.import_dialog)

    def _build_left(self) -> QWidget:
        left = QWidget()
        left.setMinimumWidth(400)
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 18)
        column.setSpacing(8)
        self.list = ListCard(self._checkpoints)
        self.table = self.list.table
        self.notices = Notices(self._checkpoints)
        column.addWidget(self.list, 1)
        column.addWidget(self.notices)
        return left

    def _connect(self) -> None:
        checkpoints, detail = self._checkpoints, self.detail
        for signal, slot in (
            (checkpoints.changed, self.on_changed),
            (checkpoints.busy_changed, self.on_busy_changed),
            (checkpoints.details_ready, detail.show_details),
            (checkpoints.histories_ready, self.on_histories),
            (checkpoints.compared, detail.show_comparison),
            (checkpoints.blend_measured, detail.merge.show_try),
            (checkpoints.audited, detail.export.recitation.show_audit),
            (checkpoints.merged, self.on_merged),
            (checkpoints.formats_ready, detail.export.show_formats),
            (checkpoints.imported, self.on_imported),
            (checkpoints.converted, self.on_imported),
            (checkpoints.precision_measured, self.on_precision),
            (checkpoints.precisions_ready, self.on_precisions),
            (checkpoints.disk_use_ready, self.on_disk_use),
            (checkpoints.failed, self.on_failed),
            (checkpoints.cancelled, self.on_cancelled),
            (self.application.completion.changed, self.on_completion_changed),
            (self.application.training.changed, self.on_may_measure_changed),
            (self.application.repository.changed, self.on_may_measure_changed),
            (self.commands.page_wanted, self.page_wanted),
            (self.commands.choose_wanted, self.choose),
            (self.commands.began, self.on_began),
            (self.table.chosen_changed, self.on_chosen_changed),
            (self.table.menu_wanted, self.on_menu_wanted),
            (self.list.list_changed, self.on_changed),
            (self.drops.dropped, self.commands.import_path),
            (self.splitter.splitterMoved, self.on_splitter_moved),
            (self.adapt_button.clicked, self.on_adapt_wanted),
            (self.empty_trash_link.clicked, self.on_empty_trash_wanted),
            (self.import_button.clicked, self.on_import_clicked),
            (self.first_import_button.clicked, self.on_first_import_clicked),
            (self.more_button.clicked, self.on_more_clicked),
            (detail.curves_wanted, self.on_curves_wanted),
            (detail.lineage.chosen, self.on_tree_chosen),
        ):
            signal.connect(slot)

    # ---- places

    def _restore_place(self) -> None:
        settings = self.application.settings
        self._is_placed = self.splitter.restoreState(settings.place(SPLITTER_PLACE))
        self.table.restore(settings.place(HEADER_PLACE))

    def keep_place(self) -> None:
        settings = self.application.settings
        if self._is_placed:
            settings.keep_place(SPLITTER_PLACE, self.splitter.saveState())
        settings.keep_place(HEADER_PLACE, self.table.place())

    def on_shown(self) -> None:
        self._checkpoints.measure_disk_use()

    @Slot()
    def on_splitter_moved(self, *_where) -> None:
        self._is_placed = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Distribute the width, until the user has moved the splitter."""
        super().resizeEvent(event)
        if not self._is_placed:
            room = event.size().width() // sum(SIDES)
            self.splitter.setSizes([room * share for share in SIDES])

    # ---- answers of the controllers

    @Slot()
    def on_changed(self) -> None:
        """The store was read again."""
        checkpoints = self._checkpoints
        nothing = checkpoints.listed and not checkpoints.rows and not self.list.in_trash
        self.stack.setCurrentWidget(self.empty if nothing else self.view)
        self.empty_trash_link.setVisible(bool(checkpoints.trash))
        first = not self.table.table.rows
        self.list.show_store(self.application.repository.root, self.commands.in_use)
        if first and not self._wanted and self.table.table.shown:
            self.choose([self.table.table.shown[0].id])
        self._choose_wanted()
        self._say_how_much()
        self.detail.show_store()
        self._show_chosen()

    def _choose_wanted(self) -> None:
        """Select a new checkpoint once it is listed."""
        if self._wanted and self._checkpoints.row(self._wanted) is not None:
            wanted, self._wanted = self._wanted, ""
            self.choose([wanted])

    @Slot(list)
    def choose(self, ids: list[str]) -> None:
        """Select these, even if a filter hides them."""
        self.list.choose(ids)

    @Slot()
    def on_chosen_changed(self) -> None:
        self.table.table.set_marks({})
        self._show_chosen()

    def _show_chosen(self) -> None:
        """What the rows say, at once; their files are read when the selection is stable."""
        chosen, in_use = self.chosen, self.commands.in_use
        self.detail.show_chosen(chosen, in_use)
        self._enable()
        if tuple(chosen) != self._asked:
            self._asked = tuple(chosen)
            self._resting.start(REST)
        if len(chosen) == 1 and chosen[0].id in self._measured:
            self.detail.precision.show_lines(self._measured[chosen[0].id])

    @property
    def chosen(self) -> list[CheckpointRow]:
        """What is selected; nothing while the trash is shown."""
        return [] if self.list.in_trash else self.table.chosen

    @Slot()
    def on_rested(self) -> None:
        chosen = [row for row in self.chosen if row.kind]
        if len(chosen) == 1:
            self._checkpoints.details(chosen[0].id)
        elif chosen:
            self._checkpoints.histories([row.id for row in chosen[:MOST_CURVES]])
        if self.detail.pair is not None and len(chosen) == 2:
            self._checkpoints.compare(*(row.id for row in self.detail.pair))

    @Slot(object)
    def on_histories(self, curves: tuple) -> None:
        chosen = {row.id for row in self.table.chosen}
        if len(curves) > 1 and all(curve.id in chosen for curve in curves):
            self.table.table.set_marks(marks_of(curves))
            self.detail.show_curves(curves, "None of them has a training history.")

    @Slot(object)
    def on_merged(self, merged: MergeView) -> None:
        self._wanted = merged.child
        self.detail.close_panel()
        self._choose_wanted()

    @Slot(object)
    def on_imported(self, row: CheckpointRow) -> None:
        self._wanted = row.id
        self._choose_wanted()

    @Slot(str, object)
    def on_precision(self, id: str, line: PrecisionLine) -> None:
        if [row.id for row in self.table.chosen] == [id]:
            self.detail.precision.add(line)

    @Slot(str, object)
    def on_precisions(self, id: str, lines: tuple[PrecisionLine, ...]) -> None:
        self._measured[id] = lines

    @Slot(object)
    def on_disk_use(self, _use: DiskUseView) -> None:
        self.list.show_trash()
        self.detail.show_store()
        self._say_how_much()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        """If two cannot be compared, their card says so; anything else is an error card on top."""
        if failure.job == "compare":
            self.detail.drift.refuse(" ".join(filter(None, (failure.cause, failure.remedy))))
            return
        self.error_card.show_failure(failure)
        self.table.show_rows(self._checkpoints.rows)  # take back a name that was refused
        self._asked = ()

    @Slot(str)
    def on_cancelled(self, job: str) -> None:
        if job == "compare":
            self.detail.drift.refuse("The comparison was cancelled. Select the two again to compare them.")

    @Slot()
    def on_completion_changed(self) -> None:
        self.table.table.set_in_use(self.commands.in_use)
        self.detail.show_chosen(self.chosen, self.commands.in_use)
        self._enable()

    @Slot()
    def on_may_measure_changed(self) -> None:
        self._enable()

    @Slot()
    def on_began(self) -> None:
        self._working = True
        self.error_card.put_away()
        self._enable()

    @Slot()
    def on_busy_changed(self) -> None:
        if not self._checkpoints.busy and self._working:
            self._working = False
            self._enable()

    # ---- what can be done

    def _enable(self) -> None:
        chosen, commands, free = self.chosen, self.commands, not self._working
        focused = QApplication.focusWidget()
        one = chosen[0] if len(chosen) == 1 else None
        origin = bool(one is not None and commands.origin(one))
        self.actions_.enable(chosen, one is not None and one.id == commands.in_use, origin, free)
        self.more_button.setEnabled(bool(chosen))
        self.import_button.setEnabled(free)
        self.drops.welcome = free
        measure, words = free and bool(commands.measured_on), commands.why_not_measured
        self.detail.merge.allow(free, commands.measured_on, words)
        own = one.precision if one is not None and one.kind == "whole" else ""
        self.detail.precision.allow(free, measure, "" if self.detail.precision.model.lines else words, own)
        self.detail.export.allow(free, free and commands.may_audit)
        if focused is not None and self.isAncestorOf(focused) and not focused.isEnabled():
            self.setFocus()  # or Qt would give it to the next widget

    def _say_how_much(self) -> None:
        checkpoints = self._checkpoints
        if not checkpoints.listed:
            self.heading.say("Reading the checkpoints…")
            return
        self.heading.say(store_words(checkpoints.rows, len(checkpoints.trash), checkpoints.disk_use.free))

    @Slot()
    def on_curves_wanted(self) -> None:
        self._loading.start(0)  # after the next paint

    @Slot()
    def load_curves(self) -> None:
        """Load pyqtgraph and make the card for curves."""
        if self.detail.curves is None:
            from app.window.checkpoints.curves import CurvesCard

            card = CurvesCard()
            card.save_reported.connect(self.notices.say)
            self.detail.add_curves(card)

    # ---- user actions

    @Slot(str)
    def on_tree_chosen(self, id: str) -> None:
        self.choose([id])

    @Slot()
    def on_adapt_wanted(self) -> None:
        self.page_wanted.emit(ADAPT)

    @Slot()
    def on_empty_trash_wanted(self) -> None:
        self.list.show_list(TRASH)

    @Slot(QPoint)
    def on_menu_wanted(self, where: QPoint) -> None:
        self.more_menu.popup(where)

    @Slot()
    def on_more_clicked(self) -> None:
        self.more_menu.popup(below(self.more_button))

    @Slot()
    def on_import_clicked(self) -> None:
        self.import_menu.popup(below(self.import_button))

    @Slot()
    def on_first_import_clicked(self) -> None:
        self.import_menu.popup(below(self.first_import_button))


def below(button: QWidget) -> QPoint:
    """Where the menu of a button opens, in screen coordinates."""
    return button.mapToGlobal(QPoint(0, button.height()))
