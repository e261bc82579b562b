"""Pictures of the window, numbered by station."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QImage

from app.desktop import Desktop
from app.tour.hands import Hands, StationMissed

USUAL, LARGE, SMALL = (1280, 800), (1920, 1080), (1024, 700)
DARK, LIGHT = "dark", "light"
SMALLEST = 0  # of PNG's qualities: packed as hard as it goes


class Camera:
    """Takes what the window shows now, in the scheme it has now.

    A station that is taken in both schemes leaves the other one behind, so that light and dark take turns.
    In brief (not `both`) there is one scheme and one size.
    """

    def __init__(self, desktop: Desktop, hands: Hands, out: Path, both: bool) -> None:
        self._desktop, self._hands, self._out, self._both = desktop, hands, out, both
        self._number = 0
        self.pictures: list[Path] = []
        desktop.window.resize(*USUAL)
        desktop.settings.theme = DARK

    def take(self, name: str, both: bool = False) -> None:
        """One picture, or one in each scheme."""
        self._number += 1
        self._save(name)
        if both and self._both:
            self._desktop.settings.theme = LIGHT if self._desktop.settings.theme == DARK else DARK
            self._save(name)

    def take_in(self, size: tuple[int, int], name: str) -> None:
        """The same in another size of the window."""
        if self._both:
            self._desktop.window.resize(*size)
            self._save(name, f"-{size[0]}")
            self._desktop.window.resize(*USUAL)
            self._hands.settle()

    def _save(self, name: str, size: str = "") -> None:
        self._hands.settle()
        page = self._desktop.window.pages.currentWidget()
        if getattr(page, "board", None) is not None:
            page.board.draw_now()  # plots take turns in being drawn
        path = self._out / f"{self._number:02d}-{name}-{self._desktop.settings.theme}{size}.png"
        image = self._desktop.window.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
        if not image.save(str(path), "PNG", SMALLEST):
            raise StationMissed(f"The picture {path} could not be written.")
        self.pictures.append(path)
