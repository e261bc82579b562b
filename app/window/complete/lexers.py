"""Which lexer reads a file: by the ending of its name, as Pygments lists them, without trying a thousand patterns."""

from __future__ import annotations

import functools

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, get_all_lexers
from pygments.util import ClassNotFound

# Endings that several languages claim: the one that most files of that name are in.
USUAL = {
    "*.h": "c",
    "*.m": "objective-c",
    "*.pl": "perl",
    "*.ts": "typescript",
    "*.v": "verilog",
    "*.s": "gas",
    "*.inc": "php",
    "*.cls": "tex",
    "*.html": "html",
    "*.xml": "xml",
    "*.sql": "sql",
    "*.r": "splus",
    "*.cl": "common-lisp",
    "*.php": "php",
    "*.fs": "fsharp",
}


def lexer_for(path: str, language: str = "") -> Lexer | None:
    """The lexer for a file's name, or for a language's; None where Pygments knows neither."""
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2].lower()
    patterns = [name, f"*.{ending}"] if name else []
    found = [alias for pattern in patterns for alias in _aliases().get(pattern, ())]
    usual = [USUAL[pattern] for pattern in patterns if pattern in USUAL]
    for alias in (*usual, *found, language):
        try:
            if alias:
                return find_lexer_class_by_name(alias)()
        except ClassNotFound:
            continue
    return None


@functools.cache
def _aliases() -> dict[str, list[str]]:
    """The names of the lexers for "*.py" and "Makefile"."""
    result: dict[str, list[str]] = {}
    for _name, aliases, patterns, _types in get_all_lexers(plugins=False):
        for pattern in patterns if aliases else ():
            result.setdefault(pattern, []).append(aliases[0])
    return result
