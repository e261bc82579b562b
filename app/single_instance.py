"""One window for each data folder: a second start raises the first one's window and ends.

The first start listens on a local socket whose name follows from the user and the data folder; what is sent is one
word, and the folder that the second start was to open. A socket that a killed program left behind does not answer, and
is removed.
"""

from __future__ import annotations

import getpass
import hashlib
import os
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

PATIENCE = 1000  # milliseconds
RAISE = b"raise\n"
OPEN = b"open "  # and a path
MOST_BYTES = 64 << 10  # of a message


class SingleInstance(QObject):
    """`claim` once at the start; `raise_wanted`: the program was started again, `folder_wanted`: on this folder."""

    raise_wanted = Signal()
    folder_wanted = Signal(str)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.name = server_name(folder)
        self._server: QLocalServer | None = None

    def claim(self, root: Path | None = None) -> bool:
        """True if this is the first; False if another one runs, which has then been asked to show its window.

        `root`: a folder of source code that the other one is to open.
        """
        if self._asked_other(root):
            return False
        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        if not server.listen(self.name):
            QLocalServer.removeServer(self.name)  # no answer: left over from a killed program
            if not server.listen(self.name):
                return True  # without the socket the window cannot be raised, but the program works
        server.newConnection.connect(self.on_connected)
        self._server = server
        return True

    def release(self) -> None:
        """Let the next start be the first."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @Slot()
    def on_connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.setReadBufferSize(MOST_BYTES)
            socket.disconnected.connect(self.on_disconnected)
            self.raise_wanted.emit()

    @Slot()
    def on_disconnected(self) -> None:
        """The message is complete."""
        socket = self.sender()
        message = socket.readAll().data()
        socket.deleteLater()
        if message.startswith(OPEN):
            self.folder_wanted.emit(os.fsdecode(message[len(OPEN) :]))

    def _asked_other(self, root: Path | None) -> bool:
        socket = QLocalSocket()
        socket.connectToServer(self.name)
        if not socket.waitForConnected(PATIENCE):
            return False
        socket.write(RAISE if root is None else OPEN + os.fsencode(root))
        socket.waitForBytesWritten(PATIENCE)
        socket.disconnectFromServer()
        return True


def server_name(folder: Path) -> str:
    """The same for the same user and data folder, short enough for every system."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # no such user in this container
        user = str(os.getuid()) if hasattr(os, "getuid") else ""
    key = f"{user}\0{os.path.realpath(folder)}".encode("utf-8", "surrogateescape")
    return f"codecoil-{hashlib.sha256(key).hexdigest()[:24]}"
