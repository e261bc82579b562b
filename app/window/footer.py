"""The footer: a few statements about the running program, each of them true at that moment."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout

from app.state.application import Application
from app.values.words import nbytes
from app.window.connections_note import ConnectionsNote
from app.window.parts import NOTHING, ElidedLabel, dot, label, set_tone, tip

PHASES = {
    "starting": ("looking for devices", "warn"),
    "checking": ("checking", "good"),
    "cancelling": ("cancelling", "warn"),
    "racing": ("racing the devices", "good"),
    "failed": ("not available", "bad"),
}
WATCHER = {
    "off": ("off", ""),
    "watching": ("on", "good"),
    "looking": ("looking now and then", "good"),
    "failed": ("cannot", "bad"),
}
KINDS = ("weights", "gradients", "optimiser", "activations", "workspace", "decode")


class Footer(QFrame):
    """Offline, the engine, its memory against the ceiling, the watcher, the speed."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self.setObjectName("footer")
        self.setFixedHeight(28)
        self._engine, self._repository = application.engine, application.repository
        self._settings = application.settings
        row = QHBoxLayout(self)
        row.setContentsMargins(17, 0, 16, 0)
        row.setSpacing(4)
        self.connections = ConnectionsNote()
        self.offline = self.connections.button
        row.addWidget(self.connections)
        row.addSpacing(18)
        self._engine_dot = dot()
        self.engine = ElidedLabel("", "strong")
        row.addWidget(self._engine_dot)
        row.addSpacing(4)
        row.addWidget(label("Engine:", "label"))
        row.addWidget(self.engine)
        row.addSpacing(18)
        self.memory = label("", "strong")
        row.addWidget(label("Memory:", "label"))
        row.addWidget(self.memory)
        row.addSpacing(18)
        self._watcher_dot = dot()
        self.watcher = label("", "strong")
        row.addWidget(self._watcher_dot)
        row.addSpacing(4)
        row.addWidget(label("Watching:", "label"))
        row.addWidget(self.watcher)
        row.addStretch(1)
        self.speed = label("", "label")
        tip(self.speed, "How fast a run learns: pieces of text that the model reads each second")
        row.addWidget(self.speed)
        self._engine.state_changed.connect(self.on_engine_changed)
        self._engine.figures_changed.connect(self.on_engine_changed)
        self._settings.changed.connect(self.on_engine_changed)
        self._repository.changed.connect(self.on_repository_changed)
        self.on_engine_changed()
        self.on_repository_changed()

    @Slot()
    def on_engine_changed(self, *_what) -> None:
        engine = self._engine
        words, tone = PHASES.get(engine.phase, (lowered(engine.activity), "good"))
        if engine.phase == "checking":
            words = f"checking {engine.checking}"
        self.engine.set_words(words)
        self.engine.setAccessibleName(f"Engine: {words}")
        set_tone(self._engine_dot, tone)
        memory = engine.memory
        ceiling = memory.ceiling if memory.total else self._settings.memory_ceiling
        self.memory.setText(f"{nbytes(memory.total) if memory.total else 'none'} of {nbytes(ceiling)}")
        set_tone(self.memory, "warn" if memory.share > 0.95 else "")
        parts = [f"{kind}: {nbytes(memory.by_kind[kind])}" for kind in KINDS if memory.by_kind.get(kind)]
        tip(self.memory, "\n".join(parts) or "What the engine holds on the device, against the ceiling of the settings")
        speed = engine.tokens_per_second
        self.speed.setText(f"{speed:,.0f} tokens/s" if speed > 0 else f"{NOTHING} tokens/s")

    @Slot()
    def on_repository_changed(self) -> None:
        words, tone = WATCHER.get(self._repository.watcher, (self._repository.watcher, ""))
        self.watcher.setText(words if self._repository.root else "nothing")
        set_tone(self._watcher_dot, tone if self._repository.root else "")
        tip(self.watcher, self._repository.watcher_words or "Whether edits in the repository are noticed")


def lowered(words: str) -> str:
    """Words that begin a sentence, inside one."""
    return words[:1].lower() + words[1:]
