"""The day sheet: everything that happens in the harbour from one midnight to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from tidewater.clock import write_stamp
from tidewater.records.call import Call
from tidewater.records.tide import Tide


@dataclass(frozen=True, order=True)
class Entry:
    moment: datetime
    words: str

    def __str__(self) -> str:
        return f"{write_stamp(self.moment)[-5:]}  {self.words}"


def day_entries(day: date, calls: Sequence[Call], tides: Sequence[Tide]) -> list[Entry]:
    """Arrivals, departures and turns of the tide, in order."""
    begins = datetime.combine(day, time())
    ends = begins + timedelta(days=1)
    entries = [Entry(tide.moment, f"{tide.turn} water, {tide.height:.1f} m") for tide in tides]
    for call in calls:
        if call.state == "cancelled":
            continue
        entries.append(Entry(call.arrives, f"{call.call_sign} arrives at {call.berth}{_helpers(call)}"))
        entries.append(Entry(call.leaves, f"{call.call_sign} leaves {call.berth}{_helpers(call)}"))
    return sorted(entry for entry in entries if begins <= entry.moment < ends)


def day_lines(day: date, calls: Sequence[Call], tides: Sequence[Tide]) -> list[str]:
    """The sheet as it is pinned to the door."""
    entries = day_entries(day, calls, tides)
    if not entries:
        return [f"{day.isoformat()}: nothing moves"]
    return [f"{day.isoformat()}", *(f"  {entry}" for entry in entries)]


def _helpers(call: Call) -> str:
    helpers = [name for name in (call.pilot, *call.tugs) if name]
    return f" with {', '.join(helpers)}" if helpers else ""
