"""Loading ahead: what the pages import, in a thread beside the window, and the pages themselves while nobody works.

A first import of pyqtgraph, of Pygments' rules or of the checkpoint formats takes from a third of a second to a whole
one; that is paid by a plain Python thread, where the window only shares the interpreter with it.  Widgets can be made
in the window's own thread only and take up to a tenth of a second a page; so one is made ahead only when nothing is
read, trained or checked and no key was pressed for a while.  Whoever asks for a page earlier gets it at once.
"""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.state.application import Application

LOOK_EVERY = 600  # milliseconds between two looks whether there is time for one more page
QUIET = 1.5  # seconds without a key or the mouse

log = logging.getLogger(__name__)


class Preloading(QObject):
    """`begin` once the engine is there; asks for one page after the other by `page_due`; `end` before leaving."""

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
        """Every page is there."""
        self._timer.stop()
        log.info("Every page is loaded")  # packaging/checks.py waits for this line

    def end(self) -> None:
        """Wait for the import that is going on; the others are left."""
        self._timer.stop()
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def reason_to_wait(self) -> str:
        """Why nothing is loaded now, in words; "" if it may be."""
        application = self._application
        if application.repository.phase == "reading":
            return "A folder is being read."
        if application.training.active:
            return "A run is in progress."
        if application.engine.phase == "checking":
            return "A device is being checked."
        return ""

    @Slot()
    def on_look(self) -> None:
        """Import first; then a page a look."""
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
        """In the thread.  What cannot be loaded is told where it is really needed, in words."""
        for name in self._modules:
            if self._ended.is_set():
                return
            try:
                load(name)
            except Exception:
                log.warning("%s could not be preloaded", name, exc_info=True)
        self._loaded.emit()


def when_loaded(module: str, owner: QObject, call: Callable[[], None]) -> QTimer:
    """Call once a module was loaded by the thread above: what stands on it can be made then without holding anybody up.

    Whoever needs it earlier loads it there and then; this never does.
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
