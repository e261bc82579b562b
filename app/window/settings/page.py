"""The page "Settings": the title, the choice of a part, and that part."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.state.application import Application
from app.window.pages import ABOUT, DEVICE
from app.window.parts import Page, PageColumn, PageTitle, Segmented, keyboard_focus
from app.window.settings.about_pane import AboutPane
from app.window.settings.completion_pane import CompletionPane
from app.window.settings.device_pane import DevicePane
from app.window.settings.editors_pane import EditorsPane
from app.window.settings.look_pane import LookPane
from app.window.settings.storage_pane import StoragePane
from app.window.settings.work_pane import WorkPane

LOOK, COMPLETION, EDITORS, WORK, STORAGE = "look", "completion", "editors", "work", "storage"
PARTS = (
    (LOOK, "Look and keys", LookPane, "The theme, and the keys that accept or dismiss a suggestion."),
    (COMPLETION, "Completion", CompletionPane, "When suggestions appear, and how they are computed."),
    (EDITORS, "Editors", EditorsPane, "Suggestions in the editor that you work in."),
    (WORK, "Training", WorkPane, "What training may use, what is watched, and when Codecoil adapts on its own."),
    (STORAGE, "Storage", StoragePane, "What Codecoil keeps on disk."),
    (DEVICE, "Device", DevicePane, "Where Codecoil computes."),
    (ABOUT, "About", AboutPane, "Versions of everything that runs here, and where the data is."),
)


class SettingsPage(Page):
    """What is changed most comes first, what is looked at once in a while last."""

    title, icon = "Settings", "settings"

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        top = QWidget()
        top.setObjectName("page")
        column = QVBoxLayout(top)
        column.setContentsMargins(20, 18, 20, 12)
        column.setSpacing(12)
        self.heading = PageTitle("Settings")
        self.parts = Segmented([(key, words) for key, words, *_ in PARTS], "Part of the settings")
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
        self.show_part(LOOK)

    def pane(self, key: str) -> PageColumn:
        """A part, made when it is first shown: all at once would hold the window up."""
        if key not in self.panes:
            pane = next(make for part, _, make, _ in PARTS if part == key)(self.application)
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
        words = next(words for part, *_, words in PARTS if part == key)
        self.heading.say(words if key in (STORAGE, ABOUT) else f"{words} Changes apply at once.")
        self.stack.setCurrentWidget(self.pane(key))
        if key == STORAGE and self.isVisible():
            self.pane(key).on_shown()

    def on_shown(self) -> None:
        if self.parts.value == STORAGE:
            self.pane(STORAGE).on_shown()
