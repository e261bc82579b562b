"""What every plan and every command gives back: settled with a value, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """Settled or refused; never both, never neither."""

    value: Any = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_settled(self) -> bool:
        return not self.reason

    @property
    def is_refused(self) -> bool:
        return bool(self.reason)

    def with_note(self, note: str) -> Outcome:
        """The same outcome with one more remark."""
        return Outcome(self.value, self.reason, (*self.notes, note))

    def then(self, step: Callable[[Any], Outcome]) -> Outcome:
        """The next step of a plan, if this one was settled; remarks of both are kept."""
        if self.is_refused:
            return self
        following = step(self.value)
        return Outcome(following.value, following.reason, (*self.notes, *following.notes))

    def lines(self) -> Iterable[str]:
        """The outcome for a person."""
        if self.is_refused:
            yield f"refused: {self.reason}"
        elif isinstance(self.value, (list, tuple)):
            yield from (str(item) for item in self.value)
        elif self.value is not None:
            yield str(self.value)
        for note in self.notes:
            yield f"  note: {note}"


def settled(value: Any = None, *notes: str) -> Outcome:
    """It was possible, and this is the result."""
    return Outcome(value=value, notes=notes)


def refused(reason: str, *notes: str) -> Outcome:
    """It was not possible, for this reason."""
    return Outcome(reason=reason, notes=notes)


def first_refused(outcomes: Iterable[Outcome]) -> Outcome | None:
    """The first that was refused, if any was."""
    return next((outcome for outcome in outcomes if outcome.is_refused), None)
