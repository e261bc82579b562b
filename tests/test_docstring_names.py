"""Names in backticks in a docstring are there: what was renamed is renamed in words, too."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOPS = ("app", "engine", "tests", "packaging")
SOURCES = sorted(path for top in TOPS for path in (ROOT / top).rglob("*.py"))
NAME = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)(?:\(\))?`(?!`)")
FILE = re.compile(r"(?<!`)`((?:app|engine|shaders|resources|tests|packaging)/[\w./]+\.\w+)`(?!`)")
FOREIGN = {"PlotWidget", "tee", "snake_case", "HLSStr", "HLSStrip"}  # of a library, a shell, or an example


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> list[ast.Constant]:
    """Every text that stands alone: docstrings, and those below a constant or an attribute."""
    alone = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return [value for value in alone if isinstance(value, ast.Constant) and isinstance(value.value, str)]


def names_in(tree: ast.Module) -> set[str]:
    """Everything that is called something: functions, arguments, attributes, and words in texts that are data."""
    found: set[str] = set()
    words = {id(text) for text in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(node.module.split("."))
        elif isinstance(node, ast.alias):
            found.update(node.name.split("."), [node.asname or ""])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            found.update(re.findall(r"\w+", node.value))
    return found


@cache
def known() -> frozenset[str]:
    found = set(FOREIGN)
    for path in SOURCES:
        found.update(path.relative_to(ROOT).with_suffix("").parts)
        found |= names_in(tree_of(path))
    for shader in (ROOT / "shaders").rglob("*.wgsl"):
        found.update([shader.stem], re.findall(r"\w+", shader.read_text(encoding="utf-8")))
    return frozenset(found)


def test_every_name_in_a_docstring_is_somewhere():
    wrong = [
        f"{path.relative_to(ROOT)}:{text.lineno}: {name}"
        for path in SOURCES
        for text in docstrings(tree_of(path))
        for name in NAME.findall(text.value)
        if name.split(".")[-1] not in known()
    ]
    assert not wrong, "\n".join(wrong)


def test_every_file_in_a_docstring_is_there():
    wrong = [
        f"{path.relative_to(ROOT)}:{text.lineno}: {name}"
        for path in SOURCES
        for text in docstrings(tree_of(path))
        for name in FILE.findall(text.value)
        if not (ROOT / name).exists()
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("text", "names"), [("`a.b` and ``c``", ["a.b"]), ("`run()`, `x y`, `-`", ["run"])])
def test_what_counts_as_a_name(text, names):
    assert NAME.findall(text) == names
