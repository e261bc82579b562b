"""The server on two pipes: what is read goes to the session until the client leaves, and what it says goes back."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from app.language_server.asking import Source
from app.language_server.messages import MessageReader
from app.language_server.outbox import Outbox
from app.language_server.parent import ParentWatch
from app.language_server.session import Session
from app.language_server.workspace import Workspace

FAREWELL = 10.0  # seconds for a model that is being loaded, or a folder that is being read, to end
LEFT = 1  # exit code where the client left without saying so

OpenSource = Callable[..., Source]

log = logging.getLogger(__name__)


class LanguageServer:
    """Serves one client from `run` to its end."""

    def __init__(self, read: Callable[[int], bytes], write: Callable[[bytes], None], open_source: OpenSource) -> None:
        """`open_source` gets the folder, a function to call when the status changes, and one to call when the source
        can no longer be asked."""
        self._open_source = open_source
        self._codes: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._reader = MessageReader(read)
        self._outbox = Outbox(write, lambda: self.end(LEFT))
        self._parent = ParentWatch(lambda: self.end(LEFT))
        self._workspace = Workspace(self._opened)
        self._session = Session(self._outbox.send, self._workspace, self.end, self._parent.start)

    def _opened(self, folder: Path | None) -> Source:
        return self._open_source(folder, self._session.status_changed, self._workspace.drop)

    def end(self, code: int) -> None:
        """From any thread: `run` returns."""
        self._codes.put(code)

    def run(self) -> int:
        """The exit code, when everything has ended.  The thread that reads is left waiting if nothing more comes."""
        threading.Thread(target=self._read, name="inbox", daemon=True).start()
        try:
            return self._codes.get()
        finally:
            self._session.close()
            self._parent.stop()
            self._workspace.close(FAREWELL)
            self._outbox.close(FAREWELL)

    def _read(self) -> None:
        try:
            while (message := self._reader.next()) is not None:
                self._session.handle(message)
        except OSError as error:
            log.warning("The client can no longer be read from", exc_info=error)
        self.end(LEFT)


@contextlib.contextmanager
def pipes() -> Iterator[tuple[Callable[[int], bytes], Callable[[bytes], None]]]:
    """Functions to read from standard input and to write to standard output; whatever else prints goes to standard
    error meanwhile, also from below Python."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    printed, sys.stdout = sys.stdout, sys.stderr

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]

    try:
        yield lambda size: os.read(source, size), write
    finally:
        sys.stdout = printed
        os.dup2(target, 1)
        os.close(target)
