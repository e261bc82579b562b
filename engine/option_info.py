"""One option as a person meets it: its label, what it may be, its default, and what it does.

The tables made of these (`engine.train.options`, `engine.generate.options`) serve the code, the command line and the
window alike. Nothing here loads NumPy, so that a command's `--help` is immediate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.errors import ConfigError


@dataclass(frozen=True)
class OptionInfo:
    """A number has `low` and `high` (`whole` for counts), a choice has `choices`; a default of True or False is a
    switch, and a tuple is a list of texts.

    `zero`: the meaning of 0 where it is special ("no limit").  `advanced`: rarely changed, so a form may fold it away.
    `step`: the increment of an arrow key, 0 if a form should choose it.
    """

    label: str
    low: float | None
    high: float | None
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    whole: bool = False
    unit: str = ""
    zero: str = ""
    advanced: bool = True
    step: float = 0

    @property
    def kind(self) -> type:
        """int, float, str, bool, or tuple for a list of texts."""
        if self.low is not None:
            return int if self.whole else float
        return type(self.default)

    def problem(self, name: str, value: Any) -> str:
        """Why a value is not allowed, with its name, itself and what is allowed; "" if it is."""
        if self.low is not None and self.high is not None:
            return number_problem(name, value, self.low, self.high, whole=self.whole)
        if self.choices and value not in self.choices:
            return f"{name} is {value!r}; it must be one of: {', '.join(self.choices)}."
        if self.kind is bool and not isinstance(value, bool):
            return f"{name} is {value!r}; it must be true or false."
        if self.kind is tuple and not (isinstance(value, tuple) and all(isinstance(one, str) and one for one in value)):
            return f"{name} is {value!r}; it must be a tuple of strings, none of them empty."
        return ""

    def check(self, name: str, value: Any) -> None:
        """Raise ConfigError for a value that is not allowed."""
        if problem := self.problem(name, value):
            raise ConfigError(problem)

    @property
    def range_in_words(self) -> str:
        """`0 to 10,000,000`."""
        return range_in_words(self.low, self.high, whole=self.whole)


def number_problem(name: str, value: Any, low: float, high: float, *, whole: bool = False) -> str:
    """Why `value` is not a (whole) number from `low` to `high`; "" if it is."""
    kind = int if whole else (int, float)
    if not isinstance(value, bool) and isinstance(value, kind) and low <= value <= high:
        return ""
    what = "a whole number" if whole else "a number"
    return f"{name} is {value!r}; it must be {what} from {range_in_words(low, high, whole=whole)}."


def check_number(name: str, value: Any, low: float, high: float, *, whole: bool = False) -> None:
    """Raise ConfigError for a value that is not a (whole) number from `low` to `high`."""
    if problem := number_problem(name, value, low, high, whole=whole):
        raise ConfigError(problem)


def range_in_words(low: float, high: float, *, whole: bool = False) -> str:
    """`0 to 10,000,000`."""
    low, high = (f"{int(bound):,}" if whole else f"{bound:,.10g}" for bound in (low, high))
    return f"{low} to {high}"
