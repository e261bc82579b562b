"""The legend of a plot: a swatch and a name for each curve, wrapped to the width."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import Theme
from app.theme.fonts import LABEL, interface_font
from app.theme.plots import PlotStyle
from app.window.adapt.plots.read_out import paint_swatch

Entry = tuple[str, str, str]  # token, shape, words
SWATCH, GAP, BETWEEN, LINE = 14, 5, 12, 17


class Legend(QWidget):
    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._metrics = QFontMetrics(interface_font(LABEL))
        self.entries: tuple[Entry, ...] = ()
        self.set_entries(entries)
        Theme.current().restyled.connect(self.on_restyled)

    def set_entries(self, entries: Sequence[Entry]) -> None:
        if tuple(entries) != self.entries:
            self.entries = tuple(entries)
            self.setAccessibleName("Legend: " + ", ".join(words for _, _, words in self.entries))
            self._fit()
            self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as its lines.  Not height-for-width: a layout with that ignores minimum sizes."""
        places = self._places(self.width())
        self.setFixedHeight(int(places[-1].bottom()) if places else LINE)

    def paintEvent(self, _event: QPaintEvent) -> None:
        style = PlotStyle(Theme.current().tokens)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(interface_font(LABEL))
        for (token, shape, words), room in zip(self.entries, self._places(self.width()), strict=True):
            paint_swatch(painter, style, token, shape, QRectF(room.left(), room.top(), SWATCH, LINE))
            painter.setPen(style.tokens.mute)
            painter.drawText(room.adjusted(SWATCH + GAP, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, words)

    @Slot(object)
    def on_restyled(self, _tokens) -> None:
        self.update()

    def _places(self, width: int) -> list[QRectF]:
        """The rectangle of each entry, line by line."""
        places, x, y = [], 0.0, 0.0
        for _, _, words in self.entries:
            wanted = SWATCH + GAP + self._metrics.horizontalAdvance(words) + 2
            if x and x + wanted > width:
                x, y = 0.0, y + LINE
            places.append(QRectF(x, y, wanted, LINE))
            x += wanted + BETWEEN
        return places
