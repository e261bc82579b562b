"""The ledger of berths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidewater.guards import require_name
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.berth import Berth


class BerthLedger(Ledger[Berth]):
    NAME = "berths"
    KEY = "name"
    TABLE = """
        CREATE TABLE IF NOT EXISTS berths (
            name TEXT PRIMARY KEY, length REAL, depth REAL, has_crane INTEGER, closed INTEGER
        )
    """

    def make(self, row: Mapping[str, Any]) -> Berth:
        return Berth.from_row(row)

    def fetch_one(self, name: str) -> Berth:
        """The berth of that name."""
        wanted = require_name(name, "a berth")
        found = self.select("name = ?", [wanted])
        if not found:
            raise MissingRecord(f"there is no berth {wanted}")
        return found[0]

    def fetch_many(self, *, open_only: bool = False, with_crane: bool = False) -> list[Berth]:
        """Berths by name, those that can be used if asked."""
        berths = self.select()
        if open_only:
            berths = [berth for berth in berths if not berth.closed]
        if with_crane:
            berths = [berth for berth in berths if berth.has_crane]
        return berths

    def store(self, berth: Berth) -> Berth:
        """Keeps a berth, in place of an older one with the same name."""
        self.insert(berth.checked().to_row())
        return berth

    def forget(self, name: str) -> None:
        """Takes a berth out of the harbour."""
        wanted = require_name(name, "a berth")
        if not self.delete(wanted):
            raise MissingRecord(f"there is no berth {wanted}")
