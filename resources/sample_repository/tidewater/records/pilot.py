"""A pilot: licensed up to a length, on watch between two hours of the day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidewater.guards import require, require_name, require_positive


@dataclass(frozen=True)
class Pilot:
    name: str
    licensed_length: float
    watch_begins: int
    watch_ends: int
    tankers: bool = False

    def checked(self) -> Pilot:
        require_name(self.name, "a pilot")
        require_positive(self.licensed_length, "the licence of a pilot")
        for hour in (self.watch_begins, self.watch_ends):
            require(0 <= hour <= 24, f"a watch cannot begin or end at hour {hour}")
        require(self.watch_begins != self.watch_ends, "a watch lasts at least an hour")
        return self

    def on_watch(self, moment: datetime) -> bool:
        """Watches may pass midnight."""
        hour = moment.hour
        if self.watch_begins < self.watch_ends:
            return self.watch_begins <= hour < self.watch_ends
        return hour >= self.watch_begins or hour < self.watch_ends

    def may_bring(self, kind: str, length: float) -> bool:
        return length <= self.licensed_length and (self.tankers or kind != "tanker")

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Pilot:
        return cls(
            name=row["name"],
            licensed_length=row["licensed_length"],
            watch_begins=row["watch_begins"],
            watch_ends=row["watch_ends"],
            tankers=bool(row["tankers"]),
        ).checked()

    def to_row(self) -> dict[str, Any]:
        return {
            "name": require_name(self.name, "a pilot"),
            "licensed_length": self.licensed_length,
            "watch_begins": self.watch_begins,
            "watch_ends": self.watch_ends,
            "tankers": int(self.tankers),
        }

    def __str__(self) -> str:
        tankers = ", tankers" if self.tankers else ""
        return f"{self.name}: up to {self.licensed_length:g} m{tankers}, {self.watch_begins:02}-{self.watch_ends:02} h"
