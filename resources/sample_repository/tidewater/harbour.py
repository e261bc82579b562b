"""One open harbour: its file, its ledgers, and a transaction around what is asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidewater.ledgers.berths import BerthLedger
from tidewater.ledgers.calls import CallLedger
from tidewater.ledgers.fees import FeeLedger
from tidewater.ledgers.passes import PassLedger
from tidewater.ledgers.pilots import PilotLedger
from tidewater.ledgers.tides import TideLedger
from tidewater.ledgers.tugs import TugLedger
from tidewater.ledgers.vessels import VesselLedger

LEDGERS = (BerthLedger, VesselLedger, TideLedger, PilotLedger, TugLedger, CallLedger, PassLedger, FeeLedger)


class Harbour:
    """Every ledger by its name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.berths = BerthLedger(connection)
        self.vessels = VesselLedger(connection)
        self.tides = TideLedger(connection)
        self.pilots = PilotLedger(connection)
        self.tugs = TugLedger(connection)
        self.calls = CallLedger(connection)
        self.passes = PassLedger(connection)
        self.fees = FeeLedger(connection)

    def prepare(self) -> Harbour:
        """Makes the tables that are not there yet."""
        for ledger in LEDGERS:
            self.connection.execute(ledger.TABLE)
        return self


@contextmanager
def open_harbour(path: str | Path) -> Iterator[Harbour]:
    """Everything inside is kept together or not at all."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    try:
        with connection:
            yield Harbour(connection).prepare()
    finally:
        connection.close()
