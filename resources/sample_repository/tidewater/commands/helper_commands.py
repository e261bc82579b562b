"""pilot-add, pilot-list, tug-add, tug-list, tug-lay-up."""

from __future__ import annotations

from dataclasses import replace

from tidewater.clock import read_stamp
from tidewater.commands.command import argument, command
from tidewater.outcome import Outcome, refused, settled
from tidewater.records.pilot import Pilot
from tidewater.records.tug import Tug


@command(
    "pilot-add",
    argument("name"),
    argument("--up-to", type=float, required=True, metavar="METRES"),
    argument("--watch", default="0-24", metavar="HOURS"),
    argument("--tankers", action="store_true"),
    help="add a pilot to the roster",
)
def pilot_add(arguments, harbour) -> Outcome:
    begins, dash, ends = arguments.watch.partition("-")
    if not dash or not (begins.isdigit() and ends.isdigit()):
        return refused(f"{arguments.watch!r} is no watch; write it as 6-18")
    pilot = Pilot(arguments.name, arguments.up_to, int(begins), int(ends), tankers=arguments.tankers).checked()
    return settled(harbour.pilots.store(pilot))


@command("pilot-list", argument("--at", default="", metavar="TIME"), help="list the pilots")
def pilot_list(arguments, harbour) -> Outcome:
    moment = read_stamp(arguments.at) if arguments.at else None
    pilots = harbour.pilots.fetch_many(on_watch_at=moment)
    if not pilots:
        return refused("no pilot is on watch" if moment else "the roster is empty")
    return settled(pilots)


@command("tug-add", argument("name"), argument("--pull", type=float, required=True), help="add a tug")
def tug_add(arguments, harbour) -> Outcome:
    tug = Tug(arguments.name, arguments.pull).checked()
    return settled(harbour.tugs.store(tug))


@command("tug-list", argument("--in-service", action="store_true"), help="list the tugs")
def tug_list(arguments, harbour) -> Outcome:
    tugs = harbour.tugs.fetch_many(in_service=arguments.in_service)
    if not tugs:
        return refused("the harbour has no tug yet")
    return settled(tugs)


@command("tug-lay-up", argument("name"), help="take a tug out of service")
def tug_lay_up(arguments, harbour) -> Outcome:
    tug = harbour.tugs.fetch_one(arguments.name)
    if tug.laid_up:
        return refused(f"{tug.name} is laid up already")
    for call in harbour.calls.fetch_many(open_only=True):
        if tug.name in call.tugs:
            return refused(f"{tug.name} is needed for call #{call.number}")
    return settled(harbour.tugs.store(replace(tug, laid_up=True)))
