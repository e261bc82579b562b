"""The memory of the repository as the pages see it: how much it holds, and whether suggestions may use it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.state.settings import Settings
from app.values.memory import MemoryView


class MemoryController(QObject):
    """`view` is None until a repository has been read, and after it was closed."""

    memory_changed = Signal(object)  # MemoryView | None: of `view`
    switched = Signal(bool)  # `is_on`

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.view: MemoryView | None = None
        settings.changed.connect(self.on_setting_changed)

    @property
    def is_there(self) -> bool:
        """Whether there is anything to remember."""
        return self.view is not None and self.view.tokens > 0

    @property
    def is_on(self) -> bool:
        """Whether the suggestions in the editor use it."""
        return self._settings.memory_on

    def switch(self, on: bool) -> None:
        """Use it, or not; saved as a setting."""
        self._settings.memory_on = on

    @Slot(object)
    def on_memory(self, view: MemoryView | None) -> None:
        if view != self.view:
            self.view = view
            self.memory_changed.emit(view)

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "memory_on":
            self.switched.emit(self.is_on)
