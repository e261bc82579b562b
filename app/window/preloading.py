"""Preloading: what the pages import, in a thread beside the window, and the pages themselves while the user is idle.

A first import of pyqtgraph, of Pygments' rules or of the checkpoint formats takes from a third of a second to a whole
one; a plain Python thread does that, and the window only shares the interpreter with it.  Widgets can be made in the
window's own thread only and take up to a tenth of a second a page; so one is made ahead only when nothing is being
read, trained or checked and no key was pressed for a while.  A page that is needed earlier is made at once.
"""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.state.application import Application

LOOK_EVERY = 600  # milliseconds between two checks whether there is time for one more page
QUIET = 1.5  # seconds without keyboard or pointer input

log = logging.getLogger(__name__)


class Preloading(QObject):
    """`begin` once the engine is loaded; `page_due` asks for one page after the other; `end` before quitting."""

    page_due = Signal()  # there is time to make one more page

    _loaded = Signal()  # from the thread

    def __init__(self, application: Application, modules: Sequence[str], parent: QObject | None = None) -> None:
        """`modules`: names to import; "module:Class" also makes one of the class, which fills its tables."""
        super().__init__(parent)
        self._application, self._modules = application, tuple(modules)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_loaded = False
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_EVERY)
        self._timer.timeout.connect(self.on_look)
        self._loaded.connect(self.on_loaded)

    @property
    def active(self) -> bool:
        """Whether pages may still be asked for."""
        return self._timer.isActive()

    def begin(self) -> None:
        if not self._ended.is_set():
            self._timer.start()

    def rest(self) -> None:
        """Every page has been made."""
        self._timer.stop()
        log.info("Every page is loaded")  # packaging/checks.py waits for this line

    def end(self) -> None:
        """Wait for the present import; skip the others."""
        self._timer.stop()
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def reason_to_wait(self) -> str:
        """Why nothing is preloaded now; "" if it may be."""
        application = self._application
        if application.repository.phase == "reading":
            return "A folder is being read."
        if application.training.active:
            return "A run is in progress."
        if application.engine.phase in ("checking", "benchmarking"):
            return "A device is being checked."
        return ""

    @Slot()
    def on_look(self) -> None:
        """Import first; then one page at each check."""
        if self.reason_to_wait():
            return
        if self._thread is None and not self._is_loaded:
            self._thread = threading.Thread(target=self._load, name="imports", daemon=True)
            self._thread.start()
        elif self._is_loaded and self._application.idle.seconds_untouched() >= QUIET:
            self.page_due.emit()
            if self._timer.isActive():
                self._timer.start()  # counted from here: a busy window gets its time between two pages

    @Slot()
    def on_loaded(self) -> None:
        self._is_loaded = True
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _load(self) -> None:
        """In the thread.  What cannot be imported is reported when it is really needed."""
        for name in self._modules:
            if self._ended.is_set():
                return
            try:
                load(name)
            except Exception:
                log.warning("%s could not be preloaded", name, exc_info=True)
        self._loaded.emit()


def when_loaded(module: str, owner: QObject, call: Callable[[], None]) -> QTimer:
    """Call once the thread above has imported a module: what depends on it can then be made without a delay.

    Never imports it itself.
    """
    timer = QTimer(owner)
    timer.setInterval(LOOK_EVERY)

    def look() -> None:
        spec = getattr(sys.modules.get(module), "__spec__", None)
        if spec is not None and not getattr(spec, "_initializing", False):  # and not in the middle of it
            timer.stop()
            call()

    timer.timeout.connect(look)
    timer.start()
    return timer


def load(name: str) -> None:
    """Import "module", or "module:Class" and make one."""
    module, _, thing = name.partition(":")
    found: object = importlib.import_module(module)
    if thing:
        make: Callable[[], object] = getattr(found, thing)
        make()
