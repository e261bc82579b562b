"""The family tree of checkpoints: each below what it was made from.  Click one to select it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.theme import Theme
from app.theme.fonts import BODY, LABEL, interface_font
from app.values.checkpoints import LineageNode
from app.values.words import mode_words
from app.window.checkpoints.cells import selection
from app.window.checkpoints.family import Line, family
from app.window.checkpoints.words import loss_words
from app.window.parts import Card, label, tip, tip_words

HEIGHT, INDENT, DOT = 28, 18, 4
EDGE = 8
REST = 96  # pixels on the right for mode and loss
BETWEEN = 8  # pixels between a name and its other parent
LEAST_BESIDES = 90  # pixels for the other parent
ELIDED = Qt.TextElideMode.ElideMiddle


class LineageTree(QWidget):
    """Custom-painted; only the visible lines are drawn."""

    chosen = Signal(str)  # id, by the user
    help_keys = (("In the lineage: move, select", "Up, Down, Enter"),)

    def __init__(self) -> None:
        super().__init__()
        self.lines: tuple[Line, ...] = ()
        self.current = ""
        self._place = -1  # the line with the keyboard cursor
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        Theme.current().restyled.connect(self.on_restyled)

    def show_lines(self, lines: Sequence[Line], current: str) -> None:
        """The tree, and the id of the selected checkpoint."""
        self.lines, self.current = tuple(lines), current
        self._place = next((place for place, line in enumerate(self.lines) if line.row.id == current), -1)
        words = "; ".join(f"{'under ' * bool(line.depth)}{line.row.name}" for line in self.lines[:20])
        self.setAccessibleName(f"Lineage: {words}")
        self.setFixedHeight(max(1, len(self.lines)) * HEIGHT)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, max(1, len(self.lines)) * HEIGHT)

    def line_at(self, y: float) -> Line | None:
        """The line at a y coordinate."""
        place = int(y // HEIGHT)
        return self.lines[place] if 0 <= place < len(self.lines) else None

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = Theme.current().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        first, last = event.rect().top() // HEIGHT, event.rect().bottom() // HEIGHT
        for place in range(max(0, first), min(last + 1, len(self.lines))):
            line, room = self.lines[place], QRectF(0, place * HEIGHT, self.width(), HEIGHT)
            chosen = line.row.id == self.current
            if chosen:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(selection(tokens))
                painter.drawRoundedRect(room.adjusted(0, 1, 0, -1), 6, 6)
            if self.hasFocus() and place == self._place:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(QColor(tokens.second), 2))
                painter.drawRoundedRect(room.adjusted(1, 1, -1, -1), 6, 6)
            self._paint_branch(painter, line, room, tokens)
            self._paint_words(painter, line, room, chosen, tokens)

    @staticmethod
    def _paint_branch(painter: QPainter, line: Line, room: QRectF, tokens) -> None:
        """The connecting lines and the dot: a ring for a full model, filled for a delta."""
        painter.setPen(QPen(QColor(tokens.dim), 1.2))
        middle = room.center().y()

        def x(depth: int) -> float:
            return EDGE + DOT + depth * INDENT

        for depth, runs_on in enumerate(line.rails):
            if runs_on:
                painter.drawLine(QPointF(x(depth), room.top()), QPointF(x(depth), room.bottom()))
        if line.depth:
            stem = x(line.depth - 1)
            painter.drawLine(QPointF(stem, room.top()), QPointF(stem, middle if line.last else room.bottom()))
            painter.drawLine(QPointF(stem, middle), QPointF(x(line.depth) - DOT, middle))
        hue = QColor(tokens.second if line.row.mode != "merge" else tokens.third)
        painter.setPen(QPen(hue, 1.6))
        painter.setBrush(hue if line.row.kind == "delta" else QColor(tokens.panel))
        painter.drawEllipse(QPointF(x(line.depth), middle), DOT, DOT)

    @staticmethod
    def _paint_words(painter: QPainter, line: Line, room: QRectF, chosen: bool, tokens) -> None:
        left = EDGE + 2 * DOT + 8 + line.depth * INDENT
        row = line.row
        words = " ".join(filter(None, (mode_words(row.mode), loss_words(row.held_out_loss).strip("–"))))
        painter.setFont(interface_font(LABEL))
        painter.setPen(QColor(tokens.mute))
        painter.drawText(room.adjusted(0, 0, -EDGE, 0), _right(), words)
        weight = QFont.Weight.DemiBold if chosen else QFont.Weight.Normal
        painter.setFont(interface_font(BODY, weight))
        painter.setPen(QColor(tokens.ink))
        space = room.adjusted(left, 0, -REST - EDGE, 0)
        metrics = painter.fontMetrics()
        name = metrics.elidedText(row.name, ELIDED, int(space.width()))
        left_over = int(space.width()) - metrics.horizontalAdvance(name) - BETWEEN
        shown = bool(line.besides) and left_over >= LEAST_BESIDES  # otherwise only in the tool tip
        besides = metrics.elidedText(f"also from {line.besides}", ELIDED, left_over) if shown else ""
        painter.drawText(space, Qt.AlignmentFlag.AlignVCenter, name)
        painter.setPen(QColor(tokens.mute))
        space.setLeft(space.left() + metrics.horizontalAdvance(name) + BETWEEN)
        painter.drawText(space, Qt.AlignmentFlag.AlignVCenter, besides)

    # ---- mouse and keys

    def event(self, event: QEvent) -> bool:
        """The tool tip has the full name."""
        if event.type() == QEvent.Type.ToolTip:
            line = self.line_at(event.pos().y())
            QToolTip.showText(event.globalPos(), tip_words(line_words(line)) if line is not None else "", self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        line = self.line_at(event.position().y())
        if line is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(line.row.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down move, Enter selects."""
        key = event.key()
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self.lines:
            step = 1 if key == Qt.Key.Key_Down else -1
            self._place = min(max(self._place + step, 0), len(self.lines) - 1)
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and 0 <= self._place < len(self.lines):
            self.chosen.emit(self.lines[self._place].row.id)
        else:
            event.ignore()

    @Slot(object)
    def on_restyled(self, _tokens) -> None:
        self.update()


def line_words(line: Line) -> str:
    """A line of the tree as text."""
    return f"{line.row.name}, also made from {line.besides}" if line.besides else line.row.name


class LineageCard(Card):
    """The family tree of one checkpoint, or of all."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__("Lineage", margins=(12, 12, 12, 10), spacing=6)
        self.heading.row.setContentsMargins(4, 0, 0, 0)
        tip(
            self.heading.title,
            "Each checkpoint below what it was made from. A ring is a full model, a dot needs its base.",
        )
        self.tree = LineageTree()
        self.tree.chosen.connect(self.chosen)
        self.more = label("", "label")
        self.column.addWidget(self.tree)
        self.column.addWidget(self.more)

    def show_family(self, nodes: Sequence[LineageNode], id: str) -> None:
        """Of one checkpoint, or of all for ""."""
        lines, lost = family(nodes, id)
        self.tree.show_lines(lines, id)
        self.more.setText(f"and {lost:,} more")
        self.more.setVisible(lost > 0)


def _right() -> Qt.AlignmentFlag:
    return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
