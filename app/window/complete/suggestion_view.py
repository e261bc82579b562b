"""A read-only view of a suggestion after the line it continues, with differences from another one marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Slot
from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QTextEdit

from app.theme import Theme, Tokens
from app.window.complete.differences import Span
from app.window.complete.indenting import leading

LEAST, MOST = 2, 9  # lines
PADDING = 20  # pixels above and below them
MARK_STRENGTH = 56  # of 255: the underline carries the meaning, the tint helps the eye


class SuggestionView(QPlainTextEdit):
    """As high as its lines, within limits.  Marks are underlined and tinted."""

    def __init__(self, name: str, least: int = LEAST, most: int = MOST) -> None:
        super().__init__()
        self._least, self._most = least, most
        self._shown: tuple[str, str, tuple[Span, ...], bool] = ("", "", (), False)
        self.setProperty("role", "suggestion")
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self._fit()

    def show_text(self, line: str, text: str, marks: Sequence[Span] = (), stale: bool = False) -> None:
        """`line`: the text before the cursor; `marks`: spans of `text`; `stale`: for an earlier cursor position."""
        shown = (line, text, tuple(marks), stale)
        if shown != self._shown:
            self._shown = shown
            self._paint(Theme.current().tokens)

    @property
    def text(self) -> str:
        """The suggestion alone."""
        return self._shown[1]

    @property
    def marks(self) -> tuple[Span, ...]:
        return self._shown[2]

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._paint(tokens)

    def _paint(self, tokens: Tokens) -> None:
        line, text, marks, stale = self._shown
        blanks = leading(line)
        head, body = line[len(blanks) :], outdented(text, blanks)
        self.setPlainText(head + body)
        selections = [self._selection(0, len(head + body) if stale else len(head), tokens.mute)]
        for begin, end in () if stale else marks:
            begin, end = (len(outdented(text[:place], blanks)) + len(head) for place in (begin, end))
            for part in re.finditer(r"\S.*", (head + body)[begin:end]):
                place = begin + part.start(), begin + len(part.group().rstrip()) + part.start()
                selections.append(self._selection(*place, tokens.ink, tokens.accent))
        self.setExtraSelections([each for each in selections if each is not None])
        self._fit()

    def _selection(self, begin: int, end: int, colour: str, tint: str = "") -> QTextEdit.ExtraSelection | None:
        if end <= begin:
            return None
        result, style = QTextEdit.ExtraSelection(), QTextCharFormat()
        style.setForeground(QColor(colour))
        if tint:
            fill = QColor(tint)
            style.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
            style.setUnderlineColor(fill)
            fill.setAlpha(MARK_STRENGTH)
            style.setBackground(fill)
        result.format = style
        result.cursor = QTextCursor(self.document())
        result.cursor.setPosition(begin)
        result.cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        return result

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange) and hasattr(self, "_shown"):
            self._fit()

    def _fit(self) -> None:
        lines = min(self._most, max(self._least, self.blockCount()))
        metrics = self.fontMetrics()
        widest = max(map(metrics.horizontalAdvance, self.toPlainText().split("\n")))
        bar = self.horizontalScrollBar().sizeHint().height() if widest + 2 * PADDING > self.width() else 0
        self.setFixedHeight(lines * self.cursorRect().height() + PADDING + bar)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())


def outdented(text: str, blanks: str) -> str:
    """The text with the indentation of the cursor's line removed from every line."""
    return text.replace("\n" + blanks, "\n") if blanks else text
