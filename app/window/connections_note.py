"""The footer's first statement: whether this process connects anywhere, with the guard's own list behind it.

The statement is never made without the guard: showing it installs the guard.
"""

from __future__ import annotations

import time

from PySide6.QtCore import QPoint, Qt, QTimer, Slot
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app.network import connections
from app.network.connections import REFUSED, Guard
from app.values.words import counted
from app.window.parts import LinkButton, dot, label, rule, set_tone, tip

LOOK = 1000  # milliseconds between two looks at the guard: it may be called from any thread and must not call back
MOST_ROWS = 12
PROMISE = (
    "No account, no telemetry, no upload. Codecoil blocks every connection that you have not asked for explicitly."
)


class ConnectionsNote(QWidget):
    """A dot and "Offline: no connections"; a click lists what was blocked and what was allowed."""

    def __init__(self, guard: Guard | None = None) -> None:
        super().__init__()
        self.guard = guard or connections.install()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)  # the button's ring is 2 px more
        self._dot = dot("good")
        self.heading = label("Offline:", "label")
        self.button = LinkButton("no connections")
        self.button.clicked.connect(self.on_clicked)
        self.list: ConnectionsList | None = None
        row.addWidget(self._dot)
        row.addSpacing(8)
        row.addWidget(self.heading)
        row.addWidget(self.button)
        self._seen: tuple = ()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK)
        self._timer.timeout.connect(self.on_look_due)
        self._timer.start()
        self.on_look_due()

    @Slot()
    def on_look_due(self) -> None:
        guard = self.guard
        seen = guard.refused, guard.allowed, guard.open_permissions
        if seen == self._seen:
            return
        self._seen = seen
        if guard.open_permissions:
            heading, words, tone = "Online:", f"{guard.open_permissions[-1].hosts[0]}, as you requested", "warn"
        elif guard.refused:
            heading, words, tone = "Offline:", f"{counted(guard.refused, 'attempt')} blocked", "warn"
        else:
            heading, words, tone = "Offline:", "no connections", "good"
        self.heading.setText(heading)
        self.button.setText(words)
        self.button.setAccessibleName(f"{heading} {words}")
        tip(self.button, f"{PROMISE} Click to see the list.")
        set_tone(self._dot, tone)
        if self.list is not None and self.list.isVisible():
            self.list.fill(guard)

    @Slot()
    def on_clicked(self) -> None:
        """Open the list above the footer."""
        if self.list is None:
            self.list = ConnectionsList(self)
        self.list.fill(self.guard)
        self.list.adjustSize()
        self.list.move(self.mapToGlobal(QPoint(0, -self.list.height() - 8)))
        self.list.show()


class ConnectionsList(QFrame):
    """Attempts since start-up, the newest first."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("card", "plain")
        self.setFixedWidth(460)
        self.setAccessibleName("Connections since start-up")
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(8)
        self.summary = label("", "heading", wrap=True)
        column.addWidget(self.summary)
        column.addWidget(label(PROMISE, "text", wrap=True))
        column.addWidget(rule())
        self._rows = QVBoxLayout()
        column.addLayout(self._rows)
        self._table: QWidget | None = None

    def fill(self, guard: Guard) -> None:
        """Show the guard's present list."""
        refused, allowed = guard.refused, guard.allowed
        if not refused and not allowed:
            self.summary.setText("No connection has been attempted since Codecoil was started.")
        else:
            self.summary.setText(f"{refused:,} blocked and {allowed:,} allowed since Codecoil was started.")
        if self._table is not None:
            self._rows.removeWidget(self._table)
            self._table.deleteLater()
        self._table = QWidget()
        grid = QGridLayout(self._table)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(2, 1)
        newest = guard.attempts[::-1]
        for place, attempt in enumerate(newest[:MOST_ROWS]):
            verdict = label(attempt.verdict, "badge")
            set_tone(verdict, "warn" if attempt.verdict == REFUSED else "good")
            what = f"{attempt.words} ({attempt.purpose})" if attempt.purpose else attempt.words
            grid.addWidget(label(time.strftime("%H:%M:%S", time.localtime(attempt.when)), "label"), place, 0)
            grid.addWidget(verdict, place, 1)
            grid.addWidget(label(what, "body", wrap=True), place, 2)
        if len(newest) > MOST_ROWS:
            grid.addWidget(label(f"and {len(newest) - MOST_ROWS:,} earlier", "label"), MOST_ROWS, 2)
        self._table.setVisible(bool(newest))
        self._rows.addWidget(self._table)
