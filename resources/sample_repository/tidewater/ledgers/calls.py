"""The ledger of calls."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidewater.clock import write_stamp
from tidewater.guards import require
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.call import Call


class CallLedger(Ledger[Call]):
    NAME = "calls"
    KEY = "number"
    TABLE = """
        CREATE TABLE IF NOT EXISTS calls (
            number INTEGER PRIMARY KEY, call_sign TEXT, berth TEXT, arrives TEXT, leaves TEXT,
            pilot TEXT, tugs TEXT, state TEXT
        )
    """

    def make(self, row: Mapping[str, Any]) -> Call:
        return Call.from_row(row)

    def fetch_one(self, number: int) -> Call:
        """The call of that number."""
        require(number > 0, "calls are numbered from one")
        found = self.select("number = ?", [number])
        if not found:
            raise MissingRecord(f"there is no call #{number}")
        return found[0]

    def fetch_many(self, *, open_only: bool = False, call_sign: str = "", after: datetime | None = None) -> list[Call]:
        """Calls by arrival; of one vessel, open ones, or those that leave after a moment if asked."""
        calls = self.select(order="arrives, number")
        if open_only:
            calls = [call for call in calls if call.is_open]
        if call_sign:
            calls = [call for call in calls if call.call_sign == call_sign]
        if after is not None:
            calls = [call for call in calls if call.leaves > after]
        return calls

    def fetch_at(self, moment: datetime) -> list[Call]:
        """Who lies in the harbour at that moment."""
        stamp = write_stamp(moment)
        return [call for call in self.select("arrives <= ? AND leaves > ?", [stamp, stamp]) if call.is_open]

    def store(self, call: Call) -> Call:
        """Keeps a call, in place of an older plan with the same number."""
        self.insert(call.checked().to_row())
        return call

    def forget(self, number: int) -> None:
        """Strikes a call; cancelled ones are usually kept."""
        if not self.delete(number):
            raise MissingRecord(f"there is no call #{number}")
