"""The switch of the memory: how much of the repository is remembered, and whether suggestions use it."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.state.memory import MemoryController
from app.values.memory import READING
from app.values.words import counted, nbytes, thousands
from app.window.parts import PlainButton, tip

HELP = "Suggestions also use what the repository says elsewhere"


class MemoryChip(PlainButton):
    """Hidden until there is a memory: a switch that does nothing is none."""

    role = "switch"

    def __init__(self, memory: MemoryController) -> None:
        super().__init__("Memory")
        self._memory = memory
        self.setCheckable(True)
        self.clicked.connect(memory.switch)
        memory.memory_changed.connect(self.refresh)
        memory.switched.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self, *_what: object) -> None:
        memory, view = self._memory, self._memory.view
        self.setVisible(memory.is_there)
        self.setChecked(memory.is_on)
        if not memory.is_there:
            return
        words = f"Memory: {thousands(view.tokens)} tokens" if memory.is_on else "Memory: off"
        self.setText(words)
        self.setAccessibleName(words)
        size = f"{counted(view.files, 'file')}, {thousands(view.tokens)} tokens, {nbytes(view.bytes)}"
        reading = ", more are being read" if view.state == READING else ""
        tip(self, f"{HELP}: {size}{reading}")
