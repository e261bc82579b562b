"""The actions of the program: the menu with its shortcuts, which work whether the menu is open or not."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from app.state.application import Application
from app.window.pages import PageEntry

THEMES = (("system", "System"), ("dark", "Dark"), ("light", "Light"))
ALL_KEYS = "Ctrl+Shift+R"


class Actions:
    """Every action by name; the window connects them to what they do."""

    def __init__(
        self, application: Application, window: QWidget, pages: Sequence[PageEntry], keys: Sequence[str]
    ) -> None:
        self._window = window
        self._application = application
        self.menu = QMenu("Codecoil", window)
        self.folder = self._add("Choose a folder…", "Ctrl+O")
        self.all_folders = self._add("All repositories…", ALL_KEYS)
        self.read_again = self._add("Read the folder again", "F5")
        self.base_model = self._add("Get a base model…", "")
        self.menu.addSeparator()
        self.adapt = self._add("Adapt", "Ctrl+Shift+A")
        self.changes = self._add("Adapt to changes", "Ctrl+Shift+C")
        self.pause = self._add("Pause", "Ctrl+Shift+P")
        self.stop = self._add("Stop and save", "Ctrl+Shift+S")
        self.menu.addSeparator()
        go = self.menu.addMenu("Go to")
        self.pages = QActionGroup(window)
        for entry, key in zip(pages, keys, strict=True):
            action = self._add(entry.title, key, go)
            action.setCheckable(True)
            action.setData(entry.title)
            self.pages.addAction(action)
        devices = self.menu.addMenu("Device")
        self.check = self._add("Check this device", "Ctrl+Shift+D", devices)
        self.look = self._add("Find devices", "", devices)
        themes = self.menu.addMenu("Theme")
        self.themes = QActionGroup(window)
        for choice, words in THEMES:
            action = self._add(words, "", themes)
            action.setCheckable(True)
            action.setData(choice)
            self.themes.addAction(action)
        self.switch_theme = self._add("Toggle dark and light", "Ctrl+Shift+L", themes)
        self.menu.addSeparator()
        self.help = self._add("Help", "F1")
        self.about = self._add("About Codecoil", "")
        self.about.setMenuRole(QAction.MenuRole.AboutRole)
        self.quit = self._add("Quit", "Ctrl+Q")
        self.quit.setMenuRole(QAction.MenuRole.QuitRole)
        self.open_menu = QAction("Open menu", window)
        self.open_menu.setShortcut(QKeySequence("F10"))
        window.addAction(self.open_menu)
        self.menu.aboutToShow.connect(self.refresh)

    def refresh(self) -> None:
        """Enable what can be done now."""
        application = self._application
        training, repository, engine = application.training, application.repository, application.engine
        self.read_again.setEnabled(bool(repository.root) and repository.phase != "reading")
        self.adapt.setEnabled(bool(repository.root) and not training.active)
        self.changes.setEnabled(repository.changes.any and not training.active)
        self.pause.setText("Resume" if training.phase == "paused" else "Pause")
        self.pause.setEnabled(training.phase in ("running", "paused"))
        self.stop.setEnabled(training.phase in ("preparing", "running", "paused"))
        self.check.setEnabled(engine.phase == "ready")
        self.look.setEnabled(engine.phase in ("ready", "failed"))
        for action in self.themes.actions():
            action.setChecked(action.data() == application.settings.theme)

    def _add(self, words: str, keys: str, menu: QMenu | None = None) -> QAction:
        action = (menu or self.menu).addAction(words)
        if keys:
            action.setShortcut(QKeySequence(keys))
        self._window.addAction(action)
        return action
