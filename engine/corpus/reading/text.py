"""Decodes a file's bytes to text, or says why it is not text.

UTF-8, UTF-8 and UTF-16 with a byte order mark, and Latin-1 as a last resort. Line ends stay as they are; a byte order
mark does not belong to the text.
"""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass

from engine.corpus.reading.verdict import Reason

# What no text holds: control characters other than tab, line feed, vertical tab, form feed, carriage return, escape.
CONTROL = bytes(c for c in range(32) if c not in b"\t\n\v\f\r\x1b") + b"\x7f"
CONTROL_SHARE = 0.01
# Control characters in Latin-1, not used in text; a few are allowed, since Windows code pages have letters there.
HIGH_CONTROL = bytes(range(0x80, 0xA0))
HIGH_CONTROL_SHARE = 0.1
LATIN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text and the encoding it was written in."""

    text: str
    encoding: str


def decode(data: bytes) -> Decoded | Reason:
    """The text, or why there is none: EMPTY, BINARY (zero bytes), NOT_TEXT (control characters, no known encoding)."""
    if not data:
        return Reason.EMPTY
    if data.startswith(codecs.BOM_UTF8):
        return _decoded(data[3:], "utf-8", "utf-8-sig")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not data.startswith(codecs.BOM_UTF32_LE):
        return _decoded(data[2:], "utf-16-le" if data[0] == 0xFF else "utf-16-be", "utf-16")
    if b"\0" in data:
        return Reason.BINARY
    if len(data) - len(data.translate(None, CONTROL)) > CONTROL_SHARE * len(data):
        return Reason.NOT_TEXT
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _latin(data)


def _decoded(data: bytes, codec: str, name: str) -> Decoded | Reason:
    """The text after a byte order mark.  That alone proves nothing: what does not decode, or has zeros, is binary."""
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return Reason.BINARY
    if "\0" in text:
        return Reason.BINARY
    return Decoded(text, name) if text else Reason.EMPTY


def _latin(data: bytes) -> Decoded | Reason:
    """Latin-1 decodes anything, so it is accepted only if most of the text is ASCII and little of it is control."""
    plain = len(data.translate(None, bytes(range(0x80, 0x100))))
    control = len(data) - len(data.translate(None, HIGH_CONTROL))
    high = len(data) - plain
    if high > LATIN_SHARE * len(data) or control > HIGH_CONTROL_SHARE * max(high, 10):
        return Reason.NOT_TEXT
    return Decoded(data.decode("latin-1"), "latin-1")


def notebook_code(text: str) -> str | None:
    """The code cells of a Jupyter notebook, one empty line between two; None if the text is no notebook."""
    try:
        document = json.loads(text)
        cells = document.get("cells")
        if cells is None:  # before version 4
            cells = [cell for sheet in document["worksheets"] for cell in sheet["cells"]]
        found = [_source(cell) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return "\n\n".join(code.strip("\n") for code in found if code.strip()) + "\n" if any(map(str.strip, found)) else ""


def _source(cell: dict) -> str:
    source = cell.get("source", cell.get("input", ""))
    return source if isinstance(source, str) else "".join(source)
