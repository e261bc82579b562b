"""The header of a list that can be sorted: its arrow stands beside the words that it belongs to."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF
from PySide6.QtWidgets import QHeaderView, QStyleOptionHeader, QTreeView

from app.theme import Theme

PADDING = 10  # of a heading, in the stylesheet
GAP, HALF = 7, 4  # between words and arrow; half of the arrow's width


class SortHeader(QHeaderView):
    """Qt puts the arrow at the far end of a column: in a wide one it looks like the next column's."""

    def __init__(self, view: QTreeView) -> None:
        """Becomes the header of `view`."""
        super().__init__(Qt.Orientation.Horizontal, view)
        view.setHeader(self)  # which makes its sections unclickable, as the view does not sort
        self.setSectionsClickable(True)
        self.setSortIndicatorShown(True)

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, section: int) -> None:
        super().initStyleOptionForIndex(option, section)
        option.sortIndicator = QStyleOptionHeader.SortIndicator.None_  # drawn below

    def arrow_at(self, rect: QRect, section: int) -> QPointF:
        """The middle of the arrow: after words on the left, before words on the right, which end over their numbers."""
        model, side = self.model(), self.orientation()
        words = model.headerData(section, side) or ""
        width = self.fontMetrics().horizontalAdvance(words)
        where = model.headerData(section, side, Qt.ItemDataRole.TextAlignmentRole)
        middle = rect.center().y() + 0.5
        if where is not None and Qt.AlignmentFlag(where) & Qt.AlignmentFlag.AlignRight:
            return QPointF(rect.right() - PADDING - width - GAP - HALF, middle)
        return QPointF(rect.left() + PADDING + width + GAP + HALF, middle)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        painter.save()
        super().paintSection(painter, rect, section)
        painter.restore()
        if section != self.sortIndicatorSection():
            return
        up = self.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        tip = -HALF / 2 if up else HALF / 2
        corners = [QPointF(-HALF, -tip), QPointF(HALF, -tip), QPointF(0, tip)]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(Theme.current().tokens.mute))
        painter.translate(self.arrow_at(rect, section))
        painter.drawPolygon(QPolygonF(corners))
        painter.restore()
