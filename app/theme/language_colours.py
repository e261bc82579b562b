"""The colour of a programming language: its own, whatever its share, in every repository and in both schemes.  No Qt.

A language has a hue and one of two strengths; the lightness follows from the card behind it, so that each stands out
from it equally well.  Languages without a line in the table get a quieter hue from their name.
"""

from __future__ import annotations

import colorsys
import functools
import zlib

from app.theme.tokens import Tokens, contrast

SOFT, STRONG = 4.2, 7.0  # contrast against a card
FULL, QUIET, GREY = 0.62, 0.34, 0.2  # saturation

HUES = {  # degrees, and the contrast
    "c": (34, SOFT),
    "c#": (290, STRONG),
    "c++": (326, SOFT),
    "clojure": (100, STRONG),
    "cmake": (0, STRONG),
    "css": (285, SOFT),
    "cython": (52, STRONG),
    "dart": (190, STRONG),
    "dockerfile": (205, STRONG),
    "elixir": (275, STRONG),
    "glsl": (172, SOFT),
    "go": (188, SOFT),
    "haskell": (262, STRONG),
    "html": (14, SOFT),
    "java": (24, STRONG),
    "javascript": (46, SOFT),
    "json": (262, SOFT),
    "jupyter": (28, SOFT),
    "kotlin": (310, SOFT),
    "lua": (240, SOFT),
    "makefile": (90, STRONG),
    "markdown": (352, SOFT),
    "perl": (196, STRONG),
    "php": (245, STRONG),
    "powershell": (220, STRONG),
    "python": (214, SOFT),
    "r": (208, SOFT),
    "ruby": (2, STRONG),
    "rust": (18, STRONG),
    "scala": (356, STRONG),
    "scss": (322, STRONG),
    "shell": (110, SOFT),
    "sql": (38, STRONG),
    "svg": (42, STRONG),
    "swift": (8, SOFT),
    "toml": (30, STRONG),
    "tsx": (218, STRONG),
    "typescript": (202, STRONG),
    "vue": (150, SOFT),
    "wgsl": (156, SOFT),
    "xml": (70, SOFT),
    "yaml": (82, SOFT),
    "zig": (40, SOFT),
}


@functools.cache
def language_colour(language: str, tokens: Tokens) -> str:
    """#rrggbb for a language as the engine names it ("python")."""
    name = language.lower()
    if name in ("", "text"):
        return shade(200, GREY, STRONG, tokens.panel)
    if name in HUES:
        hue, ratio = HUES[name]
        return shade(hue, FULL, ratio, tokens.panel)
    number = zlib.crc32(name.encode())
    return shade(number % 360, QUIET, (SOFT, STRONG)[number // 360 % 2], tokens.panel)


def shade(hue: float, saturation: float, ratio: float, behind: str) -> str:
    """The colour of that hue whose contrast against `behind` is `ratio`, as near as eight bits allow."""
    far, near = (0.0, 1.0) if contrast("#000000", behind) > contrast("#ffffff", behind) else (1.0, 0.0)  # lightness
    colour = ""
    for _ in range(12):
        middle = (far + near) / 2
        channels = colorsys.hls_to_rgb(hue / 360, middle, saturation)
        colour = "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)
        if contrast(colour, behind) > ratio:
            far = middle
        else:
            near = middle
    return colour
