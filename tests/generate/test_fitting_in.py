"""Whether a line may stand where it would: the lines around it, brackets, keys, docstrings, syntax."""

from __future__ import annotations

import pytest

from engine.generate.fitting_in import (
    BRACKETS,
    CODE_IN_TEXT,
    NOT_BETWEEN,
    NOTHING,
    REPEATS,
    SAME_KEY,
    Surroundings,
    is_statement,
)


def problem(before: str, text: str, after: str = "\n", path: str = "a.py", joined: bool = False) -> str:
    return Surroundings(before, after, path).problem(text, joined=joined)


@pytest.mark.parametrize(
    ("before", "text", "after", "wanted"),
    [
        ("a = 1\n", "b = 2", "\n", ""),
        ("a = 1\n", "a = 1", "\n", REPEATS),
        ("a = 1\n\n  ", "b = 2", "\n\nb = 2\n", REPEATS),
        ("a = ", "1", "\na = 1\n", REPEATS),
        ("f(x", ")", "\n", ""),
        ("f(x", "]", "\n", BRACKETS),
        ("x", ")", "\n", BRACKETS),
        ("f(", "a[0], b)", "\n", ""),
        ("x = '", "a)'", "\n", ""),
        ("f(", "a", ")\n", ""),
        ("f(", "a", " + b)\n", NOT_BETWEEN),
        ("a = 1\n", "  ", "\n", NOTHING),
        ("def f():\n    pass\n\n\n", "def f():", "\n", REPEATS),
        ("def f():\n    pass\n\n\ndef g(", "a):", "\n", ""),
        ("class A:\n    def f(self):\n        pass\n\n    ", "def f(self):", "\n", ""),
    ],
)
def test_lines_and_brackets(before, text, after, wanted):
    assert problem(before, text, after) == wanted


def test_the_rest_of_the_line_may_be_joined():
    assert problem("f(", "a", " + b)\n", joined=True) == ""


@pytest.mark.parametrize(
    ("path", "before", "text", "after", "wanted"),
    [
        ("a.json", '{\n  "name": 1,\n  ', '"name": 2', "\n}", SAME_KEY),
        ("a.json", '{\n  "name": 1,\n  ', '"other": 2', "\n}", ""),
        ("a.json", '{\n  "name": {\n    ', '"name": 2', "\n  }\n}", ""),
        ("a.toml", "[one]\nname = 1\n\n[two]\n", "name = 2", "\n", ""),
        ("a.toml", "[one]\nname = 1\n", "name = 2", "\n", SAME_KEY),
        ("a.toml", "[one]\n", "name = 2", "\nname = 1\n", SAME_KEY),
        ("a.yml", "a:\n  name: 1\n  ", "name: 2", "\n", SAME_KEY),
        ("a.yml", "- name: 1\n- ", "name: 2", "\n", ""),
        ("a.py", "name = 1\nx = 2\n", "name = 3", "\n", ""),
    ],
)
def test_no_key_twice_in_the_same_block(path, before, text, after, wanted):
    assert problem(before, text, after, path) == wanted


DOCSTRING = 'def f():\n    """Sums.\n\n    '


@pytest.mark.parametrize(
    ("before", "text", "wanted"),
    [
        (DOCSTRING, "return total", CODE_IN_TEXT),
        (DOCSTRING, "@property", CODE_IN_TEXT),
        (DOCSTRING, "Returns the total.", ""),
        (DOCSTRING, ":return: the total", ""),
        (DOCSTRING, "Note: it is slow", ""),
        (DOCSTRING, '"""', ""),
        (DOCSTRING + "Example::\n\n        ", "total = f()", ""),
        (DOCSTRING + "x = 1\n    ", "total = f()", ""),
        (DOCSTRING + '"""\n    ', "return total", ""),
    ],
)
def test_no_code_in_a_docstring(before, text, wanted):
    assert problem(before, text) == wanted


def test_three_quotes_mean_nothing_elsewhere():
    assert problem(DOCSTRING, "return total", path="a.go") == ""


@pytest.mark.parametrize(
    ("line", "is_code"),
    [("x = 1", True), ("if a:", True), ("import os", True), ("The sum", False), ("total", False), ("Args:", False)],
)  # fmt: skip
def test_statements(line, is_code):
    assert is_statement(line) is is_code


@pytest.mark.parametrize(
    ("path", "before", "text", "after", "wanted"),
    [
        ("a.py", "def f():\n    ", "return 1", "\n", True),
        ("a.py", "x = 1\n", "else 2", "\ny = 2\n", False),
        ("a.py", "x = 1\n", "for a in b:", "\ny = 2\n", True),  # opens more
        ("a.py", "x = (\n", "else 2", "\n", True),  # it did not parse before, either
        ("a.json", '{"a": 1\n', ', "b": 2', "\n}", True),
        ("a.json", '{"a": 1\n', '"b": 2', "\n}", False),
        ("a.toml", "a = 1\n", "b = [1", "\n", False),
        ("a.rs", "x = 1\n", "else 2", "\n", True),
    ],
)
def test_what_parsed_still_parses(path, before, text, after, wanted):
    assert Surroundings(before, after, path).parses(text) is wanted


@pytest.mark.parametrize(
    ("line", "lines", "wanted"),
    [
        ("    b = 2", ["    a = 1"], True),
        ("b = 2", ["    a = 1"], False),
        ("    a = 1", ["    a = 1"], False),
        ("", ["    a = 1"], True),
        ("", ["    a = 1", ""], False),
        ("    c = 3", ["    a = 1"], False),
    ],
)
def test_further_lines_of_the_block(line, lines, wanted):
    assert Surroundings("def f():\n    ", "\n    c = 3\n", "a.py").goes_on(line, lines) is wanted


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("def f():\n    ", "\n    return 1\n", False),
        ("def f():\n    ", "\n\n\ndef g():\n", True),
        ("def f():\n    ", "", True),
        ("x = 1\n", "\ny = 2\n", False),
    ],
)
def test_the_end_of_a_block(before, after, wanted):
    assert Surroundings(before, after, "a.py").ends_block is wanted
