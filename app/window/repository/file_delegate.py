"""How a row of the list is drawn: tick, mark, words and heat, in the colours of the theme.

A verdict is a mark and words, never a colour alone: a filled circle is learned, a diamond is held out, a ring is left
out.  The loss is a number on a tint: the stronger the tint, the less the model knows the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import Theme, Tokens
from app.theme.fonts import BODY, LABEL, code_font, interface_font
from app.window.repository.file_model import NUMBERS, FileModel, Index
from app.window.repository.file_tree import LANGUAGE, LEARN, LEAVE, LOSS, MIXED, NAME, VERDICT, Node

if TYPE_CHECKING:
    from app.window.repository.file_view import FileView

ROW = 30
TICK, GAP = 16, 8


class FileDelegate(QStyledItemDelegate):
    def __init__(self, view: FileView) -> None:
        super().__init__(view)
        self._view = view
        self._body, self._label, self._code = interface_font(BODY), interface_font(LABEL), code_font(LABEL)
        self._strong = code_font(LABEL)
        self._strong.setWeight(QFont.Weight.Bold)
        self.range = (0.0, 1.0)  # the losses at both ends of the heat

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(80, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens, model, column = Theme.current().tokens, self._view.files, index.column()
        node = model.node(index)
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, QColor(tokens.raised))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        cell = option.rect.adjusted(10, 0, -10, 0)
        if column == NAME:
            cell = self._tick(painter, option.rect, model.state(node), tokens)
        elif column == VERDICT:
            cell = self._mark(painter, cell, node, model.state(node), tokens)
        elif column == LOSS and node.path in model.shown_losses:
            self._heat(painter, option.rect, model.shown_losses[node.path], tokens)
        painter.setFont(self._font(node, column))
        painter.setPen(QColor(self._colour(tokens, node, column, model)))
        words = model.words(node, column)
        mode = Qt.TextElideMode.ElideMiddle if column in (NAME, VERDICT) else Qt.TextElideMode.ElideRight
        shown = painter.fontMetrics().elidedText(words, mode, cell.width())
        side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
        painter.drawText(cell, int(side | Qt.AlignmentFlag.AlignVCenter), shown)
        painter.restore()

    def tick_rect(self, rect: QRect) -> QRect:
        """Where the tick of a row is, for the mouse."""
        return QRect(rect.left() + 2, rect.center().y() - TICK // 2, TICK, TICK)

    def _font(self, node: Node, column: int) -> QFont:
        if column == NAME:
            return self._strong if node.file is None else self._code
        return self._label if column == VERDICT else self._body

    @staticmethod
    def _colour(tokens: Tokens, node: Node, column: int, model: FileModel) -> str:
        if not node.fits:
            return tokens.mute
        if column == VERDICT:
            if node.file is None:
                return tokens.mute
            if model.state(node) == LEAVE:
                return tokens.warn_text
            return tokens.second_text if node.held_out else tokens.accent_text
        if column == NAME:
            return tokens.mute if model.state(node) == LEAVE else tokens.ink
        quiet = column == LANGUAGE or (node.file is None and column != LOSS)
        return tokens.mute if quiet else tokens.ink

    def _tick(self, painter: QPainter, rect: QRect, state: str, tokens: Tokens) -> QRect:
        """Draw the tick in front of a name; the rectangle left for the name."""
        box = QRectF(self.tick_rect(rect)).adjusted(1.5, 1.5, -1.5, -1.5)
        on = state != LEAVE
        painter.setPen(QPen(QColor(tokens.accent if on else tokens.dim), 1.4))
        painter.setBrush(QColor(tokens.accent) if state == LEARN else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, 3.5, 3.5)
        if state == LEARN:
            painter.setPen(QPen(QColor(tokens.on_accent), 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            x, y, w, h = box.x(), box.y(), box.width(), box.height()
            corners = (QPointF(x + w * 0.24, y + h * 0.52), QPointF(x + w * 0.44, y + h * 0.72))
            painter.drawPolyline(QPolygonF([*corners, QPointF(x + w * 0.77, y + h * 0.30)]))
        elif state == MIXED:
            painter.setPen(QPen(QColor(tokens.accent), 2))
            painter.drawLine(QPointF(box.left() + 3.5, box.center().y()), QPointF(box.right() - 3.5, box.center().y()))
        return rect.adjusted(2 + TICK + GAP, 0, -6, 0)

    @staticmethod
    def _mark(painter: QPainter, cell: QRect, node: Node, state: str, tokens: Tokens) -> QRect:
        """Draw the shape in front of a verdict; the rectangle left for the words."""
        if node.file is None:
            return cell.adjusted(16, 0, 0, 0)
        middle = QPointF(cell.left() + 4, cell.center().y() + 0.5)
        if state == LEAVE:
            painter.setPen(QPen(QColor(tokens.warn), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(middle, 3.2, 3.2)
        elif node.held_out:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.second))
            offsets = ((0, -4.6), (4.6, 0), (0, 4.6), (-4.6, 0))
            painter.drawPolygon(QPolygonF([middle + QPointF(x, y) for x, y in offsets]))
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.accent))
            painter.drawEllipse(middle, 3.8, 3.8)
        return cell.adjusted(16, 0, 0, 0)

    def _heat(self, painter: QPainter, rect: QRect, loss: float, tokens: Tokens) -> None:
        """The tint behind a loss."""
        low, high = self.range
        share = (loss - low) / (high - low) if high > low else 0.5
        colour = QColor(tokens.warn)
        colour.setAlphaF(0.06 + 0.38 * min(1.0, max(0.0, share)))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(QRectF(rect).adjusted(24, 4, -4, -4), 5, 5)
