"""Whether a window can be opened here: a screen, and a Qt for Python that works with this Python.

Qt ends the process when there is no screen, with no chance to say what to do; so we look first.
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

PACKAGES = "libegl1 libgl1 libx11-6 libxkbcommon0 libdbus-1-3 libfontconfig1 libfreetype6 libglib2.0-0 libgssapi-krb5-2"


def need_qt() -> None:
    """Say in words which shared library Qt misses, before anything else imports Qt and ends in a traceback."""
    try:
        with interrupted_afterwards():
            import PySide6.QtNetwork
            import PySide6.QtWidgets  # noqa: F401
    except ImportError as error:
        from engine.errors import ConfigError

        raise ConfigError(
            f"Qt, which draws the window, cannot be loaded: {error}.",
            "Install that library with your system's package manager. On Debian and Ubuntu, all that Qt needs:  "
            f"sudo apt-get install -y --no-install-recommends {PACKAGES}",
        ) from error


@contextlib.contextmanager
def interrupted_afterwards() -> Iterator[None]:
    """Ctrl-C waits for the end of the `with`: inside Qt's loading it would look like a library that is missing."""
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

    Wheels built for objects that never die (Python 3.12 and later) give None back without counting it: on Python 3.11
    every call takes one reference too many, and the process ends when none are left.  PySide6 6.12.0 is such a wheel.
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
    """Why no window can be opened, or an empty string.  Only X11 and Wayland can be missing."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return ""
    if _wayland_socket():
        return ""
    if not os.environ.get("DISPLAY"):
        return "There is no screen: neither DISPLAY nor WAYLAND_DISPLAY is set."
    return _x11_problem()


def _wayland_socket() -> bool:
    name, folder = os.environ.get("WAYLAND_DISPLAY"), os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(name) and Path(folder, name).exists()


def _x11_problem() -> str:
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
    return f"The screen {os.environ['DISPLAY']} does not answer." if refused else ""
