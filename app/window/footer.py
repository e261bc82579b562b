"""The footer: the state of the running program in a few words."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Slot
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
    "benchmarking": ("running the benchmark", "good"),
    "failed": ("not available", "bad"),
}
WATCHER = {
    "off": ("off", ""),
    "watching": ("on", "good"),
    "looking": ("checking periodically", "good"),
    "failed": ("failed", "bad"),
}
KINDS = ("weights", "gradients", "optimiser", "activations", "workspace", "decode")
PROCESS_EVERY = 2000  # milliseconds between two readings of the process's own memory


class Footer(QFrame):
    """Connections, the engine, the models' memory against its limit and the process's own, the watcher, the speed."""

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
        row.addWidget(label("Model memory:", "label"))
        row.addWidget(self.memory)
        row.addSpacing(18)
        self.process = label(NOTHING, "strong")
        tip(self.process, "Memory that Codecoil takes from this computer: the models, the window and everything else")
        row.addWidget(label("Process:", "label"))
        row.addWidget(self.process)
        row.addSpacing(18)
        self._watcher_dot = dot()
        self.watcher = label("", "strong")
        row.addWidget(self._watcher_dot)
        row.addSpacing(4)
        row.addWidget(label("Watching:", "label"))
        row.addWidget(self.watcher)
        row.addStretch(1)
        self.speed = label("", "label")
        tip(self.speed, "Training speed")
        row.addWidget(self.speed)
        self._process_timer = QTimer(self)
        self._process_timer.setInterval(PROCESS_EVERY)
        self._process_timer.timeout.connect(self.on_process_due)
        self._process_timer.start()
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
        self.memory.setText(f"{nbytes(memory.total)} of {nbytes(ceiling)}")
        set_tone(self.memory, "warn" if memory.share > 0.95 else "")
        parts = [f"{kind}: {nbytes(memory.by_kind[kind])}" for kind in KINDS if memory.by_kind.get(kind)]
        tip(self.memory, "\n".join(parts) or "Memory of the models on the device, and the limit from the settings")
        speed = engine.tokens_per_second
        self.speed.setText(f"{speed:,.0f} tokens/s" if speed > 0 else f"{NOTHING} tokens/s")

    @Slot()
    def on_repository_changed(self) -> None:
        words, tone = WATCHER.get(self._repository.watcher, (self._repository.watcher, ""))
        self.watcher.setText(words if self._repository.root else "nothing")
        set_tone(self._watcher_dot, tone if self._repository.root else "")
        tip(self.watcher, self._repository.watcher_words or "Whether changes in the repository are noticed")

    @Slot()
    def on_process_due(self) -> None:
        self.process.setText(nbytes(process_memory() >> 20 << 20))  # whole MiB: finer would flicker


def process_memory() -> int:
    """Bytes of this computer's memory that the process occupies."""
    import psutil

    return psutil.Process().memory_info().rss


def lowered(words: str) -> str:
    """As it reads in the middle of a sentence."""
    return words[:1].lower() + words[1:]
