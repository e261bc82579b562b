"""The look of Markdown: spacing of paragraphs, sizes of headings, links and tables in the theme's colours.

Qt sets Markdown without any spacing and with links in a blue that is unreadable on a dark background.
"""

from __future__ import annotations

from PySide6.QtGui import (
    QColor,
    QFont,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextTable,
)

from app.theme import Tokens
from app.theme.fonts import CODE, LABEL

HEADINGS = {1: (20, 0, 10), 2: (15, 18, 6)}  # by level: size, space above, space below, in pixels
PARAGRAPH, ITEM, LINE = 8, 3, 120  # pixels, pixels, percent


def dress(document: QTextDocument, tokens: Tokens) -> None:
    """Style a document that was set from Markdown."""
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    block = document.begin()
    while block.isValid():
        place = QTextCursor(block)
        shape = block.blockFormat()
        if shape.headingLevel() in HEADINGS:
            size, above, below = HEADINGS[shape.headingLevel()]
            shape.setTopMargin(above)
            shape.setBottomMargin(below)
            _size_heading(block, size)
        elif place.currentTable() is None:
            shape.setTopMargin(0)
            shape.setBottomMargin(ITEM if block.textList() else PARAGRAPH)
            shape.setLineHeight(LINE, 1)  # 1: in percent of the font's own
        place.setBlockFormat(shape)
        _dress_pieces(block, tokens)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _dress_table(frame, tokens)
    cursor.endEditBlock()


def _size_heading(block: QTextBlock, size: int) -> None:
    place = QTextCursor(block)
    place.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    looks = place.charFormat()
    looks.clearProperty(QTextCharFormat.Property.FontSizeAdjustment)  # it would win over the size
    looks.setProperty(QTextCharFormat.Property.FontPixelSize, size)
    looks.setFontWeight(QFont.Weight.DemiBold)
    place.setCharFormat(looks)


def _dress_pieces(block: QTextBlock, tokens: Tokens) -> None:
    """Links in our colour, code in our font, and bold no bolder than our font has: more would be smeared."""
    link, code, strong = QTextCharFormat(), QTextCharFormat(), QTextCharFormat()
    link.setForeground(QColor(tokens.second_text))
    code.setFontFamilies([CODE])
    code.setProperty(QTextCharFormat.Property.FontPixelSize, LABEL)
    strong.setFontWeight(QFont.Weight.DemiBold)
    pieces = block.begin()
    found = []
    while not pieces.atEnd():
        piece = pieces.fragment()
        looks = piece.charFormat()
        for wanted, dressed in (
            (looks.isAnchor(), link),
            (looks.fontFixedPitch() and not looks.isAnchor(), code),
            (looks.fontWeight() > QFont.Weight.DemiBold, strong),
        ):
            if wanted:
                found.append((piece.position(), piece.length(), dressed))
        pieces += 1
    for start, length, looks in found:
        place = QTextCursor(block)
        place.setPosition(start)
        place.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
        place.mergeCharFormat(looks)


def _dress_table(table: QTextTable, tokens: Tokens) -> None:
    shape = table.format()
    shape.setBorder(1)
    shape.setBorderBrush(QColor(tokens.line))
    shape.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    shape.setBorderCollapse(True)
    shape.setCellPadding(5)
    table.setFormat(shape)
