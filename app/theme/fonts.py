"""Inter and JetBrains Mono from `resources/fonts`, so that the program looks the same on every machine."""

from __future__ import annotations

import importlib.resources

from PySide6.QtGui import QFont, QFontDatabase

INTERFACE, CODE = "Inter", "JetBrains Mono"
FILES = (
    "Inter-Regular.otf",
    "Inter-Medium.otf",
    "Inter-SemiBold.otf",
    "JetBrainsMono-Regular.ttf",
    "JetBrainsMono-Bold.ttf",
)
BODY, LABEL, TITLE, FIGURE = 13, 12, 19, 22  # pixels

_loaded = False


def load_fonts() -> None:
    """Register the fonts with Qt, once."""
    global _loaded
    if _loaded:
        return
    folder = importlib.resources.files("resources") / "fonts"
    for name in FILES:
        if QFontDatabase.addApplicationFontFromData((folder / name).read_bytes()) < 0:
            raise RuntimeError(f"Qt cannot read the font {name}")
    _loaded = True


def interface_font(pixels: int = BODY, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Inter with numerals of one width: nothing jumps when a number changes."""
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
