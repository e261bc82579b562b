"""A tug: a name, a bollard pull, and whether she is laid up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidewater.guards import require, require_name, require_positive

STRONGEST = 120.0  # tonnes


@dataclass(frozen=True)
class Tug:
    name: str
    pull: float
    laid_up: bool = False

    def checked(self) -> Tug:
        require_name(self.name, "a tug")
        require_positive(self.pull, "the pull of a tug")
        require(self.pull <= STRONGEST, f"no tug pulls {self.pull:g} tonnes")
        return self

    def can_move(self, length: float) -> bool:
        """A tonne of pull for every four metres of hull, shared between the tugs that come."""
        return not self.laid_up and self.pull * 4 >= length / 2

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Tug:
        return cls(name=row["name"], pull=row["pull"], laid_up=bool(row["laid_up"])).checked()

    def to_row(self) -> dict[str, Any]:
        return {"name": require_name(self.name, "a tug"), "pull": self.pull, "laid_up": int(self.laid_up)}

    def __str__(self) -> str:
        return f"{self.name}: {self.pull:g} t{', laid up' if self.laid_up else ''}"
