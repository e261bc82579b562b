"""The last requests of editors: who, how long, what was answered or why nothing was shown."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.server.recorded import ServedRequest
from app.state.server import ServerController
from app.window.parts import Card, ElidedLabel, label, set_tone

MOST_ROWS = 14
PAUSE = 300  # milliseconds between two refreshes: an editor may ask at every key
NONE_YET = "No editor has asked yet. Set one up above and type in a file of the open repository."


class RequestList(Card):
    """The newest first."""

    def __init__(self, server: ServerController) -> None:
        super().__init__("Last requests", spacing=8)
        self._server = server
        self.words = label(NONE_YET, "text", wrap=True)
        self.column.addWidget(self.words)
        self._table: QWidget | None = None
        self.rows: list[tuple[str, ...]] = []  # as shown
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PAUSE)
        self._timer.timeout.connect(self.refresh)
        server.requests_changed.connect(self.on_requests_changed)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    @Slot()
    def on_requests_changed(self) -> None:
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def refresh(self) -> None:
        newest = self._server.requests[::-1][:MOST_ROWS]
        self.rows = [row_of(request) for request in newest]
        if self._table is not None:
            self.column.removeWidget(self._table)
            self._table.deleteLater()
        self._table = QWidget()
        grid = QGridLayout(self._table)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(4, 1)
        for number, (request, row) in enumerate(zip(newest, self.rows, strict=True)):
            for column, words in enumerate(row[:3]):
                cell = label(words, "label" if column == 0 else "body")
                if column == 2:
                    cell.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                grid.addWidget(cell, number, column)
            badge = label(row[3], "badge")
            set_tone(badge, "bad" if request.status >= 400 else "good" if request.text else "")
            grid.addWidget(badge, number, 3)
            grid.addWidget(ElidedLabel(row[4], "code" if request.text else "text"), number, 4)
        self._table.setVisible(bool(newest))
        self.words.setVisible(not newest)
        self.column.addWidget(self._table)


def row_of(request: ServedRequest) -> tuple[str, str, str, str, str]:
    """When, who, how long, the outcome in a word, and the answer or why there is none."""
    when = time.strftime("%H:%M:%S", time.localtime(request.when))
    outcome = "refused" if request.status >= 400 else "answered" if request.text else "nothing shown"
    text = request.text.split("\n")[0].strip() if request.text else request.why
    place = f"  (as in {request.source})" if request.source else ""
    return when, request.client, f"{request.milliseconds:,.0f} ms", outcome, f"{text}{place}"
