"""The page "Settings": the title, the choice of the part, and the part."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.state.application import Application
from app.window.parts import Page, PageColumn, PageTitle, Segmented, keyboard_focus
from app.window.settings.about_pane import AboutPane
from app.window.settings.completion_pane import CompletionPane
from app.window.settings.device_pane import DevicePane
from app.window.settings.storage_pane import StoragePane
from app.window.settings.work_pane import WorkPane

DEVICE, WORK, COMPLETION, STORAGE, ABOUT = "device", "work", "completion", "storage", "about"
PARTS = (
    (DEVICE, "Device", "Where Codecoil computes."),
    (WORK, "Work", "How much of the machine it takes, and what it does by itself."),
    (COMPLETION, "Completion", "When suggestions come, and the keys that take them."),
    (STORAGE, "Look and storage", "The theme, and what is kept on disk."),
    (ABOUT, "About", "What runs here."),
)
MAKERS = {DEVICE: DevicePane, WORK: WorkPane, COMPLETION: CompletionPane, STORAGE: StoragePane, ABOUT: AboutPane}


class SettingsPage(Page):
    """Five parts; changes apply at once."""

    title, icon = "Settings", "settings"

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        top = QWidget()
        top.setObjectName("page")
        column = QVBoxLayout(top)
        column.setContentsMargins(20, 18, 20, 12)
        column.setSpacing(12)
        self.heading = PageTitle("Settings", "Changes apply at once.")
        self.parts = Segmented([(key, words) for key, words, _ in PARTS], "Part of the settings")
        self.parts.chosen.connect(self.show_part)
        row = QHBoxLayout()
        row.addWidget(self.parts, 0, Qt.AlignmentFlag.AlignLeft)
        row.addStretch(1)
        column.addWidget(self.heading)
        column.addLayout(row)
        self.panes: dict[str, PageColumn] = {}  # as far as they were made
        self.stack = QStackedWidget()
        self.body.addWidget(top)
        self.body.addWidget(self.stack, 1)
        self.show_part(DEVICE)

    def pane(self, key: str) -> PageColumn:
        """A part, made when somebody wants it: all five at once would hold the window up."""
        if key not in self.panes:
            pane = MAKERS[key](self.application)
            keyboard_focus(pane)
            self.panes[key] = pane
            self.stack.addWidget(pane)
        return self.panes[key]

    @property
    def device_pane(self) -> DevicePane:
        return self.pane(DEVICE)

    @Slot(str)
    def show_part(self, key: str) -> None:
        """Bring a part to the front."""
        self.parts.set_value(key)
        words = next(words for part, _, words in PARTS if part == key)
        self.heading.say(words if key == ABOUT else f"{words} Changes apply at once.")
        self.stack.setCurrentWidget(self.pane(key))
        if key == STORAGE and self.isVisible():
            self.pane(key).on_shown()

    def on_shown(self) -> None:
        if self.parts.value == STORAGE:
            self.pane(STORAGE).on_shown()
