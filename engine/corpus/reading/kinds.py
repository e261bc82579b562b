"""What kind of file it is: code, prose, data, configuration or generated.  Scores count code alone.

This module is the only owner of that fact. The language (`languages`) mostly decides it; so can the name (a manual
page, a licence) and the text (a table of numbers in a Python file is data). Prose and data are learned like code; a
generated file is left out by `rules` unless the user wants it, and counts as generated even then.
"""

from __future__ import annotations

import re
from enum import StrEnum

from engine.corpus.reading import languages


class Kind(StrEnum):
    """The value is what files on disk and JSON say."""

    CODE = "code"
    PROSE = "prose"
    DATA = "data"
    CONFIGURATION = "configuration"
    GENERATED = "generated"


PROSE_LANGUAGES = languages.PROSE | {"bib", "mailmap", "ngdoc", "quarto"}
DATA_LANGUAGES = frozenset({
    "avro-schema", "beancount", "csv", "dbc", "diff", "geojson", "icalendar", "json", "json5", "jsonl", "map", "pem",
    "plist", "pofile", "ppm", "svg", "textproto", "tsv", "vdx", "wkt", "xml",
})  # fmt: skip
CONFIGURATION_LANGUAGES = frozenset({
    "bazelrc", "browserslistrc", "cson", "dockerignore", "dotenv", "editorconfig", "gitattributes", "gitignore",
    "gitmodules", "go-mod", "ini", "java-properties", "manifest", "modulemap", "npmignore", "sln", "toml", "xcconfig",
    "yaml",
})  # fmt: skip
# Names by which a person knows the kind, whatever the language: the first that fits decides.
NAMES = (
    (Kind.CONFIGURATION, r"^(requirements|constraints)\b.*\.(txt|in)$"),
    (Kind.CONFIGURATION, r"^(package|tsconfig|jsconfig|composer|manifest|deno|bower|tslint|angular)\b.*\.jsonc?$"),
    (Kind.CONFIGURATION, r"[.-](config|conf|cfg|rc|service|desktop|pc)(\.(json|ya?ml|in))?$|^\.\w+rc(\.\w+)?$"),
    (Kind.CONFIGURATION, r"^(manifest\.in|pom\.xml|codeowners|doxyfile)$"),
    (Kind.PROSE, r"^(readme|licen[cs]e|copying|authors|contributors|changelog|changes|history|news|todo|notice)\b"),
    (Kind.PROSE, r"\.([1-9][a-z]{0,2}|man|mdoc|roff|texi|texinfo|org|pod|rd|wiki)$"),
    (Kind.DATA, r"\.(pot|qrc|rc|resx|strings|srt|psv|dat|ui|jsonc|lock)$|^py\.typed$"),
)
_BY_NAME = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in NAMES)
# Markup and settings in one of these folders are something that a program reads, not something that steers it.
DATA_FOLDERS = re.compile(
    r"(^|/)(data|testdata|test_data|fixtures|resources|locales?|translations|i18n)/", re.IGNORECASE
)
# A file in a programming language that is mostly digits is a table.
TABLE_SHARE = 0.35
LEAST_TABLE = 1000  # characters that are not white space
DIGITS = re.compile(r"\d+")
SPACE = re.compile(r"\s+")


def kind_of(path: str, language: str, text: str = "") -> Kind:
    """The kind of a file; without its text, as far as the path determines it."""
    if languages.is_lock_file(path) or languages.generated_name(path) or languages.generated_text(text):
        return Kind.GENERATED
    if not language:
        return Kind.DATA  # never text: an image, an archive
    name = path.rpartition("/")[2]
    if language not in languages.PROSE and _is_code(language):
        return Kind.DATA if _is_table(text) else Kind.CODE
    for kind, pattern in _BY_NAME:
        if pattern.search(name):
            return kind
    if language in PROSE_LANGUAGES:
        return Kind.PROSE
    if language in DATA_LANGUAGES or DATA_FOLDERS.search(path):
        return Kind.DATA
    return Kind.CONFIGURATION


def _is_code(language: str) -> bool:
    return language not in PROSE_LANGUAGES | DATA_LANGUAGES | CONFIGURATION_LANGUAGES


def _is_table(text: str) -> bool:
    written = len(text) - sum(map(len, SPACE.findall(text)))
    return written >= LEAST_TABLE and sum(map(len, DIGITS.findall(text))) > TABLE_SHARE * written
