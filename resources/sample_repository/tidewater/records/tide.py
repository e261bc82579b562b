"""A tide: one high or low water with its height above chart datum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidewater.clock import read_stamp, write_stamp
from tidewater.guards import require

TURNS = ("high", "low")


@dataclass(frozen=True)
class Tide:
    moment: datetime
    turn: str
    height: float

    def checked(self) -> Tide:
        require(self.turn in TURNS, f"a tide is high or low, not {self.turn!r}")
        require(-2.0 <= self.height <= 16.0, f"{self.height:g} m is no height of a tide")
        return self

    @property
    def is_high(self) -> bool:
        return self.turn == "high"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Tide:
        return cls(moment=read_stamp(row["moment"]), turn=row["turn"], height=row["height"]).checked()

    def to_row(self) -> dict[str, Any]:
        return {"moment": write_stamp(self.moment), "turn": self.turn, "height": self.height}

    def __str__(self) -> str:
        return f"{write_stamp(self.moment)} {self.turn} water, {self.height:.1f} m"
