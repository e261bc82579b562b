"""The fits in `resources/memory/` as JSON: read without anything that computes, for a window at its start."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files as resource_files
from pathlib import Path
from typing import Any

BUILT_IN = "starter.json"


def fits_place() -> Path:
    return Path(str(resource_files("resources"))) / "memory"


@cache
def built_in_content() -> dict[str, Any]:
    return json.loads((fits_place() / BUILT_IN).read_text("utf-8"))


def usual_least_chance() -> float:
    """A suggestion is shown from this chance of being taken on, unless the user says otherwise."""
    return built_in_content()["least"]
