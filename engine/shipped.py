"""What the program comes with, found without loading anything that computes: the window needs it at its start."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files as resource_files
from pathlib import Path
from typing import Any

BUILT_IN = "starter.json"


def starter_place() -> Path:
    """Where the built-in model is, if there is one."""
    return Path(str(resource_files("resources"))) / "starter"


def fits_place() -> Path:
    return Path(str(resource_files("resources"))) / "memory"


@cache
def built_in_content() -> dict[str, Any]:
    """The numbers fitted to the built-in model, as JSON."""
    return json.loads((fits_place() / BUILT_IN).read_text("utf-8"))


def fit_contents() -> list[dict[str, Any]]:
    """The numbers fitted to each base model."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(fits_place().glob("*.json"))]


def usual_least_chance() -> float:
    """A suggestion is shown from this chance of being accepted on, unless the user chose another."""
    return built_in_content()["least"]
