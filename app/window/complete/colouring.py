"""Colours the visible lines by `syntax`, and the ghost text among them.

Lines are read a few at a time from the top and coloured once they are on the screen, so that a long text costs no more
than a short one.

The document itself is not touched: colours are formats of the layout, and the ghost text is its preedit text (what an
input method shows before a word is finished), so neither is ever saved, copied or undone.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, get_all_lexers
from pygments.util import ClassNotFound
from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QColor, QTextBlock, QTextCharFormat, QTextDocument, QTextLayout

from app.theme import Theme, Tokens
from app.window.complete.syntax import LineSyntax, Span

SLICE = 0.005  # seconds of work between two turns of the event loop
PAUSE = 2  # milliseconds between slices
KIND_TOKENS = {
    "comment": "mute",
    "keyword": "third",
    "string": "accent_text",
    "number": "warn_text",
    "name": "second_text",
    "builtin": "second_text",
    "decorator": "warn_text",
}  # which colour of the theme
GHOST = "ghost"
# Suffixes that several languages claim, and the lexer that most such files need.
USUAL_LEXERS = {
    "*.h": "c",
    "*.m": "objective-c",
    "*.pl": "perl",
    "*.ts": "typescript",
    "*.v": "verilog",
    "*.s": "gas",
    "*.inc": "php",
    "*.cls": "tex",
    "*.html": "html",
    "*.xml": "xml",
    "*.sql": "sql",
    "*.r": "splus",
    "*.cl": "common-lisp",
    "*.php": "php",
    "*.fs": "fsharp",
}


class Colouring(QObject):
    """The colours of one document."""

    def __init__(self, document: QTextDocument, visible: Callable[[], tuple[int, int]]) -> None:
        """`visible` returns the first and the last line on the screen."""
        super().__init__(document)
        self._document, self._visible = document, visible
        self._language, self._is_known = ("", ""), True  # whether the lexer is that of the language
        self.syntax = LineSyntax(None)
        self._formats: dict[str, QTextCharFormat] = {}
        self._painted: list[list[Span] | None] = [None]  # by line: the spans whose colours it has
        self._guessed = (0, 0)  # lines coloured out of turn
        self._timer = QTimer(self)
        self._timer.setInterval(PAUSE)
        self._timer.timeout.connect(self.on_slice)
        document.contentsChange.connect(self.on_contents_change)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self._take_colours(theme.tokens)

    @property
    def is_done(self) -> bool:
        """Whether every line has been read."""
        return not self._timer.isActive()

    def set_language(self, path: str, language: str = "") -> None:
        """Colour as a file of that name, or else as that language."""
        if (path, language) == self._language:
            return
        self._language, self._is_known = (path, language), False
        self._load()

    def _load(self) -> None:
        """Load the lexer once there is text: it takes a moment, which an empty page should not cost."""
        if self._is_known or self._document.isEmpty():
            return
        self._is_known = True
        lexer = lexer_for(*self._language)
        if type(lexer) is not type(self.syntax.lexer):
            self.syntax = LineSyntax(lexer)
            self.syntax.replace(0, 1, self._lines(0, self._document.blockCount()))
            self._painted = [None] * len(self.syntax.lines)
            self.on_slice()
            self._timer.start()

    def paint_line(self, block: QTextBlock) -> None:
        """Set the formats of one line: its spans, moved around the ghost text if it has one."""
        number = block.blockNumber()
        own = self.syntax.spans[number] if number < len(self.syntax.spans) else []
        if number < len(self._painted):
            self._painted[number] = own
        layout = block.layout()
        ghost = len(layout.preeditAreaText().encode("utf-16-le")) // 2
        ranges = self._ranges(_in_units(own, block.text()), layout.preeditAreaPosition(), ghost)
        layout.setFormats(ranges)

    @Slot(int, int, int)
    def on_contents_change(self, position: int, _removed: int, added: int) -> None:
        """Update the lines that changed."""
        document, known = self._document, len(self.syntax.lines)
        first = document.findBlock(position)
        last = document.findBlock(position + added)
        begin = first.blockNumber() if first.isValid() else 0
        end = (last.blockNumber() if last.isValid() else document.blockCount() - 1) + 1
        removed = end - begin - (document.blockCount() - known)
        self.syntax.replace(begin, removed, self._lines(begin, end))
        self._painted[begin : begin + removed] = [None] * (end - begin)
        self._guessed = (0, 0)
        self._load()
        self.on_slice()  # the line being typed has its colours before it is painted
        if not self.syntax.is_done:
            self._timer.start()

    @Slot()
    def on_slice(self) -> None:
        """Read for one slice of time: first what is visible, then from the top."""
        began, visible = time.perf_counter(), self._visible()
        if visible != self._guessed:
            self._guessed = visible
            self.syntax.guess(*visible)
        while not self.syntax.is_done:
            self.syntax.advance()
            if time.perf_counter() - began > SLICE:
                break
        self.paint_visible()
        if self.syntax.is_done:
            self._timer.stop()

    @Slot()
    def paint_visible(self, *_scrolled: object) -> None:
        """Colour the visible lines whose spans have changed."""
        first, last = self._visible()
        block = self._document.findBlockByNumber(first)
        while block.isValid() and block.blockNumber() <= last:
            number = block.blockNumber()
            if number < len(self._painted) and self._painted[number] is not self.syntax.spans[number]:
                self.paint_line(block)
                self._document.markContentsDirty(block.position(), block.length())
            block = block.next()

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._take_colours(tokens)
        self._painted = [None] * len(self.syntax.lines)
        self.paint_visible()

    # ---- inside

    def _take_colours(self, tokens: Tokens) -> None:
        self._formats = {}
        for kind, name in (*KIND_TOKENS.items(), (GHOST, GHOST)):
            colours = QTextCharFormat()
            colours.setForeground(QColor(getattr(tokens, name)))
            colours.setFontItalic(kind == "comment")  # tells comments from ghost text, which is as muted
            self._formats[kind] = colours

    def _lines(self, begin: int, end: int) -> list[str]:
        block, lines = self._document.findBlockByNumber(begin), []
        for _ in range(begin, end):
            lines.append(block.text())
            block = block.next()
        return lines

    def _ranges(self, spans: list[Span], place: int, ghost: int) -> list[QTextLayout.FormatRange]:
        """Spans with those after the ghost text moved and those around it split."""
        ranges = []
        for begin, length, kind in spans:
            if not ghost or begin + length <= place:
                ranges.append(self._range(begin, length, kind))
            elif begin >= place:
                ranges.append(self._range(begin + ghost, length, kind))
            else:
                ranges.append(self._range(begin, place - begin, kind))
                ranges.append(self._range(place + ghost, begin + length - place, kind))
        if ghost:
            ranges.append(self._range(place, ghost, GHOST))
        return ranges

    def _range(self, begin: int, length: int, kind: str) -> QTextLayout.FormatRange:
        result = QTextLayout.FormatRange()
        result.start, result.length, result.format = begin, length, self._formats[kind]
        return result


def _in_units(spans: list[Span], text: str) -> list[Span]:
    """Spans in UTF-16 units, as Qt counts: a character outside the first plane is two."""
    if text.isascii() or max(text, default="") < "\U00010000":
        return spans
    result = []
    for begin, length, kind in spans:
        before = len(text[:begin].encode("utf-16-le")) // 2
        result.append((before, len(text[begin : begin + length].encode("utf-16-le")) // 2, kind))
    return result


def lexer_for(path: str, language: str = "") -> Lexer | None:
    """The lexer for a file name, or else for a language; None if Pygments knows neither.

    By the suffix, as Pygments lists them, without trying a thousand patterns.
    """
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2].lower()
    patterns = [name, f"*.{ending}"] if name else []
    found = [alias for pattern in patterns for alias in _aliases().get(pattern, ())]
    usual = [USUAL_LEXERS[pattern] for pattern in patterns if pattern in USUAL_LEXERS]
    for alias in (*usual, *found, language):
        try:
            if alias:
                return find_lexer_class_by_name(alias)()
        except ClassNotFound:
            continue
    return None


@functools.cache
def _aliases() -> dict[str, list[str]]:
    """Lexer names by file pattern: "*.py", "Makefile"."""
    result: dict[str, list[str]] = {}
    for _name, aliases, patterns, _types in get_all_lexers(plugins=False):
        for pattern in patterns if aliases else ():
            result.setdefault(pattern, []).append(aliases[0])
    return result
