"""`codecoil train`: adapt a model to a folder, with progress on the terminal or one event a line as JSON.

Ctrl-C stops after the running step and keeps the best so far; a second one quits at once, and the run can be resumed
from what was saved last.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

from app.command_line.scan import ProgressBar
from app.data_folder import data_folder
from app.words import duration, nbytes

INTERRUPTED = 130
OPTION_NAMES = (
    "mode",
    "steps",
    "minutes",
    "learning_rate",
    "batch_size",
    "sequence_length",
    "seed",
    "fim_share",
    "duty_cycle",
)


def run(arguments: argparse.Namespace) -> int:
    """Train and report; 0 where the run came to its end, also by Ctrl-C."""
    from engine.devices import open_device
    from engine.devices.single_kernel import warm_up
    from engine.session import Session, SessionPlan, resume_session
    from engine.train.options import preset

    progress = ProgressBar()
    device = open_device(arguments.device)
    session = None
    try:
        warm_up(device, lambda kernel, done, total: progress(done, total, "Preparing kernels (slow the first time)"))
        if arguments.resume:
            session = resume_session(arguments.resume, data_folder(), lambda: device, progress)
        else:
            if arguments.path is None:
                print("codecoil train: name the folder to learn, or a run with --resume.", file=sys.stderr)
                return 2
            given = {name: getattr(arguments, name) for name in OPTION_NAMES if getattr(arguments, name) is not None}
            if not arguments.base:
                given.setdefault("mode", "full")  # a new model knows nothing yet that an adapter could stand on
            options = preset(arguments.preset).changed(**given)
            plan = SessionPlan(Path(arguments.path).resolve(), data_folder(), options, arguments.base or "")
            session = Session(plan, device, progress)
        progress.clear()
        show = print_json if arguments.json else Report()
        with stops_on_interrupt(session):
            for event in session.run():
                show(event)
    finally:
        progress.clear()
        if session is not None:
            session.close()
        device.close()
    return 0


@contextmanager
def stops_on_interrupt(session):
    """The first Ctrl-C stops and keeps, the second quits at once."""

    def interrupt(number, frame) -> None:
        if session.trainer.stopping:
            os._exit(INTERRUPTED)
        print("\nStopping after this step; Ctrl-C again quits at once.", file=sys.stderr)
        session.trainer.stop()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def print_json(event) -> None:
    print(json.dumps(event.to_json()), flush=True)


class Report:
    """Events in words: a line that is rewritten for steps, and one that stays for everything else."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._held_out = ""

    def __call__(self, event) -> None:
        line = getattr(self, f"_{event.event}")(event)
        if event.event == "step":
            if self._live:
                print(f"\r{line}\x1b[K", end="", flush=True)
        elif line:
            print(f"\r\x1b[K{line}" if self._live else line, flush=True)

    def _plan(self, event) -> str:
        memory = ", ".join(f"{kind} {nbytes(size)}" for kind, size in event.memory.items())
        return (
            f"Run {event.run} on {event.device}: mode {event.mode}, {event.trained_parameters:,} weights trained, "
            f"{event.steps:,} steps of {event.tokens_per_step:,} tokens.\nMemory: {memory}."
        )

    def _step(self, event) -> str:
        return (
            f"step {event.step:,}  loss {event.loss:.3f}  {self._held_out}{event.tokens_per_second:,.0f} tokens/s  "
            f"{nbytes(sum(event.memory.values()))}  {duration(event.seconds_left)} left"
        )

    def _evaluation(self, event) -> str:
        self._held_out = f"held-out {event.held_out_loss:.3f}  "
        best = "  best so far" if event.best and event.step else ""
        return f"step {event.step:,}  held-out loss {event.held_out_loss:.4f}{best}"

    def _note(self, event) -> str:
        return f"step {event.step:,}  {event.text}"

    def _checkpoint(self, event) -> str:
        return f"Saved as {event.name} ({event.checkpoint[:8]}), held-out loss {event.held_out_loss:.4f}."

    def _finished(self, event) -> str:
        change = event.held_out_after / event.held_out_before - 1
        return (
            f"Finished at step {event.step:,} ({event.reason}) after {duration(event.seconds)}: "
            f"held-out loss {event.held_out_before:.4f} before, {event.held_out_after:.4f} after ({change:+.1%})."
        )
