"""The main window: puts header, rail, pages and footer together, shows pages, and asks before quitting during a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QCloseEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from app.state.application import Application
from app.theme import Theme
from app.values.events import Failure
from app.values.words import counted
from app.window.actions import Actions
from app.window.closing import ClosingBar, Tray
from app.window.dropping import Drops, dropped_folder
from app.window.footer import Footer
from app.window.header import Header
from app.window.pages import ABOUT, ADAPT, CHECKPOINTS, COMPLETE, DEVICE, PAGES, REPOSITORY, SETTINGS
from app.window.parts import ErrorCard, FileDialog, InlineMessage, Page, keyboard_focus
from app.window.preloading import Preloading
from app.window.rail import Rail

if TYPE_CHECKING:
    from app.window.base_models.dialog import BaseModelDialog
    from app.window.help.window import HelpWindow

SMALLEST, FIRST = QSize(1024, 700), QSize(1280, 800)


class MainWindow(QMainWindow):
    """The whole program, as one window."""

    def __init__(self, application: Application, theme: Theme) -> None:
        super().__init__()
        self.setWindowTitle("Codecoil")
        self.setMinimumSize(SMALLEST)
        self.application, self._theme, self._settings = application, theme, application.settings
        self._leaving = False
        self.base_model_dialog: BaseModelDialog | None = None
        self.help_window: HelpWindow | None = None
        self.folder_dialog: FileDialog | None = None
        self._entries = {entry.title: entry for entry in PAGES if entry.is_there}
        keys = [f"Ctrl+{i}" for i, entry in enumerate(PAGES, 1) if entry.title in self._entries]
        self.made: dict[str, Page] = {}
        self.actions_ = Actions(application, self, tuple(self._entries.values()), keys)
        self.header = Header(application, self.actions_, self.actions_.menu)
        self.rail = Rail(tuple(self._entries.values()), keys)
        self.closing_bar = ClosingBar(application, Tray.is_available())
        self.pages = QStackedWidget()
        self.pages.setObjectName("pages")
        self.footer = Footer(application)
        self.trouble = InlineMessage()
        self.trouble_button = self.trouble.add_button("Show")
        self.defect_card = ErrorCard()
        self.tray = Tray(application, self)
        self._build()
        self.drops = Drops(self, self.pages, dropped_folder, takes_models=True)
        theme.dress(self.drops.sign)
        self._connect()
        modules = [name for entry in self._entries.values() for name in (entry.module, *entry.later)]
        self.preloading = Preloading(application, modules, self)
        self.preloading.page_due.connect(self.on_page_due)
        if not (self._settings.geometry and self.restoreGeometry(self._settings.geometry)):
            self.resize(FIRST)
        self.show_page(self._settings.page if self._settings.page in self._entries else REPOSITORY)
        self.on_changes_counted(application.repository.changes)
        self.pages.setFocus()  # no focus ring before the first Tab

    def _build(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.closing_bar)
        for notice in (self.trouble, self.defect_card):
            edge = QHBoxLayout()
            edge.setContentsMargins(20, 0, 20, 0)
            edge.addWidget(notice)
            right.addLayout(edge)
        right.addWidget(self.pages, 1)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addLayout(right, 1)
        column.addWidget(self.header)
        column.addLayout(row, 1)
        column.addWidget(self.footer)
        self.setCentralWidget(body)
        keyboard_focus(body)
        self._theme.dress(self.header, self.rail, self.footer, self.closing_bar, self.trouble, self.defect_card)
        self._theme.dress(self.actions_.menu, self.tray.menu)
        if sys.platform == "darwin":
            self.menuBar().addMenu(self.actions_.menu)

    def _connect(self) -> None:
        application, actions = self.application, self.actions_
        self.rail.page_chosen.connect(self.show_page)
        self.header.page_wanted.connect(self.show_page)
        self.header.device_chip.settings_wanted.connect(self.show_settings)
        self.drops.dropped.connect(self.open_folder)
        self.drops.model_dropped.connect(lambda _: self.show_page(CHECKPOINTS))
        self.drops.model_dropped.connect(application.checkpoints.import_)
        self.header.adapt_wanted.connect(self.on_adapt_wanted)
        self.header.changes_wanted.connect(self.on_changes_wanted)
        actions.folder.triggered.connect(self.on_folder_wanted)
        actions.all_folders.triggered.connect(self.on_all_folders_wanted)
        actions.read_again.triggered.connect(application.repository.rescan)
        actions.adapt.triggered.connect(self.on_adapt_wanted)
        actions.changes.triggered.connect(self.on_changes_wanted)
        actions.pause.triggered.connect(self.on_pause_wanted)
        actions.stop.triggered.connect(application.training.stop)
        actions.pages.triggered.connect(self.on_page_picked)
        actions.check.triggered.connect(self.on_check_wanted)
        actions.look.triggered.connect(application.engine.look_again)
        actions.themes.triggered.connect(self.on_theme_picked)
        actions.switch_theme.triggered.connect(self.on_switch_wanted)
        actions.base_model.triggered.connect(self.on_base_model_wanted)
        actions.help.triggered.connect(self.on_help_wanted)
        actions.about.triggered.connect(self.on_about_wanted)
        actions.quit.triggered.connect(self.close)
        actions.open_menu.triggered.connect(self.header.menu_button.showMenu)
        for signal in (application.training.changed, application.repository.changed, application.engine.state_changed):
            signal.connect(self.on_state_changed)
        application.training.changed.connect(self.on_training_changed)
        application.repository.changes_counted.connect(self.on_changes_counted)
        application.engine.devices_changed.connect(self.on_devices_found)
        application.engine.failed.connect(self.on_engine_failed)
        application.jobs.failed.connect(self.on_defect)
        self.trouble_button.clicked.connect(self.on_trouble_wanted)
        self._settings.changed.connect(self.on_setting_changed)
        self.closing_bar.suspend_wanted.connect(application.training.suspend)
        self.closing_bar.stop_wanted.connect(application.training.stop)
        self.closing_bar.tray_wanted.connect(self.on_tray_wanted)
        self.tray.window_wanted.connect(self.on_window_wanted)
        self.tray.suspend_wanted.connect(self.on_suspend_from_tray)
        self.tray.quit_wanted.connect(self.on_quit_from_tray)
        self.on_state_changed()

    # ---- pages

    @Slot(str)
    def show_page(self, title: str) -> None:
        """Bring a page to the front; it is made the first time."""
        if title not in self._entries:
            return
        page, left, focused = self.page(title), self.pages.currentWidget(), QApplication.focusWidget()
        self._theme.dress(page)
        self.pages.setCurrentWidget(page)
        if focused is not None and left is not page and left.isAncestorOf(focused):
            page.setFocus()  # not the next control: a focus ring that the user did not tab to is noise
        self.rail.mark(title)
        self.header.show_for(title)
        for action in self.actions_.pages.actions():
            action.setChecked(action.data() == title)
        if title == SETTINGS:
            self.trouble.put_away()
        self._settings.page = title
        page.on_shown()

    def page(self, title: str) -> Page:
        """The page of that title, made if necessary."""
        if title not in self.made:
            page = self._entries[title].make(self.application)
            page.page_wanted.connect(self.show_page)
            page.folder_wanted.connect(self.on_folder_wanted)
            page.file_wanted.connect(self.on_file_wanted)
            page.base_models_wanted.connect(self.on_base_model_wanted)
            keyboard_focus(page)
            self.made[title] = page
            self.pages.addWidget(page)
            self._theme.dress_soon(page)
        return self.made[title]

    @Slot(object)
    def on_engine_failed(self, failure: Failure) -> None:
        """Device failures are shown with the devices; every other page shows a link to them."""
        if self._front != SETTINGS:
            self.trouble.say(failure.cause, kind="error")

    @Slot(object)
    def on_defect(self, failure: Failure) -> None:
        """An unhandled error: above the page in front; the first one stays."""
        if self.defect_card.failure is None:
            self.defect_card.show_failure(failure)

    @Slot(str, int)
    def on_file_wanted(self, path: str, line: int) -> None:
        self.show_page(COMPLETE)
        self.page(COMPLETE).open_file(path, line)

    @Slot()
    def on_trouble_wanted(self) -> None:
        self.trouble.put_away()
        self.show_settings(DEVICE)

    @Slot(str)
    def show_settings(self, part: str) -> None:
        """Bring a part of the settings to the front."""
        self.page(SETTINGS).show_part(part)
        self.show_page(SETTINGS)

    @Slot()
    def on_devices_found(self) -> None:
        self.trouble.put_away()
        self.application.settle()  # the engine is loaded
        self.preloading.begin()

    @Slot()
    def on_page_due(self) -> None:  # a quiet moment: make one more page before it is first shown
        missing = [title for title in self._entries if title not in self.made]
        if missing:
            self.page(missing[0])
        if len(missing) <= 1:
            self.preloading.rest()
            self.application.settle()

    # ---- what the user wants

    @Slot()
    def on_folder_wanted(self) -> None:
        root = self.application.repository.root  # another folder is more likely beside it than in it
        start = Path(root).parent if root else Path.home()
        self.folder_dialog = FileDialog(self, "Choose a folder of source code", start, "Open")
        self.folder_dialog.fileSelected.connect(self.open_folder)
        self.folder_dialog.ask_for_folder()

    @Slot()
    def on_all_folders_wanted(self) -> None:
        self.show_page(REPOSITORY)
        self.made[REPOSITORY].show_overview()

    @Slot(str)
    def open_folder(self, folder: str) -> None:
        """Read this folder and show what is in it."""
        self.application.repository.open(folder)
        self.show_page(REPOSITORY)

    @Slot()
    def on_adapt_wanted(self) -> None:
        """Show the page with the plan; if it is in front already, start."""
        if self._front == ADAPT:
            self.application.training.start()
        else:
            self.page(ADAPT).put_away_others()
        self.show_page(ADAPT)

    @Slot()
    def on_changes_wanted(self) -> None:
        self.application.training.adapt_to_changes()
        self.show_page(ADAPT)

    @Slot()
    def on_pause_wanted(self) -> None:
        training = self.application.training
        (training.resume if training.phase == "paused" else training.pause)()

    @Slot()
    def on_check_wanted(self) -> None:
        self.show_settings(DEVICE)
        self.application.engine.check()

    @Slot(QAction)
    def on_page_picked(self, action: QAction) -> None:
        self.show_page(action.data())

    @Slot(QAction)
    def on_theme_picked(self, action: QAction) -> None:
        self._settings.theme = action.data()

    @Slot()
    def on_switch_wanted(self) -> None:
        self._settings.theme = "light" if self._theme.tokens.name == "dark" else "dark"

    @Slot()
    def on_about_wanted(self) -> None:
        self.show_settings(ABOUT)

    @Slot()
    def on_base_model_wanted(self) -> None:
        """Loaded on demand, like the help."""
        if self.base_model_dialog is None:
            from app.window.base_models.dialog import BaseModelDialog

            self.base_model_dialog = BaseModelDialog(self.application, self)
        self._theme.dress(self.base_model_dialog)
        self.base_model_dialog.show()
        self.base_model_dialog.setFocus()  # not its first button: a focus ring that the user did not tab to is noise
        self.base_model_dialog.raise_()

    @Slot()
    def on_help_wanted(self) -> None:
        """The help of the page in front."""
        if self.help_window is None:
            from app.window.help.window import HelpWindow

            self.help_window = HelpWindow(self, self.made, self._settings)
        self._theme.dress(self.help_window)
        self.help_window.open_at(self._front)

    # ---- what has changed

    @property
    def _front(self) -> str:
        return next((title for title, page in self.made.items() if page is self.pages.currentWidget()), "")

    @Slot()
    def on_state_changed(self) -> None:
        self.actions_.refresh()
        name = self.application.repository.name
        self.setWindowTitle(f"{name} · Codecoil" if name else "Codecoil")

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "theme":
            self._theme.choose(self._settings.theme)
            self.actions_.refresh()

    @Slot(object)
    def on_changes_counted(self, _changes) -> None:
        files = self.application.repository.offered_changes.files
        self.rail.buttons[REPOSITORY].say(files, f"{counted(files, 'file')} changed since the checkpoint")
        self.actions_.refresh()

    @Slot()
    def on_training_changed(self) -> None:
        """Count the runs that can be resumed; close a window that was waiting for its run to be saved."""
        training = self.application.training
        if ADAPT in self.rail.buttons:
            waiting = 0 if training.active else len(training.resumable)
            self.rail.buttons[ADAPT].say(waiting, f"{counted(waiting, 'interrupted run')} can be resumed")
        if not training.active:
            leaving = self.closing_bar.is_saving or self._leaving
            self.closing_bar.put_away()
            if leaving and training.phase == "failed":
                self._stay()
            elif leaving:
                self.shut()

    def _stay(self) -> None:
        """The run could not be saved: stay, and show why."""
        self._leaving = False
        self.on_window_wanted()
        self.show_page(ADAPT)

    # ---- leaving

    @Slot()
    def on_tray_wanted(self) -> None:
        self.closing_bar.put_away()
        self.tray.show()
        self.hide()

    @Slot()
    def on_window_wanted(self) -> None:
        """Back from the tray, or raised by a second start."""
        self.tray.hide()
        self.show()
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()

    @Slot()
    def on_suspend_from_tray(self) -> None:
        if self.application.training.can_suspend:
            self._leaving = True
            self.application.training.suspend()

    @Slot()
    def on_quit_from_tray(self) -> None:
        self._leaving = True
        if self.application.training.active:
            self.application.training.stop()
        else:
            self.shut()

    def shut(self) -> None:
        """Close without asking: the run is over, or the caller has ended it."""
        self._leaving = True
        was_hidden = not self.isVisible()
        self.tray.hide()
        self.close()
        if was_hidden:  # the window was hidden: Qt would not notice that the last one is closed
            QTimer.singleShot(0, QApplication.instance().quit)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout.  During a run, or with unsaved edits, ask instead."""
        if self.application.training.active and not self._leaving:
            event.ignore()
            self.closing_bar.ask()
            return
        holding = next((title for title, page in self.made.items() if not self._leaving and page.holds_window()), "")
        if holding:
            event.ignore()
            self.show_page(holding)
            return
        self.preloading.end()
        self._settings.geometry = self.saveGeometry()
        for page in self.made.values():
            page.keep_place()
        self._settings.save()
        super().closeEvent(event)
