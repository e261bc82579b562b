"""What a call owes."""

from __future__ import annotations

import math

from tidewater.outcome import Outcome, refused, settled
from tidewater.records.berth import Berth
from tidewater.records.call import Call
from tidewater.records.fee import Fee
from tidewater.records.vessel import Vessel

BERTH_CENTS = 185  # a metre and a begun day
PILOT_CENTS = 42_000
TUG_CENTS = 68_500
WASTE_CENTS = {"cargo": 9_000, "tanker": 21_000, "ferry": 15_000, "fishing": 2_500, "yacht": 1_500}
CRANE_CENTS = 30_000


def begun_days(call: Call) -> int:
    """A day that has begun is paid in full."""
    return max(1, math.ceil(call.stays.total_seconds() / 86_400))


def plan_bill(call: Call, vessel: Vessel, berth: Berth) -> Outcome:
    """Every fee of a call; a cancelled one owes nothing."""
    if call.state == "cancelled":
        return refused(f"call #{call.number} was cancelled and owes nothing")
    days = begun_days(call)
    fees = [
        Fee(call.number, "berth", round(vessel.length * days * BERTH_CENTS), f"{berth.name}, {days} days"),
        Fee(call.number, "waste", WASTE_CENTS[vessel.kind], f"waste of a {vessel.kind} vessel"),
    ]
    if call.pilot:
        fees.append(Fee(call.number, "pilot", 2 * PILOT_CENTS, f"{call.pilot}, in and out"))
    if call.tugs:
        fees.append(Fee(call.number, "tug", 2 * TUG_CENTS * len(call.tugs), f"{len(call.tugs)} tugs, in and out"))
    if vessel.kind == "cargo" and berth.has_crane:
        fees.append(Fee(call.number, "crane", CRANE_CENTS * days, f"crane, {days} days"))
    return settled([fee.checked() for fee in fees])


def total_of(fees: list[Fee]) -> Fee:
    """The sum, in the words of a bill."""
    cents = sum(fee.cents for fee in fees)
    return Fee(fees[0].call, "berth", cents, "in all")
