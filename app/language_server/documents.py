"""The open files as the editor has them, saved or not, and what was edited in them lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.language_server.edits import EditedLines
from app.language_server.positions import Encoding, Position, Range, lines_of, offset_in

MOST_CHUNKS = 16  # edited places that a request takes along


@dataclass(frozen=True)
class Change:
    """New text in place of a range; `range` None: of everything."""

    text: str
    range: Range | None = None


@dataclass(frozen=True)
class Chunk:
    """An edited place: lines of a file."""

    path: Path
    text: str


class Document:
    """One open file.  `path`: on the disk, or what the address says where there is none."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = lines_of(text)
        self.edits = EditedLines()

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def apply(self, change: Change, encoding: Encoding) -> None:
        if change.range is None:
            self._replace_all(change.text)
            return
        first, begin = self.place_of(change.range.start, encoding)
        last, end = self.place_of(change.range.end, encoding)
        if (last, end) < (first, begin):
            first, begin, last, end = last, end, first, begin
        new = self.lines[first][:begin] + change.text + self.lines[last][end:]
        if first and new.startswith("\n") and self.lines[first - 1].endswith("\r"):
            first -= 1  # the two are one line end now
            new = self.lines[first] + new
        self._splice(first, last, new)

    def place_of(self, position: Position, encoding: Encoding) -> tuple[int, int]:
        """Line and offset in it; what lies beyond the text is its end."""
        if position.line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        return position.line, offset_in(self.lines[position.line], position.character, encoding)

    def around(self, range: Range, encoding: Encoding) -> tuple[str, str]:
        """The text before and after, with `\\n` as line ends: what models have learned from."""
        first, begin = self.place_of(range.start, encoding)
        last, end = self.place_of(range.end, encoding)
        before = "".join(self.lines[:first]) + self.lines[first][:begin]
        after = self.lines[last][end:] + "".join(self.lines[last + 1 :])
        return unix(before), unix(after)

    def _splice(self, first: int, last: int, new: str) -> None:
        """Replace whole lines by a text; where it does not end with a line end, the last of them had none either."""
        lines = lines_of(new)
        if last < len(self.lines) - 1:
            lines.pop()  # empty: the next line is there already
        self.lines[first : last + 1] = lines
        self.edits.note(first, last, first + max(len(lines), 1) - 1)

    def _replace_all(self, text: str) -> None:
        """Clients without incremental changes send everything: only the lines that differ were edited."""
        new, old = lines_of(text), self.lines
        most = min(len(new), len(old))
        same = next((number for number in range(most) if new[number] != old[number]), most)
        most -= same
        tail = next((number for number in range(most) if new[-1 - number] != old[-1 - number]), most)
        self.lines = new
        if same + tail < max(len(new), len(old)):
            self.edits.note(same, max(same, len(old) - tail - 1), max(same, len(new) - tail - 1))


class Documents:
    """All that are open, the most recently edited last."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Document] = OrderedDict()

    def __iter__(self) -> Iterator[Document]:
        return iter(self._open.values())

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def open(self, uri: str, document: Document) -> None:
        self._open.pop(uri, None)
        self._open[uri] = document

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)

    def change(self, uri: str, changes: tuple[Change, ...], encoding: Encoding) -> None:
        """The changes in their order; of a file that is not open they are ignored."""
        document = self._open.get(uri)
        if document is None:
            return
        for change in changes:
            document.apply(change, encoding)
        self._open.move_to_end(uri)

    def edited(self, besides: Document) -> tuple[Chunk, ...]:
        """What was edited lately, without one document: that one's text is sent as it is.  The newest last."""
        chunks = [
            Chunk(document.path, unix("".join(document.lines[first : last + 1])))
            for document in self
            if document is not besides
            for first, last in document.edits.places(len(document.lines))
        ]
        return tuple(chunk for chunk in chunks if chunk.text.strip())[-MOST_CHUNKS:]


def unix(text: str) -> str:
    """With `\\n` as the only line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
