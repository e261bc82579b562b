"""The board: one line for each berth, with whoever lies there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidewater.clock import write_stamp
from tidewater.records.berth import Berth
from tidewater.records.call import Call
from tidewater.records.vessel import Vessel
from tidewater.reports.table import Column, table_lines

COLUMNS = (Column("berth", 14), Column("vessel", 18), Column("state", 10), Column("until", 16))


def board_rows(berths: Sequence[Berth], calls: Sequence[Call], vessels: Sequence[Vessel]) -> list[dict[str, Any]]:
    """The board as plain values; an empty berth has no vessel."""
    names = {vessel.call_sign: vessel.name for vessel in vessels}
    by_berth = {call.berth: call for call in calls}
    rows = []
    for berth in berths:
        call = by_berth.get(berth.name)
        rows.append(
            {
                "berth": berth.name,
                "vessel": names.get(call.call_sign, call.call_sign) if call else "",
                "state": call.state if call else ("closed" if berth.closed else "free"),
                "until": write_stamp(call.leaves) if call else "",
            }
        )
    return rows


def board_lines(berths: Sequence[Berth], calls: Sequence[Call], vessels: Sequence[Vessel]) -> list[str]:
    """The board as text."""
    return table_lines(COLUMNS, board_rows(berths, calls, vessels))
