"""`codecoil selftest`: check every kernel of a device against its reference, one line each.

Exits with 1 and the names of the kernels that are wrong.
"""

from __future__ import annotations

import argparse
import sys
import time

from app.command_line import FAILED
from app.values.words import duration, milliseconds, small_number


class Report:
    """Prints a line per kernel to standard output and, on a terminal, the progress below it."""

    def __init__(self, names: list[str]) -> None:
        self.width = max(map(len, names), default=0)
        self.total = len(names)
        self.done = 0
        self.started = time.monotonic()
        self.live = sys.stderr.isatty()
        self._progress()

    def __call__(self, check) -> None:
        self.done += 1
        self.clear()
        print(
            f"{check.kernel:<{self.width}}  error {small_number(check.error):>7}  limit {small_number(check.limit):>7}"
            f"  {milliseconds(check.milliseconds):>7}  {'ok' if check.passed else 'FAILED'}",
            flush=True,
        )
        self._progress()

    def _progress(self) -> None:
        if self.live and self.done < self.total:
            elapsed = duration(time.monotonic() - self.started)
            print(f"\r{self.done} of {self.total} kernels, {elapsed}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the progress line."""
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> int:
    """0 if every kernel is within its limit."""
    from engine import selftest
    from engine.devices import choose_device
    from engine.graph.kernels import KERNELS

    choice = choose_device(arguments.device)
    print(f"{choice.info.name}  {choice.info.description} ({choice.info.backend})", flush=True)
    report = Report(list(KERNELS))
    try:
        checks = selftest.run(choice.info.name, report)
    finally:
        report.clear()
    wrong = [check.kernel for check in checks if not check.passed]
    elapsed = duration(time.monotonic() - report.started)
    if wrong:
        count = f"{len(wrong)} of {len(checks)} kernels"
        print(f"codecoil: {count} compute wrong numbers on {choice.info.name}: {', '.join(wrong)}", file=sys.stderr)
        return FAILED
    print(f"All {len(checks)} kernels are within their limits ({elapsed}).")
    return 0
