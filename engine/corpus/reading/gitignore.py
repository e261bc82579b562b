"""The rules of `.gitignore` files, with git's own semantics (its dir.c and wildmatch.c), one folder level at a time.

Why not pathspec: it matches whole paths, so a rule for a folder also applies to what is in it, and "*.x" followed by
"!keep/" includes keep/a.x, which git ignores. A walk that never enters an ignored folder only needs to match the last
part of a path, as git does. pathspec also tries every rule's expression on every path; here a name that no rule can
match (almost every name) costs a few set and suffix look-ups.

Names and rules are compared byte by byte, as in git: both are strings with one character per byte (`as_bytes_text`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

SPECIAL = re.compile(r"[*?\[\\]")
POSIX_CLASSES = {
    "alnum": lambda c: c.isalnum(),
    "alpha": lambda c: c.isalpha(),
    "blank": lambda c: c in " \t",
    "cntrl": lambda c: ord(c) < 32 or ord(c) == 127,
    "digit": lambda c: c.isdigit(),
    "graph": lambda c: 32 < ord(c) < 127,
    "lower": lambda c: c.islower(),
    "print": lambda c: 32 <= ord(c) < 127,
    "punct": lambda c: 32 < ord(c) < 127 and not c.isalnum(),
    "space": lambda c: c in " \t\n\r\v\f",
    "upper": lambda c: c.isupper(),
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}


class _NeverMatchesError(ValueError):
    """A pattern that git accepts but that matches no name: an unclosed bracket, a trailing backslash."""


def as_bytes_text(name: str) -> str:
    """A file name as a string with one character per byte of the name on disk."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file."""

    line: int
    words: str
    keep: bool  # the line began with "!"
    folders_only: bool
    on_path: bool  # it contains a "/": matched against the path relative to the ignore file, not against the name
    # One of three: the pattern itself if it has no wildcards, what follows a single leading star, or an expression.
    literal: str | None
    suffix: str | None
    expression: str | None


def parse_line(text: str, number: int) -> Rule | None:
    """The rule in a line (without its line break); None for comments, empty lines and patterns that never match."""
    if not text or text.startswith("#"):
        return None
    pattern = _without_trailing_spaces(text)
    words = pattern
    keep = pattern.startswith("!")
    pattern = pattern[keep:]
    folders_only = pattern.endswith("/")
    pattern = pattern[:-1] if folders_only else pattern
    on_path = "/" in pattern
    if on_path and pattern.startswith("/"):
        pattern = pattern[1:]
    if not pattern:
        return None
    literal = suffix = expression = None
    first = SPECIAL.search(pattern)
    if first is None:
        literal = pattern
    elif not on_path and pattern[0] == "*" and not SPECIAL.search(pattern, 1):
        suffix = pattern[1:]
    else:
        try:
            # git compares what precedes the first wildcard separately, so that in "a**/b" the wildcard part starts
            # with the two stars.
            cut = first.start()
            expression = re.escape(pattern[:cut]) + _expression(pattern[cut:], on_path)
        except _NeverMatchesError:
            return None
    return Rule(number, words, keep, folders_only, on_path, literal, suffix, expression)


def _without_trailing_spaces(text: str) -> str:
    """Trailing spaces are dropped unless a backslash precedes them."""
    end = i = 0
    while i < len(text):
        if text[i] == "\\":
            i += 1
            if i >= len(text):
                return text
            end = i + 1
        elif text[i] != " ":
            end = i + 1
        i += 1
    return text[:end]


def _expression(pattern: str, on_path: bool) -> str:
    """A regular expression equivalent to git's wildmatch, without catastrophic backtracking.

    The text between two stars, and between two double stars, is matched at the first possible position and never
    retried (atomic groups): the next star can match whatever follows.
    """
    stretches: list[list[str]] = [[]]  # between one "**/" and the next
    chunk: list[str] | None = None  # since the last star, within the same path component
    star = "[^/]*" if on_path else ".*"

    def end_chunk(more_stars: bool) -> None:
        nonlocal chunk
        if chunk is not None:
            body = "".join(chunk)
            stretches[-1].append(f"(?>{star}?{body})" if more_stars else f"{star}{body}")
            chunk = None

    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "*":
            begin = i
            while i < len(pattern) and pattern[i] == "*":
                i += 1
            rest = pattern[i:]
            whole_part = (begin == 0 or pattern[begin - 1] == "/") and (not rest or rest.startswith(("/", "\\/")))
            if on_path and i - begin > 1 and whole_part:
                end_chunk(more_stars=False)
                if rest[:1] == "/":
                    if stretches[-1] or len(stretches) == 1:
                        stretches.append([])
                    i += 1
                else:
                    stretches[-1].append(".*")
            else:
                end_chunk(more_stars=True)
                chunk = []
            continue
        if c == "\\":
            if i + 1 >= len(pattern):
                raise _NeverMatchesError
            atom, i = re.escape(pattern[i + 1]), i + 2
        elif c == "?":
            atom, i = ("[^/]" if on_path else "."), i + 1
        elif c == "[":
            atom, i = _bracket(pattern, i)
        else:
            atom, i = re.escape(c), i + 1
        if atom == "/":
            end_chunk(more_stars=False)
        (stretches[-1] if chunk is None else chunk).append(atom)
    end_chunk(more_stars=False)
    first, *middle = ("".join(stretch) for stretch in stretches)
    if not middle:
        return first
    return first + "".join(f"(?>(?:[^/]*/)*?{body})" for body in middle[:-1]) + f"(?:.*/)?{middle[-1]}"


