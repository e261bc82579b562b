"""Who may go through the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tidewater.clock import write_stamp
from tidewater.outcome import Outcome, refused, settled
from tidewater.records.call import Call
from tidewater.records.harbour_pass import HarbourPass

CREW_GRACE = timedelta(hours=6)


def plan_crew_pass(number: int, holder: str, call: Call) -> Outcome:
    """A pass for a vessel's crew, for her berth, until a while after she sails."""
    if not call.is_open:
        return refused(f"call #{call.number} is {call.state}")
    made = HarbourPass(number, holder, "crew", call.arrives, call.leaves + CREW_GRACE, (call.berth,))
    return settled(made.checked())


def ask_gate(passes: Sequence[HarbourPass], holder: str, quay: str, moment: datetime) -> Outcome:
    """Settled with the pass that opens, or refused with the nearest reason."""
    own = [one for one in passes if one.holder == holder]
    if not own:
        return refused(f"{holder} has no pass")
    for one in own:
        if one.opens(quay, moment):
            return settled(one)
    if all(one.withdrawn for one in own):
        return refused(f"every pass of {holder} was withdrawn")
    if all(one.ends <= moment for one in own):
        last = max(one.ends for one in own)
        return refused(f"the pass of {holder} ended at {write_stamp(last)}")
    return refused(f"no pass of {holder} opens {quay}")


def withdraw(harbour_pass: HarbourPass) -> Outcome:
    """Takes a pass back; it stays in the ledger."""
    if harbour_pass.withdrawn:
        return refused(f"pass {harbour_pass.number} was withdrawn already")
    return settled(replace(harbour_pass, withdrawn=True))
