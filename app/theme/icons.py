"""The program's SVG icons in a colour of the theme: `currentColor` is replaced before a file is rendered."""

from __future__ import annotations

import functools
import importlib.resources

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

APP_ICON_SIZES = (16, 24, 32, 48, 64, 128, 256)


@functools.cache
def _source(name: str) -> str:
    return (importlib.resources.files("resources") / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def pixmap(name: str, colour: str, size: int, ratio: float = 1.0) -> QPixmap:
    """An icon of `size` device-independent pixels, sharp on a screen of that ratio."""
    key = f"codecoil {name} {colour} {size} {ratio}"
    cached = QPixmap()
    if QPixmapCache.find(key, cached):
        return cached
    image = QPixmap(round(size * ratio), round(size * ratio))
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    drawing = QByteArray(_source(name).replace("currentColor", colour).encode())
    QSvgRenderer(drawing).render(painter, QRectF(image.rect()))
    painter.end()
    image.setDevicePixelRatio(ratio)
    QPixmapCache.insert(key, image)
    return image


def icon(name: str, colour: str, size: int = 18) -> QIcon:
    """An icon for a button, at one and two times the size."""
    result = QIcon(pixmap(name, colour, size))
    result.addPixmap(pixmap(name, colour, size, 2.0))
    return result


def app_icon(colour: str) -> QIcon:
    """The mark, for windows and task bars."""
    result = QIcon()
    for size in APP_ICON_SIZES:
        result.addPixmap(pixmap("codecoil", colour, size))
    return result
