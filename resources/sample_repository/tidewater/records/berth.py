"""A berth: a place at the quay with a length and a depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidewater.guards import require, require_name, require_positive

KEEL_CLEARANCE = 0.6  # metres of water that must stay under a keel


@dataclass(frozen=True)
class Berth:
    name: str
    length: float
    depth: float
    has_crane: bool = False
    closed: bool = False

    def checked(self) -> Berth:
        require_name(self.name, "a berth")
        require_positive(self.length, "the length of a berth")
        require_positive(self.depth, "the depth of a berth")
        require(self.depth < 40, "no harbour is that deep")
        return self

    def takes(self, length: float, draught: float) -> bool:
        """Whether a hull of that size can lie here at low water."""
        return not self.closed and length <= self.length and draught + KEEL_CLEARANCE <= self.depth

    def spare_length(self, length: float) -> float:
        return self.length - length

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Berth:
        return cls(
            name=row["name"],
            length=row["length"],
            depth=row["depth"],
            has_crane=bool(row["has_crane"]),
            closed=bool(row["closed"]),
        ).checked()

    def to_row(self) -> dict[str, Any]:
        return {
            "name": require_name(self.name, "a berth"),
            "length": self.length,
            "depth": self.depth,
            "has_crane": int(self.has_crane),
            "closed": int(self.closed),
        }

    def __str__(self) -> str:
        crane = ", crane" if self.has_crane else ""
        shut = ", closed" if self.closed else ""
        return f"{self.name}: {self.length:g} m, {self.depth:g} m deep{crane}{shut}"
