"""call-plan, call-list, call-shift, call-state, call-bill."""

from __future__ import annotations

from datetime import timedelta

from tidewater.clock import read_span, read_stamp
from tidewater.commands.command import argument, command
from tidewater.outcome import Outcome, refused, settled
from tidewater.planning.arrivals import PATIENCE, Situation, plan_arrival
from tidewater.planning.berthing import plan_shift
from tidewater.planning.billing import plan_bill, total_of
from tidewater.records.call import STATES

MARGIN = timedelta(hours=8)


@command(
    "call-plan",
    argument("call_sign"),
    argument("--arrives", required=True, metavar="TIME"),
    argument("--stays", default="1d", metavar="SPAN"),
    help="plan the visit of a vessel",
)
def call_plan(arguments, harbour) -> Outcome:
    vessel = harbour.vessels.fetch_one(arguments.call_sign)
    arrives, stays = read_stamp(arguments.arrives), read_span(arguments.stays)
    situation = Situation(
        berths=harbour.berths.fetch_many(open_only=True),
        tides=harbour.tides.fetch_many(arrives - MARGIN, arrives + PATIENCE + MARGIN),
        pilots=harbour.pilots.fetch_many(),
        tugs=harbour.tugs.fetch_many(in_service=True),
        calls=harbour.calls.fetch_many(open_only=True),
    )
    planned = plan_arrival(harbour.calls.next_number(), vessel, arrives, stays, situation)
    return planned.then(lambda call: settled(harbour.calls.store(call)))


@command(
    "call-list",
    argument("--open", action="store_true"),
    argument("--vessel", default="", metavar="CALL_SIGN"),
    help="list the calls",
)
def call_list(arguments, harbour) -> Outcome:
    calls = harbour.calls.fetch_many(open_only=arguments.open, call_sign=arguments.vessel.upper())
    if not calls:
        return refused("no such call is planned")
    return settled(calls)


@command("call-shift", argument("number", type=int), argument("berth"), help="move a call to another berth")
def call_shift(arguments, harbour) -> Outcome:
    call = harbour.calls.fetch_one(arguments.number)
    vessel = harbour.vessels.fetch_one(call.call_sign)
    target = harbour.berths.fetch_one(arguments.berth)
    shifted = plan_shift(call, vessel, target, harbour.calls.fetch_many(open_only=True))
    return shifted.then(lambda moved: settled(harbour.calls.store(moved)))


@command(
    "call-state",
    argument("number", type=int),
    argument("state", choices=STATES),
    help="say that a vessel lies alongside, has sailed, or will not come",
)
def call_state(arguments, harbour) -> Outcome:
    call = harbour.calls.fetch_one(arguments.number)
    if not call.is_open:
        return refused(f"call #{call.number} is {call.state} and stays so")
    return settled(harbour.calls.store(call.in_state(arguments.state)))


@command("call-bill", argument("number", type=int), help="write the bill of a call")
def call_bill(arguments, harbour) -> Outcome:
    call = harbour.calls.fetch_one(arguments.number)
    vessel = harbour.vessels.fetch_one(call.call_sign)
    berth = harbour.berths.fetch_one(call.berth)
    billed = plan_bill(call, vessel, berth)
    if billed.is_refused:
        return billed
    harbour.fees.store_many(billed.value)
    return settled([*billed.value, total_of(billed.value)])
