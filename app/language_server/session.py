"""One conversation with an editor, from `initialize` to `exit`: who is told what, and when.

Messages arrive in one thread and are dealt with at once; a completion is answered later, by whichever thread has it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from app import VERSION
from app.language_server import protocol
from app.language_server.asking import Cancel, Question, Suggestion
from app.language_server.documents import Document, Documents
from app.language_server.messages import Malformed
from app.language_server.positions import Encoding, Range
from app.language_server.protocol import ErrorCode, InlineRequest, RequestError
from app.language_server.workspace import Workspace

INCREMENTAL = 2  # TextDocumentSyncKind
STATUS = "codecoil/status"
STATUS_CHANGED = "codecoil/statusChanged"

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Waiting:
    """A request for a completion that is not answered yet."""

    id: int | str
    cancel: Cancel | None = None


class Session:
    """`handle` every message; the end is announced by `ended`."""

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        workspace: Workspace,
        ended: Callable[[int], None],
        parent_known: Callable[[int], None] = lambda process: None,
    ) -> None:
        """`ended` gets the exit code; `parent_known` the process without which there is no reason to go on."""
        self._send, self._workspace, self._ended, self._parent_known = send, workspace, ended, parent_known
        self._documents = Documents()
        self._encoding = Encoding.UTF16
        self._is_initialized = self._is_shut_down = self._wants_status = False
        self._lock = threading.Lock()
        self._waiting: dict[int | str, Waiting] = {}
        self._requests: dict[str, Callable[[dict[str, Any]], Any]] = {
            "initialize": self._initialize,
            "shutdown": self._shut_down,
            STATUS: self._status,
        }
        self._notifications: dict[str, Callable[[dict[str, Any]], None]] = {
            "textDocument/didOpen": self._did_open,
            "textDocument/didChange": self._did_change,
            "textDocument/didClose": self._did_close,
            "workspace/didChangeWorkspaceFolders": self._did_change_folders,
            "$/cancelRequest": self._cancel,
        }

    def handle(self, message: Any) -> None:
        """One message, or what arrived in place of one.  Whatever it is, the conversation goes on."""
        if isinstance(message, Malformed):
            self._refuse(None, RequestError(ErrorCode.PARSE_ERROR, message.why))
            return
        id = message.get("id") if isinstance(message, dict) else None
        id = id if isinstance(id, int | str) and not isinstance(id, bool) else None
        is_request = isinstance(message, dict) and "id" in message
        try:
            self._dispatch(message, id, is_request)
        except RequestError as error:
            if is_request or not isinstance(message, dict):
                self._refuse(id, error)
            else:
                log.warning("A notification was ignored: %s", error.message)
        except Exception as error:
            log.error("A message could not be handled", exc_info=error)
            if is_request:
                self._refuse(id, RequestError(ErrorCode.INTERNAL_ERROR, "This request could not be answered."))

    def status_changed(self) -> None:
        """From any thread: a client that wants to know is told."""
        if self._wants_status and not self._is_shut_down:
            status = self._workspace.status(None)
            if status is not None:
                self._send({"method": STATUS_CHANGED, "params": status.to_json()})

    def close(self) -> None:
        """Nobody waits any longer."""
        with self._lock:
            waiting, self._waiting = list(self._waiting.values()), {}
        for each in waiting:
            if each.cancel is not None:
                each.cancel()

    # ---- which message goes where

    def _dispatch(self, message: Any, id: int | str | None, is_request: bool) -> None:
        if not isinstance(message, dict):
            raise RequestError(ErrorCode.INVALID_REQUEST, "A message must be an object.")
        method, params = message.get("method"), message.get("params")
        if method is None and is_request and ("result" in message or "error" in message):
            return  # an answer: nothing was asked
        if not isinstance(method, str) or (is_request and id is None):
            raise RequestError(ErrorCode.INVALID_REQUEST, "A request needs a method and an id.")
        params = protocol.object_of(params or {}, "params")  # Lua's empty table arrives as a list
        if is_request:
            self._on_request(id, method, params)
        elif method == "exit":
            self._ended(0 if self._is_shut_down else 1)
        elif self._is_initialized and not self._is_shut_down and method in self._notifications:
            self._notifications[method](params)

    def _on_request(self, id: int | str, method: str, params: dict[str, Any]) -> None:
        if self._is_shut_down:
            raise RequestError(ErrorCode.INVALID_REQUEST, "The server was shut down.")
        if not self._is_initialized and method != "initialize":
            raise RequestError(ErrorCode.NOT_INITIALIZED, "The first request must be initialize.")
        if method == "textDocument/inlineCompletion":
            self._complete(id, protocol.inline_request_of(params))
        elif method in self._requests:
            self._send({"id": id, "result": self._requests[method](params)})
        else:
            raise RequestError(ErrorCode.METHOD_NOT_FOUND, f"{method[:80]} is not supported.")

    def _refuse(self, id: int | str | None, error: RequestError) -> None:
        self._send({"id": id, "error": {"code": int(error.code), "message": error.message}})

    # ---- beginning and end

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        if self._is_initialized:
            raise RequestError(ErrorCode.INVALID_REQUEST, "initialize was sent twice.")
        capabilities = params.get("capabilities")
        self._encoding = protocol.encoding_of(capabilities if isinstance(capabilities, dict) else {})
        self._workspace.change_folders(protocol.folders_of(params))
        options = params.get("initializationOptions")
        self._wants_status = isinstance(options, dict) and options.get("statusChanged") is True
        process = params.get("processId")
        if isinstance(process, int) and not isinstance(process, bool) and process > 0:
            self._parent_known(process)
        self._is_initialized = True
        return {
            "capabilities": {
                "positionEncoding": self._encoding.value,
                "textDocumentSync": {"openClose": True, "change": INCREMENTAL},
                "inlineCompletionProvider": {},
                "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
                "experimental": {"codecoilStatus": True},
            },
            "serverInfo": {"name": "codecoil", "version": VERSION},
        }

    def _shut_down(self, _params: dict[str, Any]) -> None:
        self._is_shut_down = True
        with self._lock:
            waiting, self._waiting = list(self._waiting.values()), {}
        for each in waiting:
            self._let_go(each, RequestError(ErrorCode.REQUEST_CANCELLED, "The server was shut down."))

    # ---- documents

    def _did_open(self, params: dict[str, Any]) -> None:
        uri = protocol.uri_of(params)
        content = params["textDocument"]
        path = protocol.path_of(uri)
        text = protocol.text_of(content.get("text"), "text")
        self._documents.open(uri, Document(path or protocol.name_in(uri), text))
        self._workspace.prepare(path)

    def _did_change(self, params: dict[str, Any]) -> None:
        self._documents.change(protocol.uri_of(params), protocol.changes_of(params), self._encoding)

    def _did_close(self, params: dict[str, Any]) -> None:
        self._documents.close(protocol.uri_of(params))

    def _did_change_folders(self, params: dict[str, Any]) -> None:
        event = protocol.object_of(params.get("event"), "event")
        added = protocol.folder_paths(protocol.list_of(event.get("added"), "added"))
        removed = protocol.folder_paths(protocol.list_of(event.get("removed"), "removed"))
        self._workspace.change_folders(added, removed)

    # ---- completions

    def _complete(self, id: int | str, request: InlineRequest) -> None:
        document = self._documents.get(request.uri)
        if document is None:
            raise RequestError(ErrorCode.INVALID_PARAMS, "This document is not open.")
        selected = request.selected
        place = selected.range if selected is not None else Range(request.position, request.position)
        typed = selected.text if selected is not None else ""
        prefix, suffix = document.around(place, self._encoding)
        edited = self._documents.edited(document)
        waiting = Waiting(id)
        with self._lock:
            earlier, self._waiting = list(self._waiting.values()), {id: waiting}
        for each in earlier:
            self._let_go(each)
        # With a selection the editor takes an item for that range and no other.
        question = Question(prefix + typed, suffix, document.path, edited, request.is_invoked, selected is None)
        waiting.cancel = self._workspace.ask(question, lambda heard: self._answer(waiting, place, typed, heard))

    def _answer(self, waiting: Waiting, place: Range, typed: str, heard: Suggestion) -> None:
        """From any thread.  What is inserted replaces what the editor's own list would have replaced, or brackets that
        the editor has closed."""
        with self._lock:
            if self._waiting.get(waiting.id) is not waiting:
                return  # cancelled, or superseded
            del self._waiting[waiting.id]
        end = replace(place.end, character=place.end.character + heard.replaces)  # brackets: one unit each
        replaced = Range(place.start, end)
        items = [{"insertText": typed + heard.text, "range": replaced.to_json()}] if heard.text else []
        self._send({"id": waiting.id, "result": {"items": items}})

    def _cancel(self, params: dict[str, Any]) -> None:
        id = params.get("id")
        with self._lock:
            waiting = self._waiting.pop(id, None) if isinstance(id, int | str) else None
        if waiting is not None:
            self._let_go(waiting, RequestError(ErrorCode.REQUEST_CANCELLED, "Cancelled."))

    def _let_go(self, waiting: Waiting, error: RequestError | None = None) -> None:
        """End a request that is no longer in the list: with an error, or, superseded, with nothing to insert."""
        if waiting.cancel is not None:
            waiting.cancel()
        if error is not None:
            self._refuse(waiting.id, error)
        else:
            self._send({"id": waiting.id, "result": {"items": []}})

    def _status(self, params: dict[str, Any]) -> dict[str, Any] | None:
        path = protocol.path_of(protocol.uri_of(params)) if params.get("textDocument") is not None else None
        status = self._workspace.status(path)
        return status.to_json() if status is not None else None
