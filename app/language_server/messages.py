"""Messages as they travel: a header with the length, and JSON.

A client that miscounts must not end the server: what is no message is reported, and reading goes on at the next header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MOST_HEADER = 8 << 10  # bytes
MOST_BODY = 64 << 20  # bytes: a file of 20 million characters, each of them escaped
BLOCK = 64 << 10
NAME = b"content-length:"
END_OF_HEADER = b"\r\n\r\n"

# Raw line breaks cannot be inside the texts of a JSON message, so this is a header wherever it is found.
_HEADER = re.compile(rb"Content-Length: *\d+\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: *(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True)
class Malformed:
    """Bytes that are no message, and why."""

    why: str


class MessageReader:
    """Messages from a stream of bytes, in whatever pieces they arrive."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        """`read` returns at most as many bytes as it is given, as soon as there are some; none at the end."""
        self._read, self._buffer = read, bytearray()
        self._is_lost = False  # between two messages: the next header is yet to be found

    def next(self) -> Any | Malformed | None:
        """The content of the next message; None at the end of the stream."""
        if self._is_lost and not self._skip_to_header():
            return None
        self._is_lost = False
        header_end = self._find_header_end()
        if header_end is None:
            return None
        length = _length_of(bytes(self._buffer[:header_end])) if header_end >= 0 else None
        if length is None or length > MOST_BODY:
            self._is_lost = True
            return Malformed("There is no usable Content-Length.")
        begin = header_end + len(END_OF_HEADER)
        while len(self._buffer) < begin + length:
            if not self._fill():
                return None
        body = bytes(self._buffer[begin : begin + length])
        try:
            content = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            # A length that is too large took the beginning of the next message with it: look for that in the body.
            del self._buffer[: begin + _header_in(body)]
            return Malformed("The body is not JSON in UTF-8.")
        del self._buffer[: begin + length]
        return content

    def _fill(self) -> bool:
        data = self._read(BLOCK)
        self._buffer += data
        return bool(data)

    def _find_header_end(self) -> int | None:
        """Where the header ends; -1 where it does not within its limit; None at the end of the stream."""
        while (found := self._buffer.find(END_OF_HEADER)) < 0 or found > MOST_HEADER:
            if len(self._buffer) > MOST_HEADER:
                return -1
            if not self._fill():
                return None
        return found

    def _skip_to_header(self) -> bool:
        """Drop what comes before the next header, and the one that was no good; False at the end of the stream."""
        begin = 1
        while (found := _HEADER.search(self._buffer, begin)) is None:
            del self._buffer[: max(0, len(self._buffer) - MOST_HEADER)]
            begin = min(begin, len(self._buffer))
            if not self._fill():
                return False
        del self._buffer[: found.start()]
        return True


def _header_in(body: bytes) -> int:
    """Where a header begins in a body, even if only its first letters do; the length of the body if nowhere."""
    text = body.lower()
    ends = (len(text) - count for count in range(len(NAME) - 1, 0, -1) if text.endswith(NAME[:count]))
    return place if (place := text.find(NAME)) >= 0 else next(ends, len(text))


def _length_of(header: bytes) -> int | None:
    """The length that a header announces; None unless every line is a field and the length is one of them, once."""
    lines = header.split(b"\r\n")
    if not all(re.fullmatch(rb"[A-Za-z-]+:[^\r\n]*", line) for line in lines):
        return None
    lengths = [found for line in lines if (found := _LENGTH.fullmatch(line.strip()))]
    return int(lengths[0][1]) if len(lengths) == 1 else None


def to_bytes(content: Any) -> bytes:
    """A message, ready to be written."""
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
