"""A builder of small harbours, so that a test says only what matters to it."""

from __future__ import annotations

import argparse
import sqlite3
from datetime import datetime, timedelta

from tidewater.__main__ import build_parser
from tidewater.clock import read_stamp
from tidewater.harbour import Harbour
from tidewater.outcome import Outcome
from tidewater.records.berth import Berth
from tidewater.records.pilot import Pilot
from tidewater.records.tide import Tide
from tidewater.records.tug import Tug
from tidewater.records.vessel import Vessel

NOON = read_stamp("2031-05-04T12:00")


class World:
    """Chained calls, then `built()`."""

    def __init__(self) -> None:
        self._berths: list[Berth] = []
        self._vessels: list[Vessel] = []
        self._pilots: list[Pilot] = []
        self._tugs: list[Tug] = []
        self._tides: list[Tide] = []

    def with_berth(self, name: str, length: float = 150.0, depth: float = 10.0, **more) -> World:
        self._berths.append(Berth(name, length, depth, **more))
        return self

    def with_vessel(self, call_sign: str, length: float = 60.0, draught: float = 4.0, **more) -> World:
        more = {"name": call_sign.title(), "kind": "cargo", **more}
        self._vessels.append(Vessel(call_sign, length=length, draught=draught, **more))
        return self

    def with_pilot(self, name: str, up_to: float = 200.0, **more) -> World:
        more = {"watch_begins": 0, "watch_ends": 24, **more}
        self._pilots.append(Pilot(name, up_to, **more))
        return self

    def with_tug(self, name: str, pull: float = 50.0, **more) -> World:
        self._tugs.append(Tug(name, pull, **more))
        return self

    def with_tides(self, around: datetime = NOON, low: float = 0.4, high: float = 4.6, turns: int = 12) -> World:
        """High and low water in turn, six hours apart, high at the moment given."""
        begins = around - timedelta(hours=6 * (turns // 2))
        for index in range(turns + 1):
            turn = "high" if (index - turns // 2) % 2 == 0 else "low"
            height = high if turn == "high" else low
            self._tides.append(Tide(begins + timedelta(hours=6 * index), turn, height))
        return self

    def built(self) -> Harbour:
        connection = sqlite3.connect(":memory:")
        connection.row_factory = sqlite3.Row
        harbour = Harbour(connection).prepare()
        for ledger, records in (
            (harbour.berths, self._berths),
            (harbour.vessels, self._vessels),
            (harbour.pilots, self._pilots),
            (harbour.tugs, self._tugs),
            (harbour.tides, self._tides),
        ):
            for record in records:
                ledger.store(record)
        return harbour


def a_harbour() -> World:
    return World()


def ask(harbour: Harbour, *words: str) -> Outcome:
    """Runs a command as the shell would."""
    arguments: argparse.Namespace = build_parser().parse_args(list(words))
    return arguments.entry.run(arguments, harbour)
