"""tide-read, tide-list, tide-windows."""

from __future__ import annotations

import csv
from datetime import timedelta
from pathlib import Path

from tidewater.clock import read_span, read_stamp
from tidewater.commands.command import argument, command
from tidewater.guards import BrokenRecord
from tidewater.outcome import Outcome, refused, settled
from tidewater.planning.water import plan_windows
from tidewater.records.tide import Tide

MARGIN = timedelta(hours=8)


@command("tide-read", argument("file", type=Path), help="read a tide table: moment, turn, height")
def tide_read(arguments, harbour) -> Outcome:
    if not arguments.file.is_file():
        return refused(f"there is no file {arguments.file}")
    tides = []
    with arguments.file.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            try:
                moment, turn, height = row
                tides.append(Tide(read_stamp(moment), turn, float(height)).checked())
            except (ValueError, BrokenRecord) as error:
                return refused(f"line {number}: {error}")
    return settled(f"{harbour.tides.store_many(tides)} tides read")


@command(
    "tide-list",
    argument("begins", metavar="TIME"),
    argument("--for", dest="span", default="1d", metavar="SPAN"),
    help="list the turns of the tide",
)
def tide_list(arguments, harbour) -> Outcome:
    begins = read_stamp(arguments.begins)
    tides = harbour.tides.fetch_many(begins, begins + read_span(arguments.span))
    if not tides:
        return refused("no tide is known for that time")
    return settled(tides)


@command(
    "tide-windows",
    argument("draught", type=float),
    argument("begins", metavar="TIME"),
    argument("--for", dest="span", default="1d", metavar="SPAN"),
    help="list when a draught can pass the bar",
)
def tide_windows(arguments, harbour) -> Outcome:
    begins = read_stamp(arguments.begins)
    ends = begins + read_span(arguments.span)
    tides = harbour.tides.fetch_many(begins - MARGIN, ends + MARGIN)
    return plan_windows(tides, arguments.draught, begins, ends)
