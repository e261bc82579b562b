"""Whether a suggested line fits where it would stand: the lines around it, brackets, syntax, keys.

Checks are cheap or skipped: nothing here may take longer than a few milliseconds.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Sequence
from functools import cached_property, lru_cache

from engine.generate.stops import indentation
from engine.generate.trimming import CLOSING, SCANNED, scanner_behind

PARSED = 40_000  # characters of a file that is parsed
CLOSERS = re.compile(r"[\s)\]}\"'`,;:]*\Z")
OPENS_MORE = re.compile(r"(:|\\|,|\(|\[|\{)\s*\Z|\A\s*@|\"\"\"|'''")
DEFINITION = re.compile(r"(?:async def|def|class) \w+")
TRIPLE = re.compile(r"\"{3}|'{3}")
KEY = re.compile(r"""\A\s*(?:-\s+)?["']?([\w.\-/ ]+?)["']?\s*[:=](?:\s|\Z)""")
DATA = (".json", ".toml", ".yaml", ".yml")

REPEATS = "The line is already there."
BRACKETS = "The brackets would not match."
SYNTAX = "The file would no longer parse."
SAME_KEY = "The key already exists."
CODE_IN_TEXT = "It is code, but the cursor is in a docstring."
NOT_BETWEEN = "It does not fit before the rest of the line."
NOTHING = "There is nothing to add."


class Surroundings:
    """The text around a cursor."""

    def __init__(self, prefix: str, suffix: str, path: str) -> None:
        self.prefix, self.suffix, self.path = prefix, suffix, path
        self.line = prefix[prefix.rfind("\n") + 1 :]  # of the cursor, up to it
        end = suffix.find("\n")
        self.rest = suffix if end < 0 else suffix[:end]  # of the cursor's line, behind it

    @property
    def at_line_start(self) -> bool:
        """Whether nothing but blanks stands before the cursor."""
        return not self.line.strip()

    @cached_property
    def _line_below(self) -> str:
        return next((line for line in self.suffix.split("\n", 64)[1:] if line.strip()), "")

    @property
    def below(self) -> str:
        """The first line after the cursor's that is not blank, stripped."""
        return self._line_below.strip()

    @property
    def ends_block(self) -> bool:
        """Whether nothing of the cursor's block is below it: new code is written there."""
        return not self.below or indentation(self._line_below) < indentation(self.line)

    @cached_property
    def above(self) -> str:
        lines = self.prefix.rsplit("\n", 64)[1:-1] if self.prefix.count("\n") > 64 else self.prefix.split("\n")[:-1]
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    @cached_property
    def next_line(self) -> str:
        """From the end of the cursor's line to the end of the next that is not blank; "" in the middle of a line."""
        if self.rest.strip():
            return ""
        begin = len(self.suffix) - len(self.suffix.lstrip())
        end = self.suffix.find("\n", begin)
        return self.suffix[len(self.rest) : end if end >= 0 else len(self.suffix)].rstrip()

    @cached_property
    def in_docstring(self) -> bool:
        """Whether the cursor is inside a string of three quotes, in Python."""
        quote = ""
        for found in TRIPLE.finditer(self.prefix) if self.path.endswith((".py", ".pyi")) else ():
            quote = found[0] if not quote else "" if found[0] == quote else quote
        return bool(quote)

    @property
    def _shows_code(self) -> bool:
        """Whether the line above is part of an example, or announces one."""
        return self.above.startswith((">>>", "...")) or self.above.endswith("::") or is_statement(self.above)

    def problem(self, text: str, *, joined: bool) -> str:
        """Why a line may not be suggested; "" where it may.  `joined`: it ends where the rest of the line begins."""
        if not text.strip():
            return NOTHING
        if self.rest.strip() and not joined and not CLOSERS.match(self.rest):
            return NOT_BETWEEN
        whole = (self.line + text + self.rest).strip()
        if whole in (self.above, self.below):
            return REPEATS
        if not self._brackets_fit(text):
            return BRACKETS
        if self._defines_again(self.line + text):
            return REPEATS
        if self.path.endswith(DATA) and self._has_key(text):
            return SAME_KEY
        if self.in_docstring and is_statement(whole) and not self._shows_code:
            return CODE_IN_TEXT
        return ""

    def goes_on(self, line: str, lines: Sequence[str]) -> bool:
        """Whether a further line belongs to the block that the cursor is in, and says something new."""
        if not line.strip():
            return bool(lines and lines[-1].strip())
        if indentation(line) < indentation(self.line) or line.strip() in (self.below, self.above):
            return False
        return line.strip() not in [other.strip() for other in lines]

    def _brackets_fit(self, text: str) -> bool:
        """Whether it closes nothing that is not open."""
        scanner = scanner_behind(self.prefix)
        if scanner.quote:
            return True
        for character in text:
            if not scanner.quote and character in CLOSING and scanner.open and scanner.open[-1] != CLOSING[character]:
                return False
            if scanner.step(character):  # it closes what was opened too far up to be seen, or nothing
                return len(self.prefix) > SCANNED
        return True

    def _defines_again(self, line: str) -> bool:
        """Whether a function or class of the module would be there twice, in Python."""
        found = DEFINITION.match(line) if self.path.endswith((".py", ".pyi")) else None
        if found is None:
            return False
        others = self.prefix[: len(self.prefix) - len(self.line)] + self.suffix[len(self.rest) :]
        return re.search(rf"^{re.escape(found[0])}\b", others, re.M) is not None

    def _has_key(self, text: str) -> bool:
        """Whether a key of the same block is written a second time."""
        found = KEY.match(self.line + text)
        if found is None:
            return False
        depth = indentation(self.line + text)
        for lines in (reversed(self.prefix.split("\n")[:-1]), self.suffix.split("\n")[1:]):
            for line in lines:
                if not line.strip():
                    continue
                if indentation(line) < depth or line.lstrip().startswith(("[", "- ")):
                    break
                other = KEY.match(line) if indentation(line) == depth else None
                if other is not None and other[1] == found[1]:
                    return True
        return False

    def parses(self, text: str) -> bool:
        """Whether the file parses with the line, if it did without and the line is one that is complete.  Takes longer
        than all that `problem` looks at together.
        """
        if len(self.prefix) + len(self.suffix) > PARSED or OPENS_MORE.search(text) or self.rest.strip():
            return True
        language = self.path.rpartition(".")[2]
        if language not in ("py", "json", "toml") or not self.at_line_start:
            return True
        return not _is_valid(language, self.prefix + self.suffix) or _is_valid(
            language, self.prefix + text + self.suffix
        )


def is_statement(line: str) -> bool:
    """Whether a line of Python is code beyond doubt: a sentence may happen to parse, too."""
    line = line.strip()
    if line.startswith(("@", "def ", "class ")):
        return True
    try:
        found = ast.parse(line + " pass" if line.endswith(":") else line).body
    except (SyntaxError, ValueError):
        return False
    return bool(found) and not isinstance(found[0], ast.Expr | ast.AnnAssign)


@lru_cache(maxsize=8)
def _is_valid(language: str, text: str) -> bool:
    try:
        if language == "py":
            ast.parse(text)
        elif language == "json":
            json.loads(text)
        else:
            tomllib.loads(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
