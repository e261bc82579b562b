"""Where a client is: the file that its text is from, and what stands before and after the part that it sent.

Editors send a window of some hundred lines without a path. Deep in a file it slides by a line with every Enter, and a
prompt that begins elsewhere each time is read anew each time. With the rest of the file in front of it, the prompt
begins where it began before (`engine.generate.prompt`), and the memory sees the whole file.
"""

from __future__ import annotations

from dataclasses import replace

from engine.generate.requests import CompletionRequest
from engine.generate.service.anchoring import surrounded
from engine.generate.service.file_finding import find_file, is_from, text_of
from engine.memory.snapshot import MemorySnapshot

MOST_TEXT = 1 << 18  # characters that are remembered of a file which is not in the repository


class Placing:
    """Of one client, from request to request."""

    def __init__(self) -> None:
        self._path = ""
        self._text = ""  # of the file, as the repository has it; else as the client has sent it
        self._memory: MemorySnapshot | None = None

    def placed(self, request: CompletionRequest, memory: MemorySnapshot | None) -> CompletionRequest:
        """The request with the file's path and whole text."""
        path = request.path
        if memory is not None:
            path = path or self._found(request, memory)
            if path and (path != self._path or memory is not self._memory):
                text = text_of(memory, path)
                if text or path != self._path:
                    self._text = text
        if path != self._path and not path:
            self._text = ""
        self._path, self._memory = path, memory
        prefix, suffix = surrounded(self._text, request.prefix, request.suffix) if self._text else (
            request.prefix, request.suffix
        )
        if not path or not self._text:
            self._text = (prefix + suffix)[-MOST_TEXT:]
        return replace(request, prefix=prefix, suffix=suffix, path=path)

    def _found(self, request: CompletionRequest, memory: MemorySnapshot) -> str:
        """The path of the last request if the text still is from there; else of the file with most of its lines."""
        if self._path and self._memory is memory and is_from(self._text, request.prefix, request.suffix):
            return self._path
        return find_file(memory, request.prefix, request.suffix)
