"""Every sign that the program writes is in a font that it brings: a machine without fonts shows no empty boxes."""

from __future__ import annotations

import ast
import importlib.resources
from pathlib import Path

from PySide6.QtGui import QRawFont

from app.theme.fonts import FILES

ROOT = Path(__file__).parents[2]
UNSEEN = {"\u2028", "\u2029", "\U00010000", "｜"}  # separators of lines, a bound of letters, a sign in names of tokens


def test_every_sign_is_in_our_fonts(qapp):
    fonts = Path(str(importlib.resources.files("resources"))) / "fonts"
    known = [QRawFont(str(fonts / name), 13) for name in FILES]
    missing = {
        f"{sign} in {path.relative_to(ROOT)}"
        for path, words in [*_words_of_the_window(), *_words_of_the_help()]
        for sign in set(words) - UNSEEN
        if ord(sign) > 126 and not any(font.supportsCharacter(ord(sign)) for font in known)
    }
    assert not missing


def _words_of_the_window():
    for path in sorted((ROOT / "app").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


def _words_of_the_help():
    for path in sorted((ROOT / "resources" / "help").glob("*.md")):
        yield path, path.read_text("utf-8")
