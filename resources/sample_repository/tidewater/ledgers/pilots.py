"""The ledger of pilots."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidewater.guards import require_name
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.pilot import Pilot


class PilotLedger(Ledger[Pilot]):
    NAME = "pilots"
    KEY = "name"
    TABLE = """
        CREATE TABLE IF NOT EXISTS pilots (
            name TEXT PRIMARY KEY, licensed_length REAL, watch_begins INTEGER, watch_ends INTEGER, tankers INTEGER
        )
    """

    def make(self, row: Mapping[str, Any]) -> Pilot:
        return Pilot.from_row(row)

    def fetch_one(self, name: str) -> Pilot:
        """The pilot of that name."""
        wanted = require_name(name, "a pilot")
        found = self.select("name = ?", [wanted])
        if not found:
            raise MissingRecord(f"there is no pilot {wanted}")
        return found[0]

    def fetch_many(self, *, on_watch_at: datetime | None = None) -> list[Pilot]:
        """Pilots by name, those on watch at a moment if asked."""
        pilots = self.select()
        if on_watch_at is not None:
            pilots = [pilot for pilot in pilots if pilot.on_watch(on_watch_at)]
        return pilots

    def store(self, pilot: Pilot) -> Pilot:
        """Keeps a pilot, in place of an older licence."""
        self.insert(pilot.checked().to_row())
        return pilot

    def forget(self, name: str) -> None:
        """Takes a pilot off the roster."""
        wanted = require_name(name, "a pilot")
        if not self.delete(wanted):
            raise MissingRecord(f"there is no pilot {wanted}")
