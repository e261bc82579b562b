"""Pictures of the window, numbered by scene."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from app.desktop import Desktop
from tour.simulated_user import SceneFailed, SimulatedUser

USUAL, LARGE, SMALL = (1280, 800), (1920, 1080), (1024, 700)
DARK, LIGHT = "dark", "light"
SMALLEST = 0  # PNG quality: the strongest compression


class Camera:
    """Saves what the window shows now, in the theme it has now.

    Taking a picture in both themes leaves the window in the other one, so that light and dark alternate.
    Without `both` there is one theme and one size.
    """

    def __init__(self, desktop: Desktop, user: SimulatedUser, out: Path, both: bool) -> None:
        self._desktop, self._user, self._out, self._both = desktop, user, out, both
        self._number = 0
        self.pictures: list[Path] = []
        desktop.window.resize(*USUAL)
        desktop.settings.theme = DARK

    def take(self, name: str, both: bool = False) -> None:
        """One picture, or one in each theme."""
        self._number += 1
        self._save(name)
        if both and self._both:
            self._desktop.settings.theme = LIGHT if self._desktop.settings.theme == DARK else DARK
            self._save(name)

    def take_of(self, dialog: QWidget, name: str) -> None:
        """A window beside the main one."""
        self._number += 1
        self._save(name, of=dialog)

    def take_in(self, size: tuple[int, int], name: str) -> None:
        """The same in another window size."""
        if self._both:
            self._desktop.window.resize(*size)
            self._save(name, f"-{size[0]}")
            self._desktop.window.resize(*USUAL)
            self._user.settle()

    def _save(self, name: str, size: str = "", of: QWidget | None = None) -> None:
        self._user.settle()
        page = self._desktop.window.pages.currentWidget()
        if getattr(page, "board", None) is not None:
            page.board.draw_now()  # plots take turns in being drawn
        path = self._out / f"{self._number:02d}-{name}-{self._desktop.settings.theme}{size}.png"
        image = (of or self._desktop.window).grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
        if not image.save(str(path), "PNG", SMALLEST):
            raise SceneFailed(f"the picture {path} could not be written")
        self.pictures.append(path)
