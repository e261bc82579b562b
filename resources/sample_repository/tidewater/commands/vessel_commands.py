"""vessel-add, vessel-list, vessel-forget."""

from __future__ import annotations

from tidewater.commands.command import argument, command
from tidewater.outcome import Outcome, refused, settled
from tidewater.records.vessel import KINDS, Vessel


@command(
    "vessel-add",
    argument("call_sign"),
    argument("name"),
    argument("--kind", choices=KINDS, default="cargo"),
    argument("--length", type=float, required=True),
    argument("--draught", type=float, required=True),
    argument("--thruster", action="store_true"),
    help="add a vessel to the list",
)
def vessel_add(arguments, harbour) -> Outcome:
    vessel = Vessel(
        arguments.call_sign.upper(),
        arguments.name,
        arguments.kind,
        arguments.length,
        arguments.draught,
        has_thruster=arguments.thruster,
    ).checked()
    return settled(harbour.vessels.store(vessel))


@command(
    "vessel-list",
    argument("--kind", choices=KINDS, default=""),
    argument("--longer-than", type=float, default=0.0),
    help="list the vessels",
)
def vessel_list(arguments, harbour) -> Outcome:
    vessels = harbour.vessels.fetch_many(kind=arguments.kind, longer_than=arguments.longer_than)
    if not vessels:
        return refused("no such vessel is known")
    return settled(vessels)


@command("vessel-forget", argument("call_sign"), help="strike a vessel from the list")
def vessel_forget(arguments, harbour) -> Outcome:
    vessel = harbour.vessels.fetch_one(arguments.call_sign)
    if harbour.calls.fetch_many(open_only=True, call_sign=vessel.call_sign):
        return refused(f"{vessel.name} still has an open call")
    harbour.vessels.forget(vessel.call_sign)
    return settled(f"{vessel.name} is forgotten")
