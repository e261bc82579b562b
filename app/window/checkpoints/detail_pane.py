"""The right side: the cards for the selection.

    nothing      disk use, and the whole family tree
    one          facts, loss curve, lineage, precisions, details
    two          the drift between them, both loss curves, other differences
    more         a summary, and their loss curves overlaid

A panel (merge or export) is on top while it is open.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QApplication, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.state.checkpoints import CheckpointController
from app.values.checkpoints import CheckpointDetails, CheckpointRow, ComparisonView, DiskUseView, HistoryCurve
from app.values.words import nbytes
from app.window.checkpoints.card_text import ModelCard
from app.window.checkpoints.drift_card import DifferencesCard, DriftCard
from app.window.checkpoints.export_panel import ExportPanel
from app.window.checkpoints.facts_card import FactsCard
from app.window.checkpoints.lineage_view import LineageCard
from app.window.checkpoints.merge_panel import MergePanel
from app.window.checkpoints.precision_table import PrecisionCard
from app.window.checkpoints.words import loss_words, older_first, origin_words
from app.window.parts import Card, FigureLabel, PageColumn, label

MERGE, EXPORT = "merge", "export"
EDGE = 16  # pixels on the right of the cards, which end where the rest of the page ends
WIDTH = 376  # at least: what the panels need


class OverviewCard(Card):
    """Three figures and a sentence."""

    def __init__(self) -> None:
        super().__init__("All checkpoints", margins=(16, 12, 16, 14), spacing=8)
        row = QHBoxLayout()
        self.figures = (FigureLabel("Checkpoints", 90), FigureLabel("Trash", 90), FigureLabel("Free", 90))
        for figure in self.figures:
            row.addWidget(figure, 1)
        self.column.addLayout(row)
        self.words = label("", "label", wrap=True)
        self.column.addWidget(self.words)

    def show_disk(self, use: DiskUseView, count: int, trash: int) -> None:
        self.heading.title.setText("On this disk")
        values = (
            ("Checkpoints", f"{count:,}", nbytes(use.checkpoints)),
            ("Trash", f"{trash:,}", nbytes(use.trash) if trash else ""),
            ("Free", nbytes(use.free), ""),
        )
        self._say(values)
        self.words.setText(
            "Select one checkpoint to see its details, two to compare them, more to overlay their loss curves."
        )

    def show_chosen(self, rows: Sequence[CheckpointRow]) -> None:
        self.heading.title.setText(f"{len(rows):,} selected")
        losses = [(row.held_out_loss, row.name) for row in rows if row.held_out_loss is not None]
        best, name = min(losses, default=(None, ""))
        size = sum(row.nbytes for row in rows)
        self._say((("Best held-out loss", loss_words(best), ""), ("On disk", nbytes(size), ""), ("", "", "")))
        self.words.setText(
            f"{name} is the best of them on held-out code." if name else "None of them has been measured."
        )

    def _say(self, values: Sequence[tuple[str, str, str]]) -> None:
        for figure, (name, number, remark) in zip(self.figures, values, strict=True):
            figure.heading.setText(name)
            figure.say(number, remark)
            figure.setVisible(bool(name))


class DetailPane(PageColumn):
    """Shows what it is given; requests nothing."""

    edge = EDGE
    panel_changed = Signal(bool)  # whether one is open
    curves_wanted = Signal()  # there is a curve to draw, and no card for it yet

    def __init__(self, checkpoints: CheckpointController) -> None:
        super().__init__()
        self._checkpoints = checkpoints
        self.chosen: list[CheckpointRow] = []
        self.panel = ""
        self.curves = None  # made with pyqtgraph, when first needed
        self._histories: tuple[tuple[HistoryCurve, ...], str] = ((), "")
        self.column.setContentsMargins(0, 0, EDGE, 18)
        self.setMinimumWidth(WIDTH)
        self.merge = MergePanel()
        self.export = ExportPanel()
        self.overview = OverviewCard()
        self.facts = FactsCard()
        self.drift = DriftCard()
        self._curves_room = QWidget()
        self._curves_room.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        QVBoxLayout(self._curves_room).setContentsMargins(0, 0, 0, 0)
        self.differences = DifferencesCard()
        self.lineage = LineageCard()
        self.precision = PrecisionCard()
        self.model_card = ModelCard()
        for part in (self.merge, self.export, self.overview, self.facts, self.drift):
            self.column.addWidget(part)
        self.column.addWidget(self._curves_room, 1)
        for part in (self.lineage, self.precision, self.differences, self.model_card):
            self.column.addWidget(part)
        self.column.addStretch(0)
        for panel in (self.merge, self.export):
            panel.closed.connect(self.close_panel)
        self.show_chosen([], "")

    # ---- the selection

    @property
    def pair(self) -> tuple[CheckpointRow, CheckpointRow] | None:
        """The two that are selected, older first; None unless there are two."""
        return older_first(*self.chosen) if len(self.chosen) == 2 else None

    def show_chosen(self, chosen: Sequence[CheckpointRow], in_use: str) -> None:
        """Other rows, or the same ones with new contents."""
        before = [row.id for row in self.chosen]
        self.chosen = list(chosen)
        other = before != [row.id for row in self.chosen]
        one = self.chosen[0] if len(self.chosen) == 1 else None
        if (self.panel == MERGE and len(self.chosen) != 2) or (self.panel == EXPORT and one is None):
            self.panel = ""
        if other:
            self.verticalScrollBar().setValue(0)
            self._histories = ((), "")
            self.precision.show_lines(())
            self.model_card.show_details(None)
            self.differences.show_comparison(None)
        if one is not None:
            names = {row.id: row.name for row in self._checkpoints.rows}
            self.facts.show_row(one, one.id == in_use, origin_words(one, names))
            self.export.show_row(one)
        if self.pair is not None:
            if other:
                self.drift.wait_for(*self.pair)
            self.merge.show_parents(*self.pair)
        self.lineage.show_family(self._checkpoints.lineage, one.id if one else "")
        self._show_overview()
        self._show_parts()

    def show_store(self) -> None:
        """The store has changed."""
        self.lineage.show_family(self._checkpoints.lineage, self.chosen[0].id if len(self.chosen) == 1 else "")
        self._show_overview()

    def _show_overview(self) -> None:
        if len(self.chosen) > 2:
            self.overview.show_chosen(self.chosen)
        else:
            checkpoints = self._checkpoints
            self.overview.show_disk(checkpoints.disk_use, len(checkpoints.rows), len(checkpoints.trash))

    def _show_parts(self) -> None:
        count = len(self.chosen)
        readable = count == 1 and bool(self.chosen[0].kind)
        curves = bool(self._histories[0]) or bool(self._histories[1])
        for part, shown in (
            (self.merge, self.panel == MERGE),
            (self.export, self.panel == EXPORT),
            (self.overview, count == 0 or count > 2),
            (self.facts, count == 1),
            (self.drift, count == 2),
            (self._curves_room, curves and (readable or count > 1)),
            (self.lineage, count == 0 or readable),
            (self.precision, readable),
            (self.model_card, readable),
        ):
            if not shown and part.isAncestorOf(QApplication.focusWidget() or self):
                self.setFocus()  # or Qt would give it to the next widget, and show a focus ring there
            part.setVisible(shown)
        self.panel_changed.emit(bool(self.panel))
        if count != 2:
            self.differences.hide()
        stretch = self.column.count() - 1
        self.column.setStretch(stretch, 0 if self._curves_room.isVisibleTo(self) else 1)

    # ---- what was read

    def show_details(self, details: CheckpointDetails) -> None:
        if len(self.chosen) != 1 or details.row.id != self.chosen[0].id:
            return
        self.facts.show_details(details)
        self.model_card.show_details(details)
        curves = (details.curve,) if details.curve is not None and len(details.curve.steps) else ()
        self.show_curves(curves, "")

    def show_curves(self, curves: Sequence[HistoryCurve], why_none: str) -> None:
        """`why_none` is shown if there is nothing to draw; with "" there is no card then."""
        self._histories = (tuple(curves), why_none)
        if curves and self.curves is None:
            self.curves_wanted.emit()
        if self.curves is not None:
            self.curves.show_curves(*self._histories)
        self._show_parts()

    def add_curves(self, card) -> None:
        """Called once pyqtgraph is loaded."""
        self.curves = card
        self._curves_room.layout().addWidget(card)
        card.show_curves(*self._histories)
        self._show_parts()

    def show_comparison(self, compared: ComparisonView) -> None:
        if self.pair is not None and (compared.first.id, compared.second.id) == tuple(row.id for row in self.pair):
            self.drift.show_comparison(compared)
            self.differences.show_comparison(compared)

    # ---- panels

    def open_panel(self, name: str) -> None:
        self.panel = name
        self._show_parts()
        self.verticalScrollBar().setValue(0)

    @Slot()
    def close_panel(self) -> None:
        self.panel = ""
        self._show_parts()
