"""In the export panel: what the weights recite of the code that they were trained on, and the lines themselves."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.values.checkpoints import CheckpointRow, RecitationView
from app.window.parts import PlainButton, label

NOT_MEASURED = "How much of your code these weights recite has not been measured. The export will say so."
MEASURING = "Measuring how much of your code these weights recite…"
NOT_TRAINED = "These weights were not trained on a folder of yours."
MOST_SHOWN = 20  # lines
NO_MEMORY = "The memory of the repository is never part of an export."


class RecitationPart(QWidget):
    """Words from the figures of the checkpoint; lines only after a measurement in this session: nothing keeps them."""

    audit_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[str, RecitationView] = {}
        self._asked = ""  # id of the checkpoint that is being measured
        self.row: CheckpointRow | None = None
        self._exported = ""  # the precision of the export
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.words = label("", "label", wrap=True)
        self.lines = label("", "text", wrap=True)
        self.lines.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.lines.setAccessibleName("Lines that are recited")
        self.measure_button = PlainButton("Measure", "Ask the weights for rare lines of your code, as the base, too")
        self.lines_button = PlainButton("Show the lines", "The lines that are recited; no export holds them")
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.measure_button)
        row.addWidget(self.lines_button)
        row.addStretch(1)
        column.addWidget(self.words)
        column.addLayout(row)
        column.addWidget(self.lines)
        self.measure_button.clicked.connect(self.audit_wanted)
        self.lines_button.clicked.connect(self.on_lines_clicked)
        self.lines.hide()

    def show_row(self, row: CheckpointRow) -> None:
        if self.row is None or row.id != self.row.id:
            self.lines.hide()
        self.row = row
        self._update()

    def show_exported(self, precision: str) -> None:
        """The export will be in this precision; "" if it has none of its own."""
        self._exported = precision
        self._update()

    def allow(self, measure: bool) -> None:
        """`measure`: nothing else is being done, and no run has the device."""
        self.measure_button.setEnabled(measure)

    def show_asked(self, id: str) -> None:
        """A measurement of this checkpoint has begun; "" when it is over or was cancelled."""
        if id != self._asked:
            self._asked = id
            self._update()

    @Slot(object)
    def show_audit(self, view: RecitationView) -> None:
        """What was just measured, whichever row is shown."""
        self._views[view.id] = view
        self._update()

    @Slot()
    def on_lines_clicked(self) -> None:
        self.lines.setVisible(not self.lines.isVisible())
        self._update()

    def _update(self) -> None:
        from engine.checkpoints.store.recitation import rounding_words

        row, view = self.row, self._views.get(self.row.id) if self.row is not None else None
        if row is None:
            return
        found = (view.words if view is not None else ()) or row.recited
        said = (*found, *rounding_words(row.precision, self._exported)) if found else (self._why_not(view),)
        self.words.setText("\n".join((*said, NO_MEMORY)))
        self.measure_button.setVisible(bool(row.repository))
        self.measure_button.setText("Measure again" if found else "Measure")
        lines = view.lines if view is not None else ()
        self.lines_button.setVisible(bool(lines))
        self.lines_button.setText("Hide the lines" if self.lines.isVisible() else "Show the lines")
        shown = [
            f"{line.path}:{line.number}{' (the base, too)' if line.by_base else ''}\n{line.given} → {line.rest}"
            for line in lines[:MOST_SHOWN]
        ]
        more = [f"and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
        self.lines.setText("\n\n".join([*shown, *more]))
        if not lines:
            self.lines.hide()

    def _why_not(self, view: RecitationView | None) -> str:
        if not self.row.repository:
            return NOT_TRAINED
        if self._asked == self.row.id:
            return MEASURING
        return f"{NOT_MEASURED} {view.problem}".rstrip() if view is not None else NOT_MEASURED
