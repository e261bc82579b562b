"""The panels under the editor: comparison, blend, timeline, scores and options, any number of them open."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.state.application import Application
from app.window.complete.blend_row import BlendRow
from app.window.complete.folds import BLEND, COMPARE, OPTIONS, SCORES, TIMELINE, FoldStrip
from app.window.complete.options_card import OptionsCard
from app.window.complete.scores_card import ScoresCard
from app.window.complete.side_by_side import SideBySide
from app.window.complete.suggester import Suggester
from app.window.complete.timeline import Timeline
from app.window.parts import GAP, Card

LEAST_HEIGHT = 120  # pixels


class Drawer(QScrollArea):
    """Hidden while no panel is open.  `strip` knows which are."""

    height_changed = Signal()  # of what is in it

    def __init__(self, application: Application, suggester: Suggester, strip: FoldStrip) -> None:
        super().__init__()
        self._completion, self._strip = application.completion, strip
        self.sides = SideBySide(application, suggester)
        self.blend = BlendRow(application.completion, suggester)
        self.timeline = Timeline(application, suggester)
        self.scores = ScoresCard(application)
        self.options = OptionsCard(application.completion, application.settings)
        self._parts: dict[str, QWidget] = {
            COMPARE: self.sides,
            BLEND: in_a_card(self.blend),
            TIMELINE: in_a_card(self.timeline),
            SCORES: self.scores,
            OPTIONS: self.options,
        }
        inner = QWidget()
        inner.setObjectName("page")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        for names in ((COMPARE,), (BLEND, TIMELINE), (SCORES, OPTIONS)):
            row = QHBoxLayout()
            row.setSpacing(GAP)
            for name in names:
                row.addWidget(self._parts[name], 2 if name == OPTIONS else 1)
            column.addLayout(row)
        column.addStretch(1)
        self.setObjectName("page_view")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMinimumHeight(LEAST_HEIGHT)
        self.setWidget(inner)
        inner.installEventFilter(self)
        self.sides.arranged.connect(self.blend.on_arranged)
        self.scores.known_changed.connect(self.refresh)
        self._completion.changed.connect(self.on_completion_changed)
        strip.toggled.connect(self.on_toggled)
        self.refresh()
        self.on_completion_changed()

    @Slot()
    def refresh(self) -> None:
        """Show the open panels; scores only if there are any."""
        strip = self._strip
        strip.buttons[SCORES].setVisible(self.scores.is_known)
        for name, part in self._parts.items():
            part.setVisible(strip.is_open(name) and (name != SCORES or self.scores.is_known))
        self.setVisible(any(not part.isHidden() for part in self._parts.values()))
        self.offer()

    def wanted_height(self) -> int:
        """The height that shows all of it."""
        inner = self.widget()
        height = inner.heightForWidth(inner.width()) if inner.hasHeightForWidth() else -1
        return max(height, inner.sizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            self.height_changed.emit()
        return super().eventFilter(watched, event)

    def offer(self) -> None:
        """Choose a second model if one is needed to compare or blend."""
        if self._strip.is_open(COMPARE) or self._strip.is_open(BLEND):
            self.sides.offer()

    @Slot(str, bool)
    def on_toggled(self, _name: str, _is_open: bool) -> None:
        self.refresh()

    @Slot()
    def on_completion_changed(self) -> None:
        """A blend is shown on its button: it has an effect even while its panel is closed."""
        self._strip.say(BLEND, self.blend.share_words if self._completion.blend else "")


def in_a_card(part: QWidget) -> Card:
    card = Card()
    card.column.addWidget(part)
    card.column.addStretch(1)
    return card
