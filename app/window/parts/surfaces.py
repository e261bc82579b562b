"""Surfaces: pages, the column of cards in them that scrolls when the window is too low, cards and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QScrollArea, QVBoxLayout, QWidget

from app.window.parts.labels import SectionTitle, set_style

if TYPE_CHECKING:
    from app.state.application import Application

MARGINS = (16, 14, 16, 14)
GAP = 14  # between the cards of a page
EDGE = 20  # left and right of them
BAR = 12  # a scroll bar's width in the stylesheet


class Card(QFrame):
    """A surface with a column of its own (`column`) and, when it has a title, a heading row (`heading`).

    `kind` is "plain", "accent" (an offer), "warn" or "error": the border's colour, never the only sign of it.
    """

    def __init__(self, title: str = "", kind: str = "plain", margins=MARGINS, spacing: int = 8) -> None:
        super().__init__()
        self.setProperty("card", kind)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(*margins)
        self.column.setSpacing(spacing)
        self.heading: SectionTitle | None = None
        if title:
            self.heading = SectionTitle(title)
            self.column.addWidget(self.heading)
            self.setAccessibleName(title)

    def set_kind(self, kind: str) -> None:
        """Another border."""
        set_style(self, "card", kind)


def rule() -> QFrame:
    """A line of one pixel between two parts of a card."""
    line = QFrame()
    line.setProperty("role", "rule")
    line.setFixedHeight(1)
    return line


def steady_scroll_bar(view: QAbstractScrollArea) -> None:
    """A scroll bar that always takes its room, so that columns keep their width; a handle only when it is needed."""
    view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    bar = view.verticalScrollBar()
    bar.rangeChanged.connect(lambda low, high: bar.setEnabled(high > low))
    bar.setEnabled(False)


class PageColumn(QScrollArea):
    """The column that a page puts its cards into; scrolls vertically where the window is too low, never sideways."""

    edge = EDGE  # right of the cards; a scroll bar stands in it

    def __init__(self, spacing: int = GAP) -> None:
        super().__init__()
        self.setObjectName("page_view")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        page = QWidget()
        page.setObjectName("page")
        self.column = QVBoxLayout(page)
        self.column.setContentsMargins(EDGE, 18, self.edge, 18)
        self.column.setSpacing(spacing)
        self.setWidget(page)
        self.verticalScrollBar().rangeChanged.connect(self.on_range_changed)

    @Slot(int, int)
    def on_range_changed(self, _low: int, high: int) -> None:
        """Keep the right edge of the cards when the scroll bar appears or disappears."""
        margins = self.column.contentsMargins()
        margins.setRight(self.edge - (BAR if high > 0 else 0))
        self.column.setContentsMargins(margins)


class Page(QWidget):
    """A page of the rail.  `body` is its layout, without margins: put a `PageColumn` or your own splitter into it.

    The frame makes a page when it is first shown, so slow imports belong into the page's module and not into the
    window's start.  State lives in the controllers: a page that is made late reads it from there.
    """

    title: ClassVar[str] = ""  # the word in the rail
    icon: ClassVar[str] = ""  # a file of resources/icons, without its ending

    page_wanted = Signal(str)  # the title of a page to show: "Adapt", "Complete", ...
    folder_wanted = Signal()  # let the user choose a folder
    base_models_wanted = Signal()  # the list of base models
    file_wanted = Signal(str, int)  # a file of the repository and a line of it, from 1, to show in the editor

    def __init__(self, application: Application) -> None:
        super().__init__()
        self.application = application
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(0)

    def on_shown(self) -> None:
        """The page came to the front.  Overridden by pages that do some work only when they are visible."""

    def keep_place(self) -> None:
        """The window is closing: remember splitters and so on (`application.settings.keep_place`)."""

    def holds_window(self) -> bool:
        """The window is about to close: whether the page asks something first, and closes it afterwards."""
        return False
