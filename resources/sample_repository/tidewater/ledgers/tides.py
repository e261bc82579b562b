"""The ledger of tides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tidewater.clock import write_stamp
from tidewater.guards import require_order
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.tide import Tide


class TideLedger(Ledger[Tide]):
    NAME = "tides"
    KEY = "moment"
    TABLE = "CREATE TABLE IF NOT EXISTS tides (moment TEXT PRIMARY KEY, turn TEXT, height REAL)"

    def make(self, row: Mapping[str, Any]) -> Tide:
        return Tide.from_row(row)

    def fetch_one(self, moment: datetime) -> Tide:
        """The tide that turns at exactly that minute."""
        found = self.select("moment = ?", [write_stamp(moment)])
        if not found:
            raise MissingRecord(f"no tide turns at {write_stamp(moment)}")
        return found[0]

    def fetch_many(self, begins: datetime, ends: datetime) -> list[Tide]:
        """Every turn between two moments, the earliest first."""
        require_order(begins, ends, "a search for tides")
        return self.select("moment >= ? AND moment < ?", [write_stamp(begins), write_stamp(ends)])

    def store(self, tide: Tide) -> Tide:
        """Keeps a tide, in place of an older prediction for the same minute."""
        self.insert(tide.checked().to_row())
        return tide

    def store_many(self, tides: Iterable[Tide]) -> int:
        """Keeps a whole table of tides and says how many."""
        return sum(1 for tide in tides if self.store(tide))

    def forget(self, moment: datetime) -> None:
        """Drops one prediction."""
        if not self.delete(write_stamp(moment)):
            raise MissingRecord(f"no tide turns at {write_stamp(moment)}")
