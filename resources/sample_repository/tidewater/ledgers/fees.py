"""The ledger of fees.  A fee has no name of its own: it is kept by its call and its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidewater.guards import require
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.fee import Fee


class FeeLedger(Ledger[Fee]):
    NAME = "fees"
    KEY = "call"
    TABLE = """
        CREATE TABLE IF NOT EXISTS fees (
            call INTEGER, reason TEXT, cents INTEGER, words TEXT, PRIMARY KEY (call, reason)
        )
    """

    def make(self, row: Mapping[str, Any]) -> Fee:
        return Fee.from_row(row)

    def fetch_one(self, call: int, reason: str) -> Fee:
        """The fee of a call for one reason."""
        require(call > 0, "calls are numbered from one")
        found = self.select("call = ? AND reason = ?", [call, reason])
        if not found:
            raise MissingRecord(f"call #{call} owes nothing for {reason}")
        return found[0]

    def fetch_many(self, call: int) -> list[Fee]:
        """Everything that a call owes."""
        require(call > 0, "calls are numbered from one")
        return self.select("call = ?", [call], order="reason")

    def store(self, fee: Fee) -> Fee:
        """Keeps a fee, in place of an older sum for the same reason."""
        self.insert(fee.checked().to_row())
        return fee

    def store_many(self, fees: Iterable[Fee]) -> int:
        """Keeps a whole bill and says how many lines it has."""
        return sum(1 for fee in fees if self.store(fee))

    def forget(self, call: int) -> None:
        """Forgives a call everything."""
        if not self.delete(call):
            raise MissingRecord(f"call #{call} owes nothing")
