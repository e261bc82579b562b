"""A vessel: known by her call sign, measured by her hull."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidewater.guards import require, require_call_sign, require_name, require_positive

KINDS = ("cargo", "tanker", "ferry", "fishing", "yacht")
TUG_LENGTH = 110.0  # metres from which a vessel needs a tug


@dataclass(frozen=True)
class Vessel:
    call_sign: str
    name: str
    kind: str
    length: float
    draught: float
    has_thruster: bool = False

    def checked(self) -> Vessel:
        require_call_sign(self.call_sign)
        require_name(self.name, "a vessel")
        require(self.kind in KINDS, f"{self.kind!r} is no kind of vessel")
        require_positive(self.length, "the length of a vessel")
        require_positive(self.draught, "the draught of a vessel")
        require(self.draught < self.length, "no vessel is deeper than long")
        return self

    def tugs_needed(self) -> int:
        """None for small hulls, two for long ones, one less with a thruster, never none for a tanker."""
        needed = 0 if self.length < TUG_LENGTH else 2
        if self.has_thruster and needed:
            needed -= 1
        return max(needed, 1) if self.kind == "tanker" else needed

    def needs_pilot(self) -> bool:
        return self.kind == "tanker" or self.length >= 70.0

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Vessel:
        return cls(
            call_sign=row["call_sign"],
            name=row["name"],
            kind=row["kind"],
            length=row["length"],
            draught=row["draught"],
            has_thruster=bool(row["has_thruster"]),
        ).checked()

    def to_row(self) -> dict[str, Any]:
        return {
            "call_sign": require_call_sign(self.call_sign),
            "name": require_name(self.name, "a vessel"),
            "kind": self.kind,
            "length": self.length,
            "draught": self.draught,
            "has_thruster": int(self.has_thruster),
        }

    def __str__(self) -> str:
        return f"{self.call_sign} {self.name}: {self.kind}, {self.length:g} m, draws {self.draught:g} m"
