"""berth-add, berth-list, berth-close, berth-forget."""

from __future__ import annotations

from dataclasses import replace

from tidewater.commands.command import argument, command
from tidewater.outcome import Outcome, refused, settled
from tidewater.records.berth import Berth


@command(
    "berth-add",
    argument("name"),
    argument("--length", type=float, required=True),
    argument("--depth", type=float, required=True),
    argument("--crane", action="store_true"),
    help="add a berth to the harbour",
)
def berth_add(arguments, harbour) -> Outcome:
    berth = Berth(arguments.name, arguments.length, arguments.depth, has_crane=arguments.crane).checked()
    return settled(harbour.berths.store(berth))


@command("berth-list", argument("--open", action="store_true"), help="list the berths")
def berth_list(arguments, harbour) -> Outcome:
    berths = harbour.berths.fetch_many(open_only=arguments.open)
    if not berths:
        return refused("the harbour has no berth yet")
    return settled(berths)


@command("berth-close", argument("name"), help="close a berth that nobody keeps")
def berth_close(arguments, harbour) -> Outcome:
    berth = harbour.berths.fetch_one(arguments.name)
    for call in harbour.calls.fetch_many(open_only=True):
        if call.berth == berth.name:
            return refused(f"{call.call_sign} keeps {berth.name} with call #{call.number}")
    return settled(harbour.berths.store(replace(berth, closed=True)))


@command("berth-forget", argument("name"), help="take a berth out of the harbour")
def berth_forget(arguments, harbour) -> Outcome:
    harbour.berths.forget(arguments.name)
    return settled(f"{arguments.name} is forgotten")
