"""Which pilot and which tugs bring a vessel in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tidewater.clock import overlap
from tidewater.outcome import Outcome, refused, settled
from tidewater.records.call import Call
from tidewater.records.pilot import Pilot
from tidewater.records.tug import Tug
from tidewater.records.vessel import Vessel

PILOTAGE = timedelta(hours=2)


def busy_helpers(calls: Sequence[Call], moment: datetime) -> set[str]:
    """Pilots and tugs that another arrival or departure needs around that moment."""
    busy: set[str] = set()
    for call in calls:
        if not call.is_open:
            continue
        for begins in (call.arrives, call.leaves):
            if overlap(begins, begins + PILOTAGE, moment, moment + PILOTAGE):
                busy.update(filter(None, (call.pilot, *call.tugs)))
    return busy


def plan_pilot(vessel: Vessel, pilots: Sequence[Pilot], calls: Sequence[Call], moment: datetime) -> Outcome:
    """The least licensed pilot who may bring her, so that others stay free; none for small hulls."""
    if not vessel.needs_pilot():
        return settled("")
    busy = busy_helpers(calls, moment)
    able = [pilot for pilot in pilots if pilot.may_bring(vessel.kind, vessel.length)]
    if not able:
        return refused(f"no pilot is licensed for {vessel.name}")
    ready = [pilot for pilot in able if pilot.on_watch(moment) and pilot.name not in busy]
    if not ready:
        return refused(f"no pilot for {vessel.name} is on watch and free")
    chosen = min(ready, key=lambda pilot: (pilot.licensed_length, pilot.name))
    return settled(chosen.name)


def plan_tugs(vessel: Vessel, tugs: Sequence[Tug], calls: Sequence[Call], moment: datetime) -> Outcome:
    """As many tugs as her length asks for, the weakest that will do."""
    needed = vessel.tugs_needed()
    if needed == 0:
        return settled(())
    busy = busy_helpers(calls, moment)
    able = [tug for tug in tugs if tug.can_move(vessel.length) and tug.name not in busy]
    if len(able) < needed:
        return refused(f"{vessel.name} needs {needed} tugs and {len(able)} are free")
    able.sort(key=lambda tug: (tug.pull, tug.name))
    return settled(tuple(tug.name for tug in able[:needed]))
