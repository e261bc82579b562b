"""Inter and JetBrains Mono from `resources/fonts`, so that the program looks the same on every machine."""

from __future__ import annotations

import importlib.resources
import logging

from PySide6.QtGui import QFont, QFontDatabase

from engine.errors import ConfigError

INTERFACE, CODE = "Inter", "JetBrains Mono"
FILES = (
    "Inter-Regular.otf",
    "Inter-Medium.otf",
    "Inter-SemiBold.otf",
    "JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Bold.ttf",
)
BODY, LABEL, TITLE, FIGURE = 13, 12, 19, 22  # pixels

log = logging.getLogger(__name__)

_loaded = False


def load_fonts() -> None:
    """Register the fonts with Qt, once.  Without them the system's are used; ConfigError where there is no font."""
    global _loaded
    if _loaded:
        return
    folder = importlib.resources.files("resources") / "fonts"
    for name in FILES:
        try:
            content = (folder / name).read_bytes()
        except OSError:
            content = b""
        if QFontDatabase.addApplicationFontFromData(content) < 0:
            log.warning("The font %s cannot be used", name)
    if not QFontDatabase.families():
        raise ConfigError(
            "There is no usable font: neither Codecoil's own nor the system's can be read.",
            "Install Codecoil again, or install any font.",
        )
    _loaded = True


def interface_font(pixels: int = BODY, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Inter with tabular numerals: nothing jumps when a number changes."""
    font = QFont(INTERFACE)
    font.setPixelSize(pixels)
    font.setWeight(weight)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def code_font(pixels: int = LABEL) -> QFont:
    """JetBrains Mono."""
    font = QFont(CODE)
    font.setPixelSize(pixels)
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font
