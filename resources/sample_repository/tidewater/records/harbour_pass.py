"""A pass: who may go through the gate, until when, and to which quays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tidewater.clock import read_stamp, write_stamp
from tidewater.guards import require, require_name, require_order, require_within

LONGEST_PASS = timedelta(days=366)
GRADES = ("visitor", "crew", "contractor", "master")


@dataclass(frozen=True)
class HarbourPass:
    number: int
    holder: str
    grade: str
    begins: datetime
    ends: datetime
    quays: tuple[str, ...] = ()
    withdrawn: bool = False

    def checked(self) -> HarbourPass:
        require_name(self.holder, "the holder of a pass")
        require(self.grade in GRADES, f"{self.grade!r} is no grade of a pass")
        require_order(self.begins, self.ends, "a pass")
        require_within(self.ends - self.begins, LONGEST_PASS, "a pass")
        require(self.grade == "master" or bool(self.quays), "only a master's pass opens every quay")
        return self

    def opens(self, quay: str, moment: datetime) -> bool:
        """Whether the gate lets the holder through."""
        if self.withdrawn or not self.begins <= moment < self.ends:
            return False
        return self.grade == "master" or quay in self.quays

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> HarbourPass:
        return cls(
            number=row["number"],
            holder=row["holder"],
            grade=row["grade"],
            begins=read_stamp(row["begins"]),
            ends=read_stamp(row["ends"]),
            quays=tuple(filter(None, row["quays"].split(","))),
            withdrawn=bool(row["withdrawn"]),
        ).checked()

    def to_row(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "holder": require_name(self.holder, "the holder of a pass"),
            "grade": self.grade,
            "begins": write_stamp(self.begins),
            "ends": write_stamp(self.ends),
            "quays": ",".join(self.quays),
            "withdrawn": int(self.withdrawn),
        }

    def __str__(self) -> str:
        where = "every quay" if self.grade == "master" else ", ".join(self.quays)
        gone = " (withdrawn)" if self.withdrawn else ""
        return f"pass {self.number}: {self.holder}, {self.grade}, {where}, until {write_stamp(self.ends)}{gone}"
