"""The ledger of passes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidewater.guards import require
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.harbour_pass import HarbourPass


class PassLedger(Ledger[HarbourPass]):
    NAME = "passes"
    KEY = "number"
    TABLE = """
        CREATE TABLE IF NOT EXISTS passes (
            number INTEGER PRIMARY KEY, holder TEXT, grade TEXT, begins TEXT, ends TEXT, quays TEXT, withdrawn INTEGER
        )
    """

    def make(self, row: Mapping[str, Any]) -> HarbourPass:
        return HarbourPass.from_row(row)

    def fetch_one(self, number: int) -> HarbourPass:
        """The pass of that number."""
        require(number > 0, "passes are numbered from one")
        found = self.select("number = ?", [number])
        if not found:
            raise MissingRecord(f"there is no pass {number}")
        return found[0]

    def fetch_many(self, *, holder: str = "", valid_at: datetime | None = None) -> list[HarbourPass]:
        """Passes by number, of one holder or valid at a moment if asked."""
        passes = self.select()
        if holder:
            passes = [one for one in passes if one.holder == holder]
        if valid_at is not None:
            passes = [one for one in passes if not one.withdrawn and one.begins <= valid_at < one.ends]
        return passes

    def store(self, harbour_pass: HarbourPass) -> HarbourPass:
        """Keeps a pass, in place of an older one with the same number."""
        self.insert(harbour_pass.checked().to_row())
        return harbour_pass

    def forget(self, number: int) -> None:
        """Strikes a pass; withdrawn ones are usually kept."""
        if not self.delete(number):
            raise MissingRecord(f"there is no pass {number}")
