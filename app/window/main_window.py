"""The main window: puts header, rail, pages and footer together, and holds the actions of the menu and their keys."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QMenu, QStackedWidget, QVBoxLayout, QWidget

from app.controller import EngineController
from app.settings import Settings
from app.theme import Theme
from app.window.about import AboutDialog
from app.window.engine_pane import EnginePane
from app.window.footer import Footer
from app.window.header import Header
from app.window.parts import keyboard_focus
from app.window.rail import Rail

SMALLEST, FIRST = QSize(1024, 700), QSize(1280, 800)
THEMES = (("system", "Follow the system"), ("dark", "Dark"), ("light", "Light"))


class MainWindow(QMainWindow):
    """The whole program, as one window."""

    def __init__(self, controller: EngineController, theme: Theme, settings: Settings, folder: Path) -> None:
        super().__init__()
        self.setWindowTitle("Codecoil")
        self.setMinimumSize(SMALLEST)
        self._controller, self._theme, self._settings, self._folder = controller, theme, settings, folder
        self._build_menu()
        self.header = Header(controller, theme, self.menu)
        self.rail = Rail(("Engine",))
        self.engine_pane = EnginePane(controller, theme)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.engine_pane)
        self.footer = Footer(controller)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addWidget(self.pages, 1)
        column.addWidget(self.header)
        column.addLayout(row, 1)
        column.addWidget(self.footer)
        self.setCentralWidget(body)
        keyboard_focus(body)
        self.engine_pane.setFocus()
        self.rail.page_chosen.connect(self.pages.setCurrentIndex)
        controller.state_changed.connect(self.on_state_changed)
        theme.restyled.connect(self.on_restyled)
        self.on_state_changed()
        if not (settings.geometry and self.restoreGeometry(settings.geometry)):
            self.resize(FIRST)

    def _build_menu(self) -> None:
        self.menu = QMenu("Codecoil", self)
        self.check_action = self._action("Check this device", "Ctrl+R", self.on_check_wanted)
        self.cancel_action = self._action("Cancel the check", "Esc", self.on_cancel_wanted)
        self.look_action = self._action("Look for devices again", "F5", self.on_look_wanted)
        self.menu.addSeparator()
        themes = self.menu.addMenu("Theme")
        self.theme_actions = QActionGroup(self)
        for choice, words in THEMES:
            action = themes.addAction(words)
            action.setCheckable(True)
            action.setData(choice)
            action.setChecked(choice == self._theme.choice)
            self.theme_actions.addAction(action)
        self.theme_actions.triggered.connect(self.on_theme_picked)
        self.switch_action = self._action("Switch dark and light", "Ctrl+Shift+L", self.on_switch_wanted)
        self.menu.addSeparator()
        self.about_action = self._action("About Codecoil", "F1", self.on_about_wanted)
        self.about_action.setMenuRole(QAction.MenuRole.AboutRole)
        self.quit_action = self._action("Quit", "Ctrl+Q", self.close)
        self.quit_action.setMenuRole(QAction.MenuRole.QuitRole)
        self.menu_action = QAction("Open the menu", self)
        self.menu_action.setShortcut(QKeySequence("F10"))
        self.menu_action.triggered.connect(self.on_menu_wanted)
        self.addAction(self.menu_action)
        if sys.platform == "darwin":
            self.menuBar().addMenu(self.menu)

    def _action(self, words: str, keys: str, slot) -> QAction:
        action = self.menu.addAction(words)
        action.setShortcut(QKeySequence(keys))
        action.triggered.connect(slot)
        self.addAction(action)  # the keys work without the menu being open
        return action

    # ---- what the user wants

    @Slot()
    def on_check_wanted(self) -> None:
        self._controller.check()

    @Slot()
    def on_cancel_wanted(self) -> None:
        self._controller.cancel()

    @Slot()
    def on_look_wanted(self) -> None:
        self._controller.look_again()

    @Slot(QAction)
    def on_theme_picked(self, action: QAction) -> None:
        self._theme.choose(action.data())
        self._settings.theme = self._theme.choice

    @Slot()
    def on_switch_wanted(self) -> None:
        self._theme.switch()
        self._settings.theme = self._theme.choice

    @Slot()
    def on_about_wanted(self) -> None:
        dialog = AboutDialog(self._theme, self._folder, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot()
    def on_menu_wanted(self) -> None:
        self.header.menu_button.showMenu()

    # ---- what has changed

    @Slot()
    def on_state_changed(self) -> None:
        phase = self._controller.phase
        self.check_action.setEnabled(phase == "ready")
        self.cancel_action.setEnabled(phase == "checking")
        self.look_action.setEnabled(phase in ("ready", "failed"))
        if self._controller.found is not None:
            self._settings.device = self._controller.preferred

    @Slot(object)
    def on_restyled(self, _tokens) -> None:
        for action in self.theme_actions.actions():
            action.setChecked(action.data() == self._theme.choice)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the place.  A running check is cancelled when the application stops its engine."""
        self._settings.geometry = self.saveGeometry()
        self._settings.save()
        super().closeEvent(event)
