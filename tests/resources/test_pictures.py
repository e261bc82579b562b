"""The pictures that are shipped are those that the README shows."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_picture_is_shown_and_every_one_shown_is_there():
    shown = re.findall(r"!\[[^\]]+\]\((resources/pictures/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    there = [path.relative_to(ROOT).as_posix() for path in (ROOT / "resources" / "pictures").iterdir()]
    assert sorted(shown) == sorted(there)
