"""A call: one visit of one vessel, at one berth, from one minute to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from tidewater.clock import overlap, read_stamp, write_span, write_stamp
from tidewater.guards import require, require_call_sign, require_name, require_order, require_within

LONGEST_STAY = timedelta(days=60)
STATES = ("planned", "alongside", "sailed", "cancelled")


@dataclass(frozen=True)
class Call:
    number: int
    call_sign: str
    berth: str
    arrives: datetime
    leaves: datetime
    pilot: str = ""
    tugs: tuple[str, ...] = ()
    state: str = "planned"

    def checked(self) -> Call:
        require_call_sign(self.call_sign)
        require_name(self.berth, "a berth")
        require_order(self.arrives, self.leaves, "a call")
        require_within(self.leaves - self.arrives, LONGEST_STAY, "a call")
        require(self.state in STATES, f"{self.state!r} is no state of a call")
        return self

    @property
    def stays(self) -> timedelta:
        return self.leaves - self.arrives

    @property
    def is_open(self) -> bool:
        """Whether it still keeps a berth."""
        return self.state in ("planned", "alongside")

    def clashes_with(self, other: Call) -> bool:
        """Two open calls at one berth at one time."""
        if self.number == other.number or not (self.is_open and other.is_open):
            return False
        return self.berth == other.berth and overlap(self.arrives, self.leaves, other.arrives, other.leaves)

    def moved_to(self, berth: str) -> Call:
        return replace(self, berth=berth).checked()

    def in_state(self, state: str) -> Call:
        return replace(self, state=state).checked()

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Call:
        return cls(
            number=row["number"],
            call_sign=row["call_sign"],
            berth=row["berth"],
            arrives=read_stamp(row["arrives"]),
            leaves=read_stamp(row["leaves"]),
            pilot=row["pilot"],
            tugs=tuple(filter(None, row["tugs"].split(","))),
            state=row["state"],
        ).checked()

    def to_row(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "call_sign": require_call_sign(self.call_sign),
            "berth": require_name(self.berth, "a berth"),
            "arrives": write_stamp(self.arrives),
            "leaves": write_stamp(self.leaves),
            "pilot": self.pilot,
            "tugs": ",".join(self.tugs),
            "state": self.state,
        }

    def __str__(self) -> str:
        helpers = ", ".join(filter(None, (self.pilot, *self.tugs))) or "no helpers"
        stay = f"{write_stamp(self.arrives)} for {write_span(self.stays)}"
        return f"#{self.number} {self.call_sign} at {self.berth}, {stay}, {helpers} ({self.state})"
