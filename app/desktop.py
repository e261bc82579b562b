"""The desktop: makes the application, the controller and the window, and ends them in the right order."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app import VERSION
from app.data.data_folder import data_folder
from app.data.log_file import close_log, need_console, open_log
from app.display import binding_problem, need_display, need_qt

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from app.single_instance import SingleInstance
    from app.state.application import Application
    from app.state.engine import EngineController
    from app.state.settings import Settings
    from app.theme import Theme
    from app.window.main_window import MainWindow

SIGNAL_POLL = 200  # milliseconds; Python sees Ctrl-C only when some Python runs


@dataclass(frozen=True)
class Desktop:
    """The running program's parts; `close` ends them."""

    application: QApplication
    theme: Theme
    state: Application
    window: MainWindow

    @property
    def controller(self) -> EngineController:
        return self.state.engine

    @property
    def settings(self) -> Settings:
        return self.state.settings

    def close(self) -> None:
        """Close the window, then wait for the threads: a run is stopped and saved."""
        self.window.shut()
        self.state.stop()


def qt_application() -> QApplication:
    """Qt's application object, made once; refused if the installed Qt would abort the process."""
    from PySide6.QtWidgets import QApplication

    problem = binding_problem()
    if problem:
        from engine.errors import ConfigError

        raise ConfigError(problem, "Install PySide6-Essentials 6.11, or use Python 3.12 or later.")
    application = QApplication.instance() or QApplication(["codecoil"])
    application.setApplicationName("codecoil")
    application.setApplicationDisplayName("Codecoil")
    application.setApplicationVersion(VERSION)
    application.setDesktopFileName("codecoil")
    return application


def open_desktop(folder: Path, root: Path | None = None) -> Desktop:
    """Make and show the window; the engine is loaded behind it, in its own thread.

    `folder`: the data folder; `root`: a folder of source code to open, instead of the one that was open last.
    """
    from PySide6.QtCore import QTimer

    application = qt_application()

    from app.state.application import Application
    from app.theme import Theme
    from app.window.main_window import MainWindow

    state = Application(folder)
    theme = Theme(application, state.settings.theme)
    window = MainWindow(state, theme)
    window.show()
    state.idle.watch(window.windowHandle())
    # After the first painting: loading the engine would slow it down.
    QTimer.singleShot(0, partial(state.start, root))
    return Desktop(application, theme, state, window)


def run(arguments: argparse.Namespace) -> int:
    """Open the window and run until it is closed.  If one is open already, it is raised and opens the folder."""
    root = named_folder(arguments.path)
    need_display()
    need_qt()
    folder = data_folder()
    need_console()
    from app.single_instance import SingleInstance

    qt_application()
    instance = SingleInstance(folder)
    if not instance.claim(root):
        return 0  # the window that is open was asked to come to the front
    folder, instance = _after_move(folder, instance)
    log = open_log(folder)
    try:
        return _run_with_log(folder, instance, root)
    finally:
        instance.release()
        close_log(log)


def _after_move(folder: Path, instance: SingleInstance) -> tuple[Path, SingleInstance]:
    """Switch to a data folder that was copied elsewhere, while nothing uses the old one.

    If that is not possible (a full disk, or one that is not connected), the old one stays in use; the settings say so.
    """
    from app.data.data_folder import VARIABLE, usual_folder
    from app.data.data_move import finish_move
    from app.single_instance import SingleInstance

    if os.environ.get(VARIABLE):
        return folder, instance
    with contextlib.suppress(OSError):
        move = finish_move(usual_folder())
        if move is not None and move.folder != folder:
            instance.release()
            folder, instance = move.folder, SingleInstance(move.folder)
            instance.claim()
    return folder, instance


def named_folder(path: str | None) -> Path | None:
    """The folder of source code that the command names; None if it names none."""
    if path is None:
        return None
    from engine.corpus.reading.walk import source_folder

    return source_folder(path)


def _run_with_log(folder: Path, instance: SingleInstance, root: Path | None) -> int:
    from app.defects import Defects
    from app.state.journal import Journal

    leaving = Leaving()
    defects = Defects()
    defects.install()
    try:
        desktop = open_desktop(folder, root)
        gc.freeze()  # what exists now stays: later collections skip it
        journal = Journal(desktop.state)
        journal.begin()
        defects.met.connect(desktop.window.on_defect)
        instance.raise_wanted.connect(desktop.window.on_window_wanted)
        instance.folder_wanted.connect(desktop.window.open_folder)
        leaving.watch(desktop)
        try:
            return desktop.application.exec()
        finally:
            desktop.close()
            journal.end()
    finally:
        defects.remove()


def main(argv: Sequence[str] | None = None) -> int:
    """The entry of the desktop starter: the same as `codecoil` without a command."""
    from app.command_line import main as command_line

    return command_line(argv)


class Leaving:
    """Ctrl-C and SIGTERM end the program, also while the window is still being built.

    The handler only sets a number, since it may run in the middle of anything; a timer of the window reads it.
    """

    def __init__(self) -> None:
        self._number = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def watch(self, desktop: Desktop) -> None:
        """Check periodically, which also lets Python see the signal."""
        from PySide6.QtCore import QTimer

        def look() -> None:
            if self._number:
                desktop.application.exit(128 + self._number)

        poll = QTimer(desktop.window)
        poll.timeout.connect(look)
        poll.start(SIGNAL_POLL)

    def _note(self, number: int, _frame) -> None:
        self._number = number
