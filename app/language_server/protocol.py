"""The part of LSP 3.18 that is spoken here: parameters as values, strictly read, and errors by their numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from app.language_server.documents import Change
from app.language_server.positions import Encoding, Position, Range, plain

MOST_NUMBER = 2**31 - 1  # LSP's largest uinteger


class ErrorCode(IntEnum):
    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    NOT_INITIALIZED = -32002
    REQUEST_CANCELLED = -32800


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True)
class Selected:
    """What is selected in the editor's own completion list: it would put `text` in place of `range`."""

    range: Range
    text: str


@dataclass(frozen=True)
class InlineRequest:
    """`is_invoked`: the user has asked for it by a key, and waits."""

    uri: str
    position: Position
    is_invoked: bool = False
    selected: Selected | None = None


def object_of(value: Any, name: str) -> dict[str, Any]:
    return _of_type(value, dict, name, "an object")


def text_of(value: Any, name: str) -> str:
    return plain(_of_type(value, str, name, "a text"))


def number_of(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_NUMBER:
        raise RequestError(ErrorCode.INVALID_PARAMS, f"{name} must be a whole number that is not negative.")
    return value


def list_of(value: Any, name: str) -> list[Any]:
    return _of_type(value, list, name, "a list")


def position_of(value: Any, name: str = "position") -> Position:
    content = object_of(value, name)
    return Position(
        number_of(content.get("line"), f"{name}.line"), number_of(content.get("character"), f"{name}.character")
    )


def range_of(value: Any, name: str = "range") -> Range:
    content = object_of(value, name)
    return Range(position_of(content.get("start"), f"{name}.start"), position_of(content.get("end"), f"{name}.end"))


def uri_of(params: dict[str, Any]) -> str:
    document = object_of(params.get("textDocument"), "textDocument")
    return text_of(document.get("uri"), "textDocument.uri")


def changes_of(params: dict[str, Any]) -> tuple[Change, ...]:
    """All of them, or none: a wrong one must not leave half of a change behind."""
    changes = []
    for value in list_of(params.get("contentChanges"), "contentChanges"):
        content = object_of(value, "a change")
        place = range_of(content["range"]) if content.get("range") is not None else None
        changes.append(Change(text_of(content.get("text"), "text"), place))
    return tuple(changes)


def inline_request_of(params: dict[str, Any]) -> InlineRequest:
    context = params.get("context")
    context = object_of(context, "context") if context is not None else {}
    info = context.get("selectedCompletionInfo")
    selected = None
    if info is not None:
        content = object_of(info, "selectedCompletionInfo")
        selected = Selected(range_of(content.get("range")), text_of(content.get("text"), "text"))
    return InlineRequest(uri_of(params), position_of(params.get("position")), context.get("triggerKind") == 1, selected)


def encoding_of(capabilities: dict[str, Any]) -> Encoding:
    """The first that the client prefers and we know; UTF-16 where it says nothing."""
    general = capabilities.get("general")
    offered = general.get("positionEncodings") if isinstance(general, dict) else None
    for name in offered if isinstance(offered, list) else ():
        if name in tuple(Encoding):
            return Encoding(name)
    return Encoding.UTF16


def folders_of(params: dict[str, Any]) -> list[Path]:
    """The workspace folders of `initialize`, or what older clients send instead."""
    folders = params.get("workspaceFolders")
    if isinstance(folders, list) and folders:
        return folder_paths(folders)
    root = params.get("rootUri")
    if isinstance(root, str):
        return [path for path in [path_of(root)] if path is not None]
    root = params.get("rootPath")
    return [Path(root)] if isinstance(root, str) and os.path.isabs(root) else []


def folder_paths(folders: list[Any]) -> list[Path]:
    """Of workspace folders; those that are not on this machine's disk are left out."""
    uris = [text_of(object_of(folder, "a workspace folder").get("uri"), "uri") for folder in folders]
    return [path for uri in uris if (path := path_of(uri)) is not None]


def path_of(uri: str) -> Path | None:
    """The file that an address means; None where it is none of this machine (untitled:, ssh:, …)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or (parts.netloc and os.name != "nt" and parts.netloc != "localhost"):
        return None
    text = unquote(parts.path, errors="replace")
    if os.name == "nt":
        text = f"//{parts.netloc}{text}" if parts.netloc else text.lstrip("/")
    return Path(os.path.normpath(text)) if text and "\0" not in text else None


def name_in(uri: str) -> Path:
    """A name for a text that is no file: the last part of its address, which may say what language it is in."""
    last = unquote(uri, errors="replace").replace("\0", "").rstrip("/").rpartition("/")[2]
    return Path(last.rpartition(":")[2] or "untitled")


def _of_type(value: Any, kind: type, name: str, words: str) -> Any:
    if not isinstance(value, kind):
        raise RequestError(ErrorCode.INVALID_PARAMS, f"{name} must be {words}.")
    return value
