"""`codecoil tour`: the whole story in the real window on the real engine, with a picture of every station.

    hands.py      clicks, keys and waiting: what a user does
    camera.py     pictures, in both schemes and in two sizes
    guide.py      the stations one after the other, each with its time
    reading.py    first start, the sample project, what the model does not know yet
    adapting.py   modes, a run, a pause, the result, changes, leaving during a run
    completing.py a suggestion before and after, side by side, blended, along the run
    keeping.py    checkpoints: list, drift, merge, trash
    minding.py    settings, the check of the device, a folder that is gone

Offscreen where there is no screen.  All state is in a temporary folder: the user's own is neither read nor changed.
Everything is done by clicks and keys; controllers are only looked at, to know when a station is reached.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from app.display import display_problem, need_qt

FAILED = 1


def run(arguments: argparse.Namespace) -> int:
    """Take the tour; 0 if every station was reached."""
    no_screen = display_problem()
    if no_screen:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    need_qt()
    if no_screen:
        quiet_offscreen()
    out = Path(arguments.out).expanduser().absolute()
    out.mkdir(parents=True, exist_ok=True)

    from app.desktop import open_desktop
    from app.tour.guide import BRIEF, FULL, Tour

    with tempfile.TemporaryDirectory(prefix="codecoil-tour-") as folder:
        desktop = open_desktop(Path(folder))
        tour = Tour(desktop, out, BRIEF if arguments.brief else FULL)
        try:
            problem = tour.take()
        finally:
            desktop.close()
            for part in (desktop.window, desktop.theme):  # here, and not wherever garbage is collected
                part.deleteLater()
            tour.hands.settle()
    print(f"{tour.seconds:.0f} s, {len(tour.camera.pictures)} pictures in {out}")
    if problem:
        print(f"codecoil: {problem}", file=sys.stderr)
    return FAILED if problem else 0


def quiet_offscreen() -> None:
    """Qt's offscreen plugin says of every window manager's job that it does not do it; nobody needs to read that."""
    from PySide6.QtCore import qInstallMessageHandler

    def handler(_kind, _context, message: str) -> None:
        if not message.startswith("This plugin does not support"):
            print(message, file=sys.stderr)

    qInstallMessageHandler(handler)
