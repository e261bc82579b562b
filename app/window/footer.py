"""The footer: a few statements about the running program, each of them true at that moment."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout

from app import VERSION
from app.controller import EngineController
from app.window.parts import dot, label, set_tone

PHASES = {
    "starting": ("looking for devices", "warn"),
    "ready": ("ready", "good"),
    "checking": ("checking", "good"),
    "cancelling": ("cancelling the check", "warn"),
    "failed": ("not available", "bad"),
}


class Footer(QFrame):
    """Offline, the state of the engine, the version."""

    def __init__(self, controller: EngineController) -> None:
        super().__init__()
        self.setObjectName("footer")
        self.setFixedHeight(28)
        self._controller = controller
        row = QHBoxLayout(self)
        row.setContentsMargins(17, 0, 16, 0)
        row.setSpacing(4)
        offline = label("nothing is sent", "strong")
        offline.setToolTip("No account, no telemetry, no upload: this version opens no network connection at all.")
        row.addWidget(label("Offline:", "label"))
        row.addWidget(offline)
        row.addSpacing(18)
        self._dot = dot()
        self._state = label("", "strong")
        row.addWidget(self._dot)
        row.addSpacing(4)
        row.addWidget(label("Engine:", "label"))
        row.addWidget(self._state)
        row.addStretch(1)
        row.addWidget(label(f"Codecoil {VERSION}", "label"))
        controller.state_changed.connect(self.on_state_changed)
        self.on_state_changed()

    @Slot()
    def on_state_changed(self) -> None:
        words, tone = PHASES[self._controller.phase]
        if self._controller.phase == "checking":
            words = f"checking {self._controller.checking}"
        self._state.setText(words)
        self._state.setAccessibleName(f"Engine: {words}")
        set_tone(self._dot, tone)
