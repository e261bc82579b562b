"""The text of a file and its form on disk: encoding, byte order mark and line endings are preserved.  No Qt."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
FALLBACK = "latin-1"  # has a character for every byte, so none is lost
_ENDING = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class FileForm:
    """How a text is stored: encoding, byte order mark, line endings."""

    encoding: str = "utf-8"
    mark: bytes = b""
    endings: tuple[str, ...] = ()  # of every line but the last

    @property
    def usual_ending(self) -> str:
        """That of most lines."""
        return Counter(self.endings).most_common(1)[0][0] if self.endings else "\n"


@dataclass(frozen=True)
class FileText:
    """Text as read; lines end in "\\n" here, whatever they end in on disk."""

    text: str
    form: FileForm
    digest: str  # of the bytes


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def decode(content: bytes) -> FileText | None:
    """The text of a file; None if it is not text."""
    mark, encoding = next(((mark, name) for mark, name in MARKS if content.startswith(mark)), (b"", "utf-8"))
    body = content[len(mark) :]
    if b"\0" in body and not encoding.startswith("utf-16"):
        return None
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        if mark:
            return None
        encoding = FALLBACK
        text = body.decode(encoding)
    form = FileForm(encoding, mark, tuple(_ENDING.findall(text)))
    return FileText(_ENDING.sub("\n", text), form, digest_of(content))


def encode(text: str, form: FileForm, before: str | None = None) -> bytes:
    """The bytes of a text.  Lines that are also in `before` (the text that `form` belongs to) keep their endings."""
    usual = form.usual_ending
    if before is None or len(set(form.endings)) < 2:
        return form.mark + text.replace("\n", usual).encode(form.encoding)
    old, new = before.split("\n"), text.split("\n")
    endings = [usual] * (len(new) - 1)
    for first, second, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for i in range(size):
            if first + i < len(form.endings) and second + i < len(endings):
                endings[second + i] = form.endings[first + i]
    lines = "".join(line + ending for line, ending in zip(new, (*endings, ""), strict=True))
    return form.mark + lines.encode(form.encoding)
