"""The ledger of tugs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidewater.guards import require_name
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.tug import Tug


class TugLedger(Ledger[Tug]):
    NAME = "tugs"
    KEY = "name"
    TABLE = "CREATE TABLE IF NOT EXISTS tugs (name TEXT PRIMARY KEY, pull REAL, laid_up INTEGER)"

    def make(self, row: Mapping[str, Any]) -> Tug:
        return Tug.from_row(row)

    def fetch_one(self, name: str) -> Tug:
        """The tug of that name."""
        wanted = require_name(name, "a tug")
        found = self.select("name = ?", [wanted])
        if not found:
            raise MissingRecord(f"there is no tug {wanted}")
        return found[0]

    def fetch_many(self, *, in_service: bool = False) -> list[Tug]:
        """Tugs, the strongest first, those in service if asked."""
        tugs = self.select(order="pull DESC, name")
        return [tug for tug in tugs if not (in_service and tug.laid_up)]

    def store(self, tug: Tug) -> Tug:
        """Keeps a tug, in place of an older entry with the same name."""
        self.insert(tug.checked().to_row())
        return tug

    def forget(self, name: str) -> None:
        """Takes a tug out of the harbour."""
        wanted = require_name(name, "a tug")
        if not self.delete(wanted):
            raise MissingRecord(f"there is no tug {wanted}")
