"""One plot: axes, drawing from thinned data, the read-out under the pointer, and zoom along the steps.

A subclass says what a plot shows: `draw` fills the curves for the visible steps and returns their range of values,
`read` gives their values at one step, `table` the numbers to save.  Pens are registered with their token, so that a
theme switch needs no code in the subclasses.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent

from app.theme.plots import PlotStyle
from app.window.adapt.plots.numbers import fitted, nearest
from app.window.adapt.plots.plot_view import PlotView
from app.window.adapt.plots.read_out import Reading, ReadOut
from app.window.adapt.plots.ruler import RIGHT_MARGIN, Ruler
from app.window.adapt.plots.timeline import ZOOM, Timeline
from app.window.adapt.plots.words import steps

if TYPE_CHECKING:
    from app.state.run_history import RunHistory

TICK_HEIGHT = 30  # pixels between two grid lines, at least
FOLLOW = 50  # milliseconds until a plot marks the step that the pointer is at in another one
DRAG = 6  # pixels; a shorter drag is a click
EDGE = 6  # pixels beyond the first and the last step: half a marker


class _Everywhere:
    """For items that no range is fitted to: their bounds are whatever is visible.

    The scene asks for the bounds several times per paint; pyqtgraph would compute the extent of all points each time
    the data has changed.
    """

    def boundingRect(self) -> QRectF:
        box = self.getViewBox()  # always current, unlike the `viewRect` of an item
        return QRectF(box.viewRect()) if box is not None else QRectF()


class Curve(_Everywhere, pg.PlotCurveItem):
    """A line, or an area."""


class Points(_Everywhere, pg.ScatterPlotItem):
    """Markers."""


class Chart(PlotView):
    """A plot of a run over its steps."""

    name = ""
    help = ""  # what it shows, for a user who has never seen such a plot
    help_keys = (("In a plot: move by step", "Left, Right"), ("In a plot: zoom, show all", "+, -, Esc"))
    floor: float | None = None  # the fixed lower end of the left axis, if any

    def __init__(self, timeline: Timeline, style: PlotStyle, left_words, right_words=None) -> None:
        self.left = Ruler("left", left_words, grid=True)
        self.bottom = Ruler("bottom", steps)
        axes = {"left": self.left, "bottom": self.bottom}
        if right_words:
            axes["right"] = Ruler("right", right_words)
        self.right = axes.get("right")
        super().__init__(axes)
        self.style_ = style
        self.timeline = timeline
        self.history: RunHistory | None = None
        self._pens: list[tuple[object, str, dict]] = []
        self._drag: tuple[float, float] | None = None  # where a drag started: pixels, step
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(self.name)
        self.setMinimumSize(160, 96)
        self.setMouseTracking(True)
        box = self.getViewBox()
        box.setMouseEnabled(False, False)
        box.disableAutoRange()
        box.setDefaultPadding(0)
        self.grid.setContentsMargins(0, 6, 0 if self.right else RIGHT_MARGIN, 0)
        self._rule = pg.InfiniteLine(angle=90)
        self._marks = Points(size=7, pen=None)
        self._band = pg.LinearRegionItem(movable=False)
        for item in (self._rule, self._marks, self._band):
            item.setZValue(20)
            item.hide()
            self.addItem(item)
        self._read_out = ReadOut(self, style)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(FOLLOW)
        self._later.timeout.connect(self.on_later)
        timeline.moved.connect(self.on_moved)
        timeline.pointed.connect(self.on_pointed)

    # ---- for subclasses

    @abstractmethod
    def draw(self, history: RunHistory, low: float, high: float, columns: int) -> tuple[float, float]:
        """Fill the curves from step `low` to `high` with about two points per pixel column; return the value range."""

    @abstractmethod
    def read(self, history: RunHistory, index: int) -> Iterable[Reading]:
        """The values of the curves at the step of that index."""

    @abstractmethod
    def table(self, history: RunHistory) -> tuple[tuple[str, ...], list[np.ndarray]]:
        """Headings and columns, for CSV."""

    def line(self, token: str, width: float = 1.5, share: float = 1.0, dashed: bool = False) -> Curve:
        """A new curve in a token's colour.  Thin ones are not antialiased, which is four times faster."""
        curve = Curve(connect="finite", antialias=width > 1.0)
        self._pens.append((curve, token, {"width": width, "share": share, "dashed": dashed}))
        self.addItem(curve)
        return curve

    # ---- drawing

    def show_history(self, history: RunHistory | None) -> None:
        self.history = history
        self.redraw()

    def restyle(self, style: PlotStyle) -> None:
        """Apply the colours, with line widths for this screen."""
        style = replace(style, ratio=self.devicePixelRatioF())
        self.style_ = self._read_out.style_ = style
        self.setBackground(style.colour("panel"))
        for axis in filter(None, (self.left, self.bottom, self.right)):
            axis.restyle(style)
        for item, token, form in self._pens:
            item.setPen(style.pen(token, **form))
        self._rule.setPen(style.pen("dim"))
        self._band.setBrush(style.brush("second", 0.25))
        for edge in self._band.lines:
            edge.setPen(style.pen("second"))
        self._point()

    def redraw(self) -> None:
        """Draw the visible steps; called by the board's timer and after zooming."""
        low, high = self.sight()
        box = self.getViewBox()
        box.setXRange(low, high, padding=0)
        if self.history is None or not len(self.history.step):
            self.set_left(0.0, 1.0)
            self._show_values(False)
            return
        self._show_values(True)
        bottom, top = self.draw(self.history, low, high, max(1, int(box.width())))
        self.set_left(bottom, top)
        box.prepareForPaint()  # or painting would move the axes and trigger another paint
        if self.timeline.pointer is not None:
            self._point()

    def sight(self) -> tuple[float, float]:
        """The visible steps: a little more than the timeline's range."""
        low, high = self.timeline.range
        edge = (high - low) * EDGE / max(1.0, self.getViewBox().width() - 2 * EDGE)
        return low - edge, high + edge

    def _show_values(self, shown: bool) -> None:
        """Show or hide the axis labels and curves: a run without a step must not show those of an earlier one."""
        for axis in filter(None, (self.left, self.right)):
            if axis.style["showValues"] != shown:
                axis.setStyle(showValues=shown)
        self.show_content(shown)

    def intervals(self) -> int:
        """How many grid intervals fit."""
        return max(2, min(6, int(self.getViewBox().height() // TICK_HEIGHT)))

    def set_left(self, low: float, high: float) -> None:
        """Fit the left axis to values from `low` to `high`, ending on ticks."""
        most = self.intervals()
        self.left.most = most
        if self.left.logarithmic:
            room = (high - low) * 0.06 or 0.05
            low, high = low - room, high + room
        else:
            if self.floor is None:
                room = (high - low) * EDGE / max(1.0, self.getViewBox().height())  # for markers at both ends
                low, high = low - room, high + room
            low, high, self.left.interval = fitted(low if self.floor is None else self.floor, high, most)
        if [low, high] != self.getViewBox().viewRange()[1]:
            self.getViewBox().setYRange(low, high, padding=0)

    def sizeHint(self) -> QSize:
        """Small: a plot takes the space that is left."""
        return self.minimumSize()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if hasattr(self, "_read_out"):  # the base class resizes before this one is set up
            self.redraw()

    @Slot()
    def on_moved(self) -> None:
        """Redraw the plot that is being zoomed at once; the board redraws the others one by one."""
        if self.underMouse() or self.hasFocus():
            self.redraw()

    # ---- the pointer

    def step_at(self, x: float) -> float:
        """The step at an x coordinate of the widget."""
        return float(self.getViewBox().mapSceneToView(self.mapToScene(round(x), 0)).x())

    def plot_room(self) -> QRectF:
        """The area of the curves, in widget pixels."""
        box = self.getViewBox()
        return QRectF(self.mapFromScene(box.mapRectToScene(box.boundingRect())).boundingRect())

    @Slot()
    def on_pointed(self) -> None:
        """At once in the plot under the pointer; the others follow a little later, not at every mouse move."""
        if self.underMouse() or self.hasFocus():
            self._point()
        elif not self._later.isActive():
            self._later.start()

    @Slot()
    def on_later(self) -> None:
        self._point()

    def _point(self) -> None:
        """Move the rule and the markers to the step under the pointer; only the plot under it shows the read-out."""
        place, history = self.timeline.pointer, self.history
        low, high = self.timeline.range
        shown = place is not None and history is not None and len(history.step) > 0 and low <= place <= high
        self._rule.setVisible(shown)
        self._marks.setVisible(shown)
        if not shown:
            self._read_out.hide()
            return
        index = nearest(history.step, place)
        step = float(history.step[index])
        readings = [*self.read(history, index)]
        self._rule.setPos(step)
        marked = [reading for reading in readings if reading.place is not None and np.isfinite(reading.place)]
        self._marks.setData(
            x=[step] * len(marked),
            y=[reading.place for reading in marked],
            brush=[self.style_.brush(reading.token) for reading in marked],
        )
        if self.underMouse() or self.hasFocus():
            x = self.mapFromScene(self.getViewBox().mapViewToScene(pg.Point(step, 0))).x()
            self._read_out.say(f"Step {step:,.0f}", readings, x, self.plot_room())
        else:
            self._read_out.hide()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = event.position().x()
        if self._drag is not None:
            began, step = self._drag
            self._band.setVisible(abs(x - began) >= DRAG)
            self._band.setRegion((step, self.step_at(x)))
        room = self.plot_room()
        self.timeline.point(self.step_at(x) if room.left() <= x <= room.right() else None)

    def leaveEvent(self, _event) -> None:
        self.timeline.point(None)

    # ---- zoom

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            x = event.position().x()
            self._drag = (x, self.step_at(x))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._drag is None or event.button() != Qt.MouseButton.LeftButton:
            return
        (began, step), self._drag = self._drag, None
        self._band.hide()
        x = event.position().x()
        if abs(x - began) >= DRAG:
            self.timeline.zoom_to(step, self.step_at(x))

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        self._drag = None
        self.timeline.reset()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel scrolls the page; Ctrl+wheel zooms."""
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
            return
        turned = event.angleDelta().y()
        if turned:
            self.timeline.zoom_about(self.step_at(event.position().x()), ZOOM if turned < 0 else 1 / ZOOM)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move by step, + and - zoom, Escape shows all."""
        key = event.key()
        low, high = self.timeline.range
        place = self.timeline.pointer if self.timeline.pointer is not None else high
        stride = max(1.0, (high - low) / 100)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.timeline.point(min(max(place + (stride if key == Qt.Key.Key_Right else -stride), low), high))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.timeline.zoom_about(place, 1 / ZOOM)
        elif key == Qt.Key.Key_Minus:
            self.timeline.zoom_about(place, ZOOM)
        elif key == Qt.Key.Key_Escape and (self.timeline.zoomed or self.timeline.pointer is not None):
            self.timeline.reset()
            self.timeline.point(None)
        else:
            event.ignore()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange and hasattr(self, "_read_out"):
            self.restyle(self.style_)
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints the focus ring: a stylesheet border would take space that pyqtgraph does not know about."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self.viewport())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(self.style_.pen("second", 2.0))
            painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(1, 1, -1, -1), 6, 6)
            painter.end()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.timeline.point(None)
        self.viewport().update()
