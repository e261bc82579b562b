"""Unhandled errors in any thread: written to the log, and shown as a card instead of being lost."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from types import TracebackType

from PySide6.QtCore import QObject, QtMsgType, Signal, qInstallMessageHandler

from app.values.failures import failure_of

MOST_ALIKE = 5  # an error in painting a widget would repeat with every repaint

log = logging.getLogger(__name__)


class Defects(QObject):
    """`install` once the log is open; `met` arrives in the window's thread, whichever thread the error was in."""

    met = Signal(object)  # Failure

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._counts: Counter[tuple] = Counter()
        self._before: tuple | None = None

    def install(self) -> None:
        """Replace Python's hooks and Qt's message handler."""
        self._before = (sys.excepthook, threading.excepthook, qInstallMessageHandler(_on_qt_message))
        sys.excepthook = self.on_exception
        threading.excepthook = self.on_thread_exception

    def remove(self) -> None:
        """Restore them."""
        if self._before is not None:
            sys.excepthook, threading.excepthook, messages = self._before
            qInstallMessageHandler(messages)
            self._before = None

    def on_exception(self, kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
        """Of the window's thread, or of a slot in any other."""
        if not issubclass(kind, Exception):  # Ctrl-C and the like
            sys.__excepthook__(kind, error, frames)
            return
        where = frames
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        self._counts[alike := (kind, where and (where.tb_frame.f_code, where.tb_lineno))] += 1
        if self._counts[alike] > MOST_ALIKE:
            return
        log.error("Unhandled error", exc_info=(kind, error, frames))
        if sys.__stderr__ is not None:
            sys.__excepthook__(kind, error, frames)
        self.met.emit(failure_of(error))

    def on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self.on_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)


def _on_qt_message(kind: QtMsgType, _context, words: str) -> None:
    """Qt's own warnings; also to the console, if there is one."""
    if kind in (QtMsgType.QtWarningMsg, QtMsgType.QtCriticalMsg, QtMsgType.QtFatalMsg):
        logging.getLogger("app.qt").warning("%s", words)
        if sys.__stderr__ is not None:
            print(words, file=sys.__stderr__)
