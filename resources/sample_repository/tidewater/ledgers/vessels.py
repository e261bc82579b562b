"""The ledger of vessels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidewater.guards import require_call_sign
from tidewater.ledgers.ledger import Ledger, MissingRecord
from tidewater.records.vessel import Vessel


class VesselLedger(Ledger[Vessel]):
    NAME = "vessels"
    KEY = "call_sign"
    TABLE = """
        CREATE TABLE IF NOT EXISTS vessels (
            call_sign TEXT PRIMARY KEY, name TEXT, kind TEXT, length REAL, draught REAL, has_thruster INTEGER
        )
    """

    def make(self, row: Mapping[str, Any]) -> Vessel:
        return Vessel.from_row(row)

    def fetch_one(self, call_sign: str) -> Vessel:
        """The vessel of that call sign."""
        wanted = require_call_sign(call_sign)
        found = self.select("call_sign = ?", [wanted])
        if not found:
            raise MissingRecord(f"there is no vessel {wanted}")
        return found[0]

    def fetch_many(self, *, kind: str = "", longer_than: float = 0.0) -> list[Vessel]:
        """Vessels by call sign, of one kind or from a length on if asked."""
        vessels = self.select("length > ?", [longer_than])
        if kind:
            vessels = [vessel for vessel in vessels if vessel.kind == kind]
        return vessels

    def store(self, vessel: Vessel) -> Vessel:
        """Keeps a vessel, in place of an older entry with the same call sign."""
        self.insert(vessel.checked().to_row())
        return vessel

    def forget(self, call_sign: str) -> None:
        """Strikes a vessel from the list."""
        wanted = require_call_sign(call_sign)
        if not self.delete(wanted):
            raise MissingRecord(f"there is no vessel {wanted}")