def _bracket(pattern: str, i: int) -> tuple[str, int]:
    """The character class that starts at pattern[i] == "[" as an expression, and the index just past it."""

    def at(j: int) -> str:
        if j >= len(pattern):
            raise _NeverMatchesError
        return pattern[j]

    i += 1
    negated = at(i) in "!^"
    i += negated
    members: set[str] = set()
    previous = ""
    first = True
    while first or at(i) != "]":
        first = False
        c = at(i)
        following = pattern[i + 1 : i + 2]
        if c == "\\":
            i += 1
            c = at(i)
            members.add(c)
        elif c == "-" and previous and following and following != "]":
            i += 1
            c = at(i)
            if c == "\\":
                i += 1
                c = at(i)
            members.update(map(chr, range(ord(previous), ord(c) + 1)))
            c = ""
        elif c == "[" and following == ":" and (end := _class_end(pattern, i + 2)) is not None:
            test = POSIX_CLASSES.get(pattern[i + 2 : end - 1])
            if test is None:
                raise _NeverMatchesError
            members.update(ch for ch in map(chr, range(128)) if test(ch))
            i = end
            c = ""
        else:
            members.add(c)
        previous = c
        i += 1
    if negated:
        members.add("/")  # no class matches the separator
    else:
        members.discard("/")
    if not members:
        raise _NeverMatchesError
    inside = "".join(f"\\x{ord(ch):02x}" for ch in sorted(members))
    return f"[{'^' if negated else ''}{inside}]", i + 1


def _class_end(pattern: str, i: int) -> int | None:
    """The index of the "]" of "[:name:]"; None if this is not such a class and the bracket is an ordinary character."""
    end = pattern.find("]", i)
    if end < 0:
        raise _NeverMatchesError
    return end if end > i and pattern[end - 1] == ":" else None


class IgnoreFile:
    """The rules of one ignore file, for paths relative to its folder."""

    def __init__(self, data: bytes, words: str, *, any_case: bool = False) -> None:
        self.words = words
        flags = re.DOTALL | (re.IGNORECASE if any_case else 0)
        fold = str.lower if any_case else str
        self._fold = fold
        text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        rules = [rule for number, line in enumerate(lines, 1) if (rule := parse_line(line, number))]
        self._rules = [(rule, rule.expression and re.compile(rule.expression, flags)) for rule in rules]
        self._rules.reverse()  # the last matching rule wins
        names = [rule for rule in rules if not rule.on_path]
        paths = [rule for rule in rules if rule.on_path]
        self._names = frozenset(fold(rule.literal) for rule in names if rule.literal is not None)
        self._suffixes = tuple(fold(rule.suffix) for rule in names if rule.suffix is not None)
        self._paths = frozenset(fold(rule.literal) for rule in paths if rule.literal is not None)
        self._name_expression = _any_of(names, flags)
        self._path_expression = _any_of(paths, flags)
        self._asks_for_paths = bool(paths)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def match(self, prefix: str, name: str, is_folder: bool) -> Rule | None:
        """The rule that applies to prefix + name, where prefix is "" or ends with "/"; None if none does."""
        name = self._fold(name)
        if not (
            name in self._names
            or name.endswith(self._suffixes)
            or (self._name_expression is not None and self._name_expression.fullmatch(name))
        ):
            if not self._asks_for_paths:
                return None
            path = self._fold(prefix) + name
            if path not in self._paths and not (self._path_expression and self._path_expression.fullmatch(path)):
                return None
        else:
            path = self._fold(prefix) + name
        for rule, expression in self._rules:
            if rule.folders_only and not is_folder:
                continue
            subject = path if rule.on_path else name
            if rule.literal is not None:
                hit = subject == self._fold(rule.literal)
            elif rule.suffix is not None:
                hit = subject.endswith(self._fold(rule.suffix))
            else:
                hit = expression.fullmatch(subject) is not None
            if hit:
                return rule
        return None

    def describe(self, rule: Rule) -> str:
        """Where the rule is and what it says: ".gitignore line 3: *.log"."""
        return f"{self.words} line {rule.line}: {rule.words.encode('latin-1').decode('utf-8', 'replace')}"


def _any_of(rules: list[Rule], flags: int) -> re.Pattern[str] | None:
    """One expression that matches whatever any of the rules' expressions does; None if they have none."""
    found = [f"(?:{rule.expression})" for rule in rules if rule.expression is not None]
    return re.compile("|".join(found), flags) if found else None
