"""The docstring of a package is its architecture document: every module and every package in it is named there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(
    str(init.parent.relative_to(ROOT)) for top in ("app", "engine") for init in (ROOT / top).rglob("__init__.py")
)


def docstring(package: str) -> str:
    source = (ROOT / package / "__init__.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)) or ""


def members(package: str) -> set[str]:
    """Modules and packages directly inside."""
    inside = [path for path in (ROOT / package).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    return {path.stem for path in inside} - {"__init__"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_named_in_the_docstring_of_its_package(package):
    unnamed = members(package) - set(re.findall(r"\w+", docstring(package)))
    assert not unnamed, f"{package}/__init__.py says nothing about {', '.join(sorted(unnamed))}"


def test_every_folder_of_the_resources_is_named():
    folders = {path.name for path in (ROOT / "resources").iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders <= set(re.findall(r"\w+", docstring("resources")))
