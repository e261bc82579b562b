"""A view box with its axes, as a widget: the part of pyqtgraph that our plots need.

pyqtgraph's `PlotWidget` also builds a menu of sixty widgets per plot, enabled or not: that takes most of the time of
making a plot, and all of them would have to be styled.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyqtgraph as pg
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsItem

PLACES = {"left": (0, 0), "right": (0, 2), "bottom": (1, 1)}
BOX = (0, 1)


class PlotView(pg.GraphicsView):
    """`axes` by their side: left, right or bottom."""

    def __init__(self, axes: Mapping[str, pg.AxisItem]) -> None:
        super().__init__()
        room = pg.GraphicsWidget()
        self._box = pg.ViewBox(parent=room, enableMenu=False)
        self.grid = QGraphicsGridLayout(room)
        self.grid.setSpacing(0)
        self.grid.addItem(self._box, *BOX)
        self.grid.setRowStretchFactor(BOX[0], 100)
        self.grid.setColumnStretchFactor(BOX[1], 100)
        for side, axis in axes.items():
            axis.linkToView(self._box)
            axis.setFlag(QGraphicsItem.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            axis.setZValue(-1000)  # the grid lies under what is drawn
            self.grid.addItem(axis, *PLACES[side])
        self.setCentralItem(room)

    def getViewBox(self) -> pg.ViewBox:
        return self._box

    def addItem(self, item: pg.GraphicsObject) -> None:
        """No range is fitted to it."""
        self._box.addItem(item, ignoreBounds=True)

    def show_content(self, shown: bool) -> None:
        """Show everything that was added, or only the axes."""
        self._box.childGroup.setVisible(shown)
