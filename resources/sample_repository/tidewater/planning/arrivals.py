"""A whole arrival: tide, berth, pilot and tugs, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidewater.clock import to_quarter
from tidewater.outcome import Outcome, settled
from tidewater.planning.berthing import plan_berth
from tidewater.planning.crewing import plan_pilot, plan_tugs
from tidewater.planning.water import first_passage
from tidewater.records.berth import Berth
from tidewater.records.call import Call
from tidewater.records.pilot import Pilot
from tidewater.records.tide import Tide
from tidewater.records.tug import Tug
from tidewater.records.vessel import Vessel

PATIENCE = timedelta(hours=14)


@dataclass(frozen=True)
class Situation:
    """Everything that a plan looks at."""

    berths: Sequence[Berth]
    tides: Sequence[Tide]
    pilots: Sequence[Pilot]
    tugs: Sequence[Tug]
    calls: Sequence[Call]


def plan_arrival(number: int, vessel: Vessel, wanted: datetime, stays: timedelta, situation: Situation) -> Outcome:
    """A planned call, or the first reason why there can be none."""

    def with_water(moment: datetime) -> Outcome:
        boards = to_quarter(moment)
        return settled(Call(number, vessel.call_sign, "unset", boards, boards + stays).checked())

    def with_berth(call: Call) -> Outcome:
        found = plan_berth(vessel, situation.berths, situation.calls, call)
        return found.then(lambda berth: settled(call.moved_to(berth.name)))

    def with_pilot(call: Call) -> Outcome:
        found = plan_pilot(vessel, situation.pilots, situation.calls, call.arrives)
        return found.then(lambda pilot: settled(replace(call, pilot=pilot)))

    def with_tugs(call: Call) -> Outcome:
        found = plan_tugs(vessel, situation.tugs, situation.calls, call.arrives)
        return found.then(lambda tugs: settled(replace(call, tugs=tugs)))

    passage = first_passage(situation.tides, vessel.draught, wanted, PATIENCE)
    return passage.then(with_water).then(with_berth).then(with_pilot).then(with_tugs)
