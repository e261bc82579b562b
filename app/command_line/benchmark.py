"""`codecoil benchmark`: how fast every kernel is on a device, as a text for an issue.

Ctrl-C ends it at the next look; what was measured until then is printed, and the exit code is that of an interruption.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from app.command_line import INTERRUPTED
from app.data.data_folder import data_folder
from app.values.benchmark import as_json, benchmark_text
from app.values.words import duration

SECONDS = 300
LEAST_SECONDS = 5


def add_parser(commands) -> None:
    parser = commands.add_parser("benchmark", help="measure how fast every kernel is on a device, for an issue")
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="as listed by `codecoil devices` (default: auto)"
    )
    parser.add_argument(
        "--seconds",
        type=int,
        default=SECONDS,
        metavar="N",
        help=f"take about so long at most, and say what was left out (default: {SECONDS})",
    )
    parser.add_argument("--json", action="store_true", help="as JSON, in seconds, operations and bytes")
    parser.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="the data folder to use")
    parser.set_defaults(handler="app.command_line.benchmark")


class _Interrupted(Exception):
    """Ctrl-C was pressed."""


class Report:
    """Keeps what was measured so far; on a terminal, shows what is measured now."""

    def __init__(self) -> None:
        self.result = None
        self._live = sys.stderr.isatty()

    def __call__(self, result, done: int, total: int, what: str) -> None:
        self.result = result
        if self._live:
            words = f"{duration(result.seconds)}  part {min(done + 1, total)} of {total}: {what}"
            print(f"\r\x1b[K{words[:110]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the progress line."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> int:
    from app.data.settings_file import setting
    from engine.benchmark.run import measure
    from engine.errors import InputError

    if arguments.seconds < LEAST_SECONDS:
        raise InputError(f"--seconds is {arguments.seconds}; it must be at least {LEAST_SECONDS}.")
    report, interrupted = Report(), False
    ceiling = setting(data_folder(), "memory_ceiling")
    try:
        with looks_for_interrupt() as look:
            measure(arguments.device, seconds=arguments.seconds, ceiling=ceiling, report=report, look=look)
    except _Interrupted:
        interrupted = True
    finally:
        report.clear()
    if report.result is not None:
        print(json.dumps(as_json(report.result), indent=1) if arguments.json else benchmark_text(report.result))
    if interrupted:
        print("Interrupted: this is what was measured until then.", file=sys.stderr)
        return INTERRUPTED
    return 0


@contextmanager
def looks_for_interrupt() -> Iterator:
    """What raises once Ctrl-C was pressed, between two runs; pressed again, Ctrl-C interrupts at once."""
    pressed = False

    def interrupt(number, frame) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    def look() -> None:
        if pressed:
            raise _Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield look
    finally:
        signal.signal(signal.SIGINT, before)
