#!/usr/bin/env python3
"""Drives the real window through every page and saves pictures:  python packaging/take_tour.py [--out FOLDER]

    --out FOLDER   for the pictures; default: codecoil-tour
    --brief        shorter runs, and one picture per scene

Runs offscreen if there is no screen, against the Codecoil that is installed for this Python: dev.py takes the tour in
.venv, check_wheel.py with an installed wheel.  All state is in a temporary folder: the user's own is neither read nor
changed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from app.command_line import FAILED, REFUSED
from app.display import display_problem, need_qt
from app.network import connections
from engine.errors import CodecoilError

OFFSCREEN = "offscreen"


def main(argv: Sequence[str] | None = None) -> int:
    """Take the tour; 0 if every scene was completed."""
    parser = argparse.ArgumentParser(description=__doc__.split(":  ")[0])
    parser.add_argument("--out", type=Path, default="codecoil-tour", metavar="FOLDER", help="for the pictures")
    parser.add_argument("--brief", action="store_true", help="shorter runs, and one picture per scene")
    arguments = parser.parse_args(argv)
    connections.install()
    try:
        return take(arguments.out.expanduser().absolute(), arguments.brief)
    except CodecoilError as error:
        print(f"{error.message}\n  {error.remedy}", file=sys.stderr)
        return REFUSED


def take(out: Path, brief: bool) -> int:
    if display_problem():
        os.environ["QT_QPA_PLATFORM"] = OFFSCREEN
    need_qt()
    if os.environ.get("QT_QPA_PLATFORM") == OFFSCREEN:
        quiet_offscreen()
    out.mkdir(parents=True, exist_ok=True)

    from tour.scenes import BRIEF, FULL, Tour

    from app.desktop import open_desktop

    with tempfile.TemporaryDirectory(prefix="codecoil-tour-") as folder:
        desktop = open_desktop(Path(folder))
        tour = Tour(desktop, out, BRIEF if brief else FULL)
        try:
            problem = tour.take()
        finally:
            desktop.close()
            for part in (desktop.window, desktop.theme):  # here, and not wherever garbage is collected
                part.deleteLater()
            tour.user.settle()
    print(f"{tour.seconds:.0f} s, {len(tour.camera.pictures)} pictures in {out}")
    if problem:
        print(f"The tour ended early. {problem}", file=sys.stderr)
    return FAILED if problem else 0


def quiet_offscreen() -> None:
    """Drop the lines in which Qt's offscreen plugin says what it does not support."""
    from PySide6.QtCore import qInstallMessageHandler

    def handler(_kind, _context, message: str) -> None:
        if not message.startswith("This plugin does not support"):
            print(message, file=sys.stderr)

    qInstallMessageHandler(handler)


if __name__ == "__main__":
    sys.exit(main())
