"""What a setting may be, and the message for a value that it may not.  No Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.option_info import OptionInfo, number_problem


@dataclass(frozen=True)
class Number:
    """A number from `low` to `high`; `whole` for counts."""

    low: float
    high: float
    whole: bool = False

    def problem(self, name: str, value: Any) -> str:
        """Why `value` is not allowed, or ""."""
        return number_problem(plain(name), value, self.low, self.high, whole=self.whole)


@dataclass(frozen=True)
class EngineOption:
    """What a table of the engine says."""

    info: OptionInfo

    def problem(self, _name: str, value: Any) -> str:
        return self.info.problem(self.info.label, value)


@dataclass(frozen=True)
class Truth:
    """On or off."""

    def problem(self, name: str, value: Any) -> str:
        return "" if isinstance(value, bool) else f"{plain(name)} must be on or off."


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def problem(self, name: str, value: Any) -> str:
        return "" if value in self.words else f"{plain(name)} must be one of: {', '.join(self.words)}."


@dataclass(frozen=True)
class Text:
    """A text of at most `most` characters that satisfies `check` (words for what is wrong, or "")."""

    most: int = 4096
    check: Callable[[str], str] | None = None

    def problem(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > self.most:
            return f"{plain(name)} must be a text of at most {self.most:,} characters."
        return self.check(value) if self.check else ""


@dataclass(frozen=True)
class Texts:
    """A list of texts, or (`named`) texts by name."""

    most: int = 64
    named: bool = False

    def problem(self, name: str, value: Any) -> str:
        parts = [*value.keys(), *value.values()] if self.named and isinstance(value, dict) else value
        right = isinstance(value, dict if self.named else list) and len(value) <= self.most
        if not right or not all(isinstance(part, str) for part in parts):
            return f"{plain(name)} must be {'texts by name' if self.named else 'a list of texts'}, at most {self.most}."
        return ""


Limit = Number | EngineOption | Truth | OneOf | Text | Texts


def plain(name: str) -> str:
    """A setting's name for people: "memory_ceiling" is "Memory ceiling"."""
    return name.replace("_", " ").capitalize()
