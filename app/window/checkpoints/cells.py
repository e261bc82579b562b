"""How tables on this page draw a cell: text between margins, a rule under every row, the selection as a band."""

from __future__ import annotations

import math

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from app.theme import Theme, Tokens
from app.theme.fonts import BODY, interface_font
from app.theme.plots import mixed
from app.window.parts.headed_table import Index

PADDING = 10
BADGE_FONT, BADGE_HEIGHT, BADGE_PADDING, BADGE_GAP = 11, 19, 7, 5


class CellDelegate(QStyledItemDelegate):
    """Subclasses override `colour` and `font`, or paint a cell themselves in `paint_words`."""

    elide = Qt.TextElideMode.ElideRight

    def __init__(self, parent, height: int) -> None:
        super().__init__(parent)
        self.height = height
        self.body = interface_font(BODY)
        self.strong = interface_font(BODY, QFont.Weight.Medium)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        words = QFontMetricsF(self.body).horizontalAdvance(index.data() or "")
        return QSize(math.ceil(words) + 2 * PADDING, self.height)  # what is a fraction too wide would be elided

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens = Theme.current().tokens
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, selection(tokens))
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        cell = option.rect.adjusted(PADDING, 0, -PADDING, 0)
        painter.setFont(self.font(index))
        painter.setPen(QColor(self.colour(tokens, index)))
        self.paint_words(painter, cell, index, tokens)
        painter.restore()

    def paint_words(self, painter: QPainter, cell: QRect, index: Index, _tokens: Tokens) -> None:
        """The text of a cell, elided to its width."""
        words = painter.fontMetrics().elidedText(index.data() or "", self.elide, cell.width())
        painter.drawText(cell, int(index.data(Qt.ItemDataRole.TextAlignmentRole)), words)

    def font(self, _index: Index) -> QFont:
        return self.body

    def colour(self, tokens: Tokens, _index: Index) -> str:
        return tokens.ink


def selection(tokens: Tokens) -> QColor:
    """The band under a selected row: distinct from a card even on a poor screen."""
    return mixed(tokens.second, tokens.panel, 0.16)


def paint_badge(painter: QPainter, words: str, x: int, row: QRect, room: int, tokens: Tokens, hue: str = "") -> int:
    """A word in a rounded frame; returns the x after it, or `x` if it does not fit."""
    font = interface_font(BADGE_FONT, QFont.Weight.Medium)
    width = badge_width(words)
    if width > room:
        return x
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    frame = QRectF(x + 0.5, row.center().y() - BADGE_HEIGHT // 2 + 0.5, width - 1, BADGE_HEIGHT - 1)
    painter.setPen(QPen(QColor(hue or tokens.line), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(frame, 6, 6)
    painter.setFont(font)
    painter.setPen(QColor(tokens.accent_text if hue else tokens.mute))
    painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, words)
    return x + width + BADGE_GAP


def badge_width(words: str) -> int:
    """In pixels."""
    metrics = QFontMetrics(interface_font(BADGE_FONT, QFont.Weight.Medium))
    return metrics.horizontalAdvance(words) + 2 * BADGE_PADDING


def plain_table(view: QTableView, name: str, height: int) -> None:
    """A table without grid or frame, like all on this page."""
    view.setAccessibleName(name)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)  # Tab leaves the table
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.verticalHeader().hide()
    view.verticalHeader().setDefaultSectionSize(height)
    view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    header = view.horizontalHeader()
    header.setHighlightSections(False)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
