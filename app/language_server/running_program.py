"""The program that runs already, window or `codecoil serve`: asked through its loopback server.

It has the model loaded and the memory open; a second copy of both would only cost memory.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.language_server.asking import Cancel, Heard, Question, Source, Suggestion, relative, windows
from app.server.access import Access, read_access
from app.server.routes import STATUS_PATH
from app.server.status import FAILED, Status

CONNECT_WITHIN = 2.0  # seconds for a server on this machine to answer what it always knows
ANSWER_WITHIN = 30.0  # seconds; the server's own deadline is far below
ROUTE = "/v1/completions"

log = logging.getLogger(__name__)


class NotThere(Exception):
    """The program does not answer, or not as it should."""


class RunningProgram:
    """Completes for a folder that the program has open."""

    def __init__(self, access: Access, root: Path, lost: Callable[[Source], None]) -> None:
        """`root`: the program's own folder. `lost` is called when it no longer answers for this folder."""
        self._access, self._root, self._lost = access, root, lost
        self._lock = threading.Lock()
        self._open: dict[threading.Thread, http.client.HTTPConnection] = {}

    def ask(self, question: Question, heard: Heard) -> Cancel:
        """In a thread of its own; cancelling closes the connection, by which the server knows."""
        connection = _connection(self._access, ANSWER_WITHIN)
        cancelled = threading.Event()
        thread = threading.Thread(
            target=self._ask, args=(connection, question, heard, cancelled), name="asking the program", daemon=True
        )
        with self._lock:
            self._open[thread] = connection
        thread.start()

        def cancel() -> None:
            cancelled.set()
            _cut(connection)

        return cancel

    def status(self) -> Status:
        try:
            return status_of(self._access).shared()
        except NotThere:
            return Status(FAILED, str(self._root), problem="The program no longer answers.")

    def end(self) -> None:
        with self._lock:
            connections = list(self._open.values())
        for connection in connections:
            _cut(connection)

    def join(self, seconds: float) -> None:
        with self._lock:
            threads = list(self._open)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(seconds)

    def _ask(self, connection, question: Question, heard: Heard, cancelled: threading.Event) -> None:
        suggestion, is_lost = Suggestion(), False
        try:
            _connect(connection)
            if cancelled.is_set():  # from here on, cancelling finds the socket
                raise NotThere("nobody waits")
            suggestion = _suggestion_in(_exchanged(connection, self._access, "POST", ROUTE, self._body(question)))
        except NotThere as error:
            is_lost = not cancelled.is_set()
            if is_lost:
                log.warning("The running program does not answer", exc_info=error)
        finally:
            connection.close()
            with self._lock:
                del self._open[threading.current_thread()]
        if is_lost:
            self._lost(self)
        heard(suggestion)

    def _body(self, question: Question) -> dict[str, Any]:
        prefix, suffix = windows(question.prefix, question.suffix)
        edited = [{"filepath": relative(each.path, self._root), "body": each.text} for each in question.edited]
        segments = {
            "prefix": prefix,
            "suffix": suffix,
            "filepath": relative(question.path, self._root),
            "relevant_snippets_from_changed_files": edited,
        }
        own = {"whole_file": True, "can_replace": question.can_replace, "folder": str(self._root)}
        return {"segments": segments, **own}


def find_program(data_folder: Path, folder: Path | None) -> tuple[Access, Path] | None:
    """The program that has `folder` open, or one above it, and its own folder; None where there is none."""
    access = read_access(data_folder)
    if folder is None or access is None or not access.port:
        return None
    try:
        status = status_of(access)
    except NotThere:
        return None  # the file is of a program that was killed
    own = Path(status.folder) if status.folder else None
    return (access, own) if own is not None and folder.is_relative_to(own) else None


def status_of(access: Access) -> Status:
    connection = _connection(access, CONNECT_WITHIN)
    try:
        return Status.from_json(_exchanged(connection, access, "GET", STATUS_PATH))
    except ValueError as error:
        raise NotThere(str(error)) from error


def _connection(access: Access, seconds: float) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", access.port, timeout=seconds)


def _connect(connection: http.client.HTTPConnection) -> None:
    try:
        connection.connect()
    except OSError as error:
        raise NotThere(str(error)) from error


def _exchanged(
    connection: http.client.HTTPConnection, access: Access, method: str, route: str, body: dict | None = None
) -> Any:
    """The JSON of an answer.  Raises `NotThere` where there is none."""
    headers = {"Authorization": f"Bearer {access.token}", "User-Agent": f"Language server {os.getpid()}"}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode("ascii")
    try:
        connection.request(method, route, data, headers)
        response = connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise NotThere(f"it answered with {response.status}")
        return json.loads(content)
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:  # the last: closed meanwhile
        raise NotThere(str(error)) from error
    finally:
        connection.close()


def _suggestion_in(answer: Any) -> Suggestion:
    try:
        text, replaces = answer["choices"][0]["text"], answer.get("codecoil", {}).get("replaces", 0)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise NotThere("its answer has no text") from error
    if not isinstance(text, str) or not isinstance(replaces, int):
        raise NotThere("its answer has no text")
    return Suggestion(text, replaces)


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a connection that another thread waits at."""
    own = connection.sock
    if own is not None:
        with contextlib.suppress(OSError):
            own.shutdown(socket.SHUT_RDWR)
