"""Colours by line: whatever is edited, they are what reading the whole text again would give."""

from __future__ import annotations

import itertools
import random

import pytest

from app.window.complete.colouring import lexer_for
from app.window.complete.syntax import ROOT, LineSyntax, kind_of, read

PYTHON = '''"""A module
of several lines."""

import os  # why


class Shelf:
    """Holds boxes."""

    def put(self, name: str, count: int = 3) -> None:
        text = f"{name} and {count!r}"
        if not text in self.boxes:
            raise KeyError(text)
'''
C = """/* a comment
   over lines */
#include <stdio.h>

static int add(int a, int b) {
    /* inside
     * another */
    return a + b; // end
}

const char *name = "box";
"""
SCRIPT = """// TypeScript
export class Shelf<T> {
  private boxes: Map<string, T> = new Map();

  put(name: string, box: T): void {
    const words = `put ${name}
      on the shelf`;
    this.boxes.set(name, box);
  }
}
"""
MARKUP = "# Title\n\nSome *words* and `code`.\n\n```python\ndef f():\n    return 1\n```\n\nMore.\n"
YAML = "a:\n  - one: 1\n    two: |\n      text\n      more\nb: [1, 2]\n"
JSON = '{\n  "name": "box",\n  "sizes": [1, 2.5, true, null]\n}\n'
TEXTS = {"a.py": PYTHON, "a.c": C, "a.ts": SCRIPT, "a.md": MARKUP, "a.yaml": YAML, "a.json": JSON}
EXACT = ("a.py", "a.c", "a.ts", "a.md")  # lexers whose states are known


def whole(name: str, lines: list[str]) -> list[list]:
    """The spans of a text that is read at once."""
    text, spans = "\n".join(lines), [[] for _ in lines]
    kinds = [""] * len(text)
    for begin, token in read(lexer_for(name), text, ROOT):
        kinds[begin : token.end] = [token.kind] * (token.end - begin)
    place = 0
    for line, into in zip(lines, spans, strict=True):
        for kind, run in itertools.groupby(range(place, place + len(line)), key=kinds.__getitem__):
            run = list(run)
            if kind:
                into.append((run[0] - place, len(run), kind))
        place += len(line) + 1
    return spans


def finish(syntax: LineSyntax) -> set[int]:
    changed, rounds = set(), 0
    while not syntax.is_done:
        changed.update(syntax.advance())
        rounds += 1
        assert rounds < 5000, "no end"
    return changed


def made(name: str, text: str) -> LineSyntax:
    syntax = LineSyntax(lexer_for(name))
    syntax.replace(0, 1, text.split("\n"))
    finish(syntax)
    return syntax


@pytest.mark.parametrize("name", TEXTS)
def test_tokens_are_those_of_pygments(name):
    """Our walk over the rules gives what the library's own gives."""
    lexer, text = lexer_for(name), TEXTS[name]
    theirs = [
        (place, kind_of(token), len(value)) for place, token, value in lexer.get_tokens_unprocessed(text) if value
    ]
    ours = [(place, token.kind, token.end - place) for place, token in read(lexer, text, ROOT)]
    assert ours == theirs
    assert {kind for _, kind, _ in ours} - {""}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_windows_is_coloured_as_a_whole(name):
    text = TEXTS[name] * 12
    syntax = made(name, text)
    assert syntax.spans == whole(name, text.split("\n"))


@pytest.mark.parametrize("name", EXACT)
def test_after_any_edits_the_colours_are_those_of_a_fresh_text(name):
    chance = random.Random(name)
    lines = (TEXTS[name] * 4).split("\n")
    syntax = made(name, "\n".join(lines))
    pieces = [
        "",
        "x = 1",
        '"""',
        "'",
        "/*",
        "*/",
        "`",
        "```",
        "def f():",
        "    return",
        "// no",
        '"',
        "#",
        "}",
        "  ${a}",
    ]
    for round_ in range(30):
        first = chance.randrange(len(lines))
        removed = min(chance.choice([0, 1, 1, 1, 3]), len(lines) - first)
        new = [chance.choice(pieces) for _ in range(chance.choice([1, 1, 2]) if removed else chance.choice([1, 2]))]
        lines[first : first + removed] = new
        syntax.replace(first, removed, new)
        if chance.random() < 0.4:
            syntax.advance()  # and another edit before it is done
            continue
        finish(syntax)
        assert syntax.spans == whole(name, lines), (name, round_)


def test_one_changed_line_is_read_and_little_else():
    lines = (PYTHON * 60).split("\n")
    syntax = made("a.py", "\n".join(lines))
    middle = next(i for i in range(len(lines) // 2, len(lines)) if "text = " in lines[i])
    syntax.replace(middle, 1, ["        text = 'other'"])
    rounds = 0
    while not syntax.is_done:
        assert set(syntax.advance()) <= {middle}
        rounds += 1
    assert rounds == 1 and syntax.spans[middle][0][2] == "string"


def test_an_opened_comment_colours_what_follows_and_closing_it_gives_it_back():
    lines = (C * 10).split("\n")
    syntax = made("a.c", "\n".join(lines))
    syntax.replace(2, 1, ["/*"])
    finish(syntax)
    assert syntax.spans[4] == [(0, len(lines[4]), "comment")]
    syntax.replace(2, 1, [lines[2]])
    finish(syntax)
    assert syntax.spans == whole("a.c", lines)


def test_lines_that_are_looked_at_first_have_colours_before_their_turn():
    lines = (PYTHON * 100).split("\n")
    syntax = LineSyntax(lexer_for("a.py"))
    syntax.replace(0, 1, lines)
    place = next(i for i in range(900, len(lines)) if lines[i].startswith("class"))
    assert place in syntax.guess(place, place + 20)
    right = whole("a.py", lines)
    assert syntax.spans[place : place + 10] == right[place : place + 10]
    finish(syntax)
    assert syntax.spans == right


def test_a_file_that_nobody_knows_has_no_colours():
    assert lexer_for("notes.nobody-knows-this") is None and lexer_for("", "") is None
    assert type(lexer_for("", "Python")).__name__ == "PythonLexer"
    for name, lexer in (("a/b.ts", "TypeScriptLexer"), ("x.h", "CLexer"), ("Makefile", "MakefileLexer"), ("A.PY", "P")):
        assert type(lexer_for(name)).__name__.startswith(lexer), name
    syntax = made("x.nobody-knows-this", "a\nb")
    assert syntax.is_done and syntax.spans == [[], []]
