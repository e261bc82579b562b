"""What every page is: a widget with a title and an icon, made from the Application object."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

if TYPE_CHECKING:
    from app.state.application import Application


class Page(QWidget):
    """A page of the rail.  `body` is its layout, without margins: put a `PageColumn` or your own splitter into it.

    The frame makes a page when it is first shown, so slow imports belong into the page's module and not into the
    window's start.  State lives in the controllers: a page that is made late reads it from there.
    """

    title: ClassVar[str] = ""  # the word in the rail
    icon: ClassVar[str] = ""  # a file of resources/icons, without its ending

    page_wanted = Signal(str)  # the title of a page to show: "Adapt", "Complete", ...
    folder_wanted = Signal()  # let the user choose a folder
    file_wanted = Signal(str, int)  # a file of the repository and a line of it, from 1, to show in the editor

    def __init__(self, application: Application) -> None:
        super().__init__()
        self.application = application
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(0)

    def on_shown(self) -> None:
        """The page came to the front.  Overridden by pages that do something only when somebody looks."""

    def keep_place(self) -> None:
        """The window closes: remember splitters and the like (`application.settings.keep_place`)."""

    def holds_window(self) -> bool:
        """The window is about to close: whether the page asks something first, and closes it afterwards."""
        return False
