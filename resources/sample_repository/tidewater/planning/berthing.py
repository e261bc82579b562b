"""Which berth a vessel gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidewater.outcome import Outcome, refused, settled
from tidewater.records.berth import Berth
from tidewater.records.call import Call
from tidewater.records.vessel import Vessel


def free_berths(berths: Iterable[Berth], calls: Sequence[Call], wanted: Call) -> list[Berth]:
    """Berths that no open call keeps during the one wanted."""
    return [berth for berth in berths if not any(wanted.moved_to(berth.name).clashes_with(other) for other in calls)]


def plan_berth(vessel: Vessel, berths: Sequence[Berth], calls: Sequence[Call], wanted: Call) -> Outcome:
    """The tightest berth that takes her, so that long berths stay free for long vessels."""
    fitting = [berth for berth in berths if berth.takes(vessel.length, vessel.draught)]
    if not fitting:
        return refused(f"no berth takes {vessel.length:g} m with a draught of {vessel.draught:g} m")
    free = free_berths(fitting, calls, wanted)
    if not free:
        return refused(f"every berth that takes {vessel.name} is kept at that time")
    best = min(free, key=lambda berth: (berth.spare_length(vessel.length), berth.name))
    if vessel.kind == "cargo" and not best.has_crane:
        return settled(best).with_note(f"{best.name} has no crane")
    return settled(best)


def plan_shift(call: Call, vessel: Vessel, target: Berth, calls: Sequence[Call]) -> Outcome:
    """Moves a call to another berth, if she fits and nobody lies there."""
    if not call.is_open:
        return refused(f"call #{call.number} is {call.state}")
    if not target.takes(vessel.length, vessel.draught):
        return refused(f"{target.name} does not take {vessel.name}")
    moved = call.moved_to(target.name)
    for other in calls:
        if moved.clashes_with(other):
            return refused(f"{other.call_sign} lies at {target.name} at that time")
    return settled(moved)
