"""board-show, board-export."""

from __future__ import annotations

import json
from pathlib import Path

from tidewater.clock import read_stamp
from tidewater.commands.command import argument, command
from tidewater.outcome import Outcome, refused, settled
from tidewater.reports.board import board_lines, board_rows


@command("board-show", argument("moment", metavar="TIME"), help="show who lies where")
def board_show(arguments, harbour) -> Outcome:
    moment = read_stamp(arguments.moment)
    berths = harbour.berths.fetch_many()
    if not berths:
        return refused("the harbour has no berth yet")
    return settled(board_lines(berths, harbour.calls.fetch_at(moment), harbour.vessels.fetch_many()))


@command(
    "board-export",
    argument("moment", metavar="TIME"),
    argument("file", type=Path),
    help="write the board as JSON for the screen on the wall",
)
def board_export(arguments, harbour) -> Outcome:
    moment = read_stamp(arguments.moment)
    rows = board_rows(harbour.berths.fetch_many(), harbour.calls.fetch_at(moment), harbour.vessels.fetch_many())
    if not rows:
        return refused("the harbour has no berth yet")
    arguments.file.write_text(json.dumps({"moment": arguments.moment, "rows": rows}, indent=2), encoding="utf-8")
    return settled(f"{len(rows)} berths written to {arguments.file}")
