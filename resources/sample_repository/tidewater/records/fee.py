"""A fee: what one call owes, line by line, in cents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidewater.guards import require, require_name

REASONS = ("berth", "pilot", "tug", "waste", "crane")


@dataclass(frozen=True)
class Fee:
    call: int
    reason: str
    cents: int
    words: str

    def checked(self) -> Fee:
        require(self.call > 0, "a fee belongs to a call")
        require(self.reason in REASONS, f"{self.reason!r} is no reason for a fee")
        require(self.cents >= 0, "the harbour never owes a vessel")
        require_name(self.words, "a fee")
        return self

    @property
    def amount(self) -> str:
        return f"{self.cents // 100:,}.{self.cents % 100:02}"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Fee:
        return cls(call=row["call"], reason=row["reason"], cents=row["cents"], words=row["words"]).checked()

    def to_row(self) -> dict[str, Any]:
        return {
            "call": self.call,
            "reason": self.reason,
            "cents": self.cents,
            "words": require_name(self.words, "a fee"),
        }

    def __str__(self) -> str:
        return f"{self.words:<32} {self.amount:>12}"
