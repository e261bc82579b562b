"""Where a client is: the file that its text is from, and what stands before and after the part that it sent.

Editors send a window of some hundred lines without a path. Deep in a file it slides by a line with every Enter, and a
prompt that begins elsewhere each time is read anew each time. With the rest of the file in front of it, the prompt
begins where it began before (`engine.generate.prompt`), and the memory sees the whole file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from engine.generate.context import ContextChunk
from engine.generate.requests import CompletionRequest
from engine.generate.service.anchoring import surrounded
from engine.generate.service.file_finding import find_file, is_from, text_of
from engine.memory.snapshot import MemorySnapshot

MOST_SENT = 1 << 20  # characters that are remembered of what a client has sent
MOST_KNOWN = 0.5  # share of a chunk's lines that may be in the open text: above it, the chunk says nothing new


class Placing:
    """Of one client, from request to request."""

    def __init__(self) -> None:
        self._path = ""
        self._memory: MemorySnapshot | None = None
        self._text = ""  # of the file, as the repository has it
        self._sent = ""  # of the last request, with what was known around it

    def placed(self, request: CompletionRequest, memory: MemorySnapshot | None) -> CompletionRequest:
        """The request with the file's path and, where they are known, the lines around the window."""
        path = known_path(memory, request.path) if request.path else self._recognised(request, memory)
        if path != self._path or memory is not self._memory:
            self._text = text_of(memory, path) if path and memory is not None else ""
        self._path, self._memory = path, memory
        # A file that is not in the repository is known as far as its client has sent it.
        prefix, suffix = surrounded(self._text or self._sent, request.prefix, request.suffix)
        self._sent = prefix + suffix if len(prefix) + len(suffix) <= MOST_SENT else ""
        return replace(request, prefix=prefix, suffix=suffix, path=path)

    def _recognised(self, request: CompletionRequest, memory: MemorySnapshot | None) -> str:
        """The file of the last request if the text is still from there, else the one that has most of its lines."""
        if memory is None:
            return ""
        if self._path and self._text and is_from(self._text, request.prefix, request.suffix):
            return self._path
        return find_file(memory, request.prefix, request.suffix)


def known_path(memory: MemorySnapshot | None, path: str) -> str:
    """A path as the repository has it: clients send it from the disk's root, or from another folder."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    for begin in range(len(parts)) if memory is not None else ():
        shorter = "/".join(parts[begin:])
        if any(segment.of_path(shorter) for segment in memory.segments):
            return shorter
    return parts[-1] if parts and path.startswith(("/", "\\")) else path


def new_chunks(chunks: tuple[ContextChunk, ...], prefix: str, suffix: str) -> tuple[ContextChunk, ...]:
    """Those that are not mostly in the open text already: what was just deleted from it would come back."""
    here = {line.strip() for line in (*prefix.split("\n"), *suffix.split("\n"))}
    kept = []
    for chunk in chunks:
        lines = [line.strip() for line in chunk.text.split("\n") if line.strip()]
        if lines and sum(line in here for line in lines) <= MOST_KNOWN * len(lines):
            kept.append(chunk)
    return tuple(kept)
