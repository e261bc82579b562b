"""Whether a window can be opened here: a screen, and a Qt for Python that works with this Python.

Without a screen Qt ends the process before anything can be said about it, so we look first.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from app.system_libraries import BASE, WAYLAND, X11, advice, missing_libraries, package_manager

WITHOUT = "Every command works without a window: `codecoil --help` lists them."
SETUP = Path(__file__).resolve().parent.parent / "packaging" / "dev.py"  # only in a checkout


def need_qt() -> None:
    """Name the shared library that Qt is missing, before anything else imports Qt and ends in a traceback."""
    try:
        with interrupted_afterwards():
            import PySide6.QtNetwork
            import PySide6.QtWidgets  # noqa: F401
    except ImportError as error:
        from engine.errors import ConfigError

        remedy = library_remedy() or "Reinstall PySide6-Essentials, or install the library named above."
        raise ConfigError(f"Qt, which draws the window, cannot be loaded: {error}.", remedy) from error


def need_display() -> None:
    """Raise, with what to do about it, where no window can be opened."""
    problem = display_problem()
    if problem:
        from engine.errors import ConfigError

        raise ConfigError(problem, "\n  ".join(filter(None, (library_remedy(), WITHOUT))))


def library_remedy() -> str:
    """How to install the libraries that Qt is missing here; "" where none is."""
    missing = [each for each in missing_libraries() if each.purpose in (BASE, X11, WAYLAND)]
    if not missing:
        return ""
    words = advice(missing, package_manager()).replace("\n", "\n  ")
    return f"{words}\n  Or run the set-up, which installs them:  python3 {SETUP} run" if SETUP.is_file() else words


@contextlib.contextmanager
def interrupted_afterwards() -> Iterator[None]:
    """Hold Ctrl-C back until the `with` ends: while Qt is loading it would look like a missing library."""
    pressed = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed.is_set() and before != signal.SIG_IGN:
            raise KeyboardInterrupt


def binding_problem() -> str:
    """Why the installed PySide6 cannot be used, or an empty string.

    Wheels built for immortal objects (Python 3.12 and later) return None without counting the reference: on Python 3.11
    every such call drops one too many, and the process aborts when none are left.  PySide6 6.12.0 is such a wheel.
    """
    if sys.version_info >= (3, 12):
        return ""
    import PySide6
    from PySide6.QtCore import QObject

    calls, something = 100, QObject()
    before = sys.getrefcount(None)
    for _ in range(calls):
        something.setObjectName("")
    if before - sys.getrefcount(None) < calls // 2:
        return ""
    return f"PySide6 {PySide6.__version__} does not work with Python {sys.version_info[0]}.{sys.version_info[1]}."


def display_problem() -> str:
    """Why no window can be opened, or an empty string.  Only Linux can be without a screen."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return ""
    if _wayland_socket():
        return ""
    if not os.environ.get("DISPLAY"):
        return "There is no display: neither DISPLAY nor WAYLAND_DISPLAY is set."
    return _x11_problem()


def _wayland_socket() -> bool:
    name, folder = os.environ.get("WAYLAND_DISPLAY"), os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(name) and Path(folder, name).exists()


def _x11_problem() -> str:
    need_qt()
    from PySide6.QtCore import QLibraryInfo

    plugin = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath), "platforms", "libqxcb.so")
    try:
        ctypes.CDLL(str(plugin))  # what Qt does next; here the missing library can still be named
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError as error:
        return f"No window can be opened on X11: {error}."
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    refused = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return f"The display {os.environ['DISPLAY']} does not respond." if refused else ""
