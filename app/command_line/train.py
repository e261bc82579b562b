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

NOT_BETTER, REFUSED, INTERRUPTED_RUN, INTERRUPTED = 1, 2, 3, 130
STDERR = 2  # the descriptor
BAR = 20  # characters
PASSES_OVER_CHANGES = 4  # of an incremental run whose length is not given
LIMITS = ("steps", "epochs", "minutes")
NUMBERS = {
    "steps": (int, "how many steps"),
    "epochs": (float, "how many passes over the files"),
    "minutes": (float, "how long"),
    "learning-rate": (float, "how far each step goes"),
    "batch-size": (int, "windows of code a step"),
    "micro-batch": (int, "windows computed at once (default: as memory allows)"),
    "sequence-length": (int, "tokens in a window"),
    "rank": (int, "width of the low-rank pairs"),
    "recompute": (int, "layers computed twice to save memory"),
    "patience": (int, "evaluations without improvement before it stops"),
    "fim-share": (float, "share of files with a gap to fill in"),
    "replay-share": (float, "share of older code beside changed files"),
    "duty-cycle": (float, "share of the time that it may work, 0.1 to 1"),
    "seed": (int, "draws the order of the files"),
}
EXIT_CODES = """exit codes:
  0    the run came to its end, or Ctrl-C stopped it, and a better model was kept (or there was nothing new to learn)
  1    the run came to its end and nothing was better than the start on held-out code: nothing was kept
  2    the request cannot be met; the message says why and what to do
  3    something failed on the way (device, disk, memory); the run is saved and goes on with --resume
  130  quit at once by a second Ctrl-C; the run goes on with --resume
"""


def add_parser(commands) -> None:
    """`codecoil train` and its options."""
    train = commands.add_parser(
        "train",
        help="adapt a model to a folder",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    train.add_argument("path", nargs="?", metavar="PATH", help="the folder to learn")
    train.add_argument("--preset", default="quick", metavar="NAME", help="quick, balanced or thorough (default: quick)")
    train.add_argument("--mode", metavar="NAME", help="wsla, lora, vocabulary or full")
    train.add_argument("--base", metavar="NAME", help="a checkpoint, or a folder in Hugging Face format")
    train.add_argument("--device", default="auto", metavar="NAME", help="as `codecoil devices` prints it")
    train.add_argument("--resume", metavar="RUN", help="go on with an interrupted run")
    train.add_argument("--changed-since", metavar="CHECKPOINT", help="learn only what changed since a checkpoint")
    train.add_argument("--timeline", type=int, default=0, metavar="N", help="keep up to N snapshots along the run")
    train.add_argument("--json", action="store_true", help="one event a line, as JSON")
    for name, (kind, words) in NUMBERS.items():
        train.add_argument(f"--{name}", type=kind, metavar="N", help=words)
    train.set_defaults(handler="app.command_line.train")


def run(arguments: argparse.Namespace) -> int:
    """Train and report; exit codes as `--help` has them."""
    from engine.devices import open_device
    from engine.devices.single_kernel import warm_up

    if arguments.path is None and not arguments.resume:
        print("codecoil train: name the folder to learn, or a run with --resume.", file=sys.stderr)
        return REFUSED
    progress = ProgressBar()
    device = open_device(arguments.device)
    session = None
    try:
        warm_up(device, lambda kernel, done, total: progress(done, total, "Preparing kernels (slow the first time)"))
        session = open_session(arguments, device, progress)
        progress.clear()
        return train(session, print_json if arguments.json else Report())
    finally:
        progress.clear()
        if session is not None:
            session.close()
        device.close()


def open_session(arguments: argparse.Namespace, device, progress: ProgressBar):
    """The run that was asked for: a new one, or one to go on with."""
    from engine.session import Session, SessionPlan, resume_session
    from engine.train.options import preset

    if arguments.resume:
        return resume_session(arguments.resume, data_folder(), lambda: device, progress)
    given = {name.replace("-", "_"): getattr(arguments, name.replace("-", "_")) for name in NUMBERS}
    given = {name: value for name, value in given.items() if value is not None}
    if arguments.mode:
        given["mode"] = arguments.mode
    if "steps" not in given and any(name in given for name in LIMITS):
        given["steps"] = 0
    elif arguments.changed_since and "steps" not in given:
        given["epochs"] = PASSES_OVER_CHANGES
    plan = SessionPlan(
        Path(arguments.path).resolve(),
        data_folder(),
        preset(arguments.preset).changed(**given),
        arguments.base or "",
        changed_since=arguments.changed_since or "",
        timeline=arguments.timeline,
    )
    return Session(plan, device, progress)


def train(session, show) -> int:
    """Run a session to its end, showing its events."""
    from engine.errors import CodecoilError

    code = 0
    with stops_on_interrupt(session):
        try:
            for event in session.run():
                show(event)
                if event.event == "finished" and event.rolled_back:
                    code = NOT_BETTER
        except CodecoilError as error:
            if not session.can_resume:
                raise
            print(f"codecoil: {error.message}\n  {error.remedy}\n  {how_to_resume(session)}", file=sys.stderr)
            return INTERRUPTED_RUN
    return code


def how_to_resume(session) -> str:
    return f"Go on with: codecoil train --resume {session.run_id}"


@contextmanager
def stops_on_interrupt(session):
    """The first Ctrl-C stops and keeps, the second quits at once."""

    def interrupt(number, frame) -> None:
        if session.trainer.stopping:
            # os.write, since print may not be entered again from a signal that came in the middle of one
            if session.can_resume:
                os.write(STDERR, f"\n{how_to_resume(session)}\n".encode())
            os._exit(INTERRUPTED)
        os.write(STDERR, b"\nStopping after this step; Ctrl-C again quits at once.\n")
        session.stop()

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
        self._steps = 0

    def __call__(self, event) -> None:
        line = getattr(self, f"_{event.event}")(event)
        if event.event == "step":
            if self._live:
                print(f"\r{line}\x1b[K", end="", flush=True)
        elif line:
            print(f"\r\x1b[K{line}" if self._live else line, flush=True)

    def _plan(self, event) -> str:
        self._steps = event.steps
        memory = ", ".join(f"{kind} {nbytes(size)}" for kind, size in event.memory.items())
        length = f"{event.steps:,} steps" if event.steps else "steps"
        limit = f" for at most {event.minutes:g} minutes" if event.minutes else ""
        parts = f" in {event.micro_batches} parts" if event.micro_batches > 1 else ""
        changed = f"{event.changed_files:,} changed files, mixed with older ones.\n" if event.changed_files else ""
        return (
            f"Run {event.run} on {event.device}: {event.base}, mode {event.mode}, {event.trained_parameters:,} weights "
            f"trained, {length} of {event.tokens_per_step:,} tokens{parts}{limit}.\n{changed}Memory: {memory}."
        )

    def _step(self, event) -> str:
        filled = int(BAR * event.progress)
        total = f"/{self._steps:,}" if self._steps else ""
        return (
            f"[{'#' * filled}{'-' * (BAR - filled)}] {event.step:,}{total}  loss {event.loss:.3f}  {self._held_out}"
            f"{event.tokens_per_second:,.0f} tokens/s  {nbytes(sum(event.memory.values()))}  "
            f"{duration(event.seconds_left)} left"
        )

    def _evaluation(self, event) -> str:
        self._held_out = f"held-out {event.held_out_loss:.3f}  "
        best = "  best so far" if event.best and event.step else ""
        changed = f"  changed files {event.changed_loss:.4f}" if event.changed_loss is not None else ""
        part = "  (a part of it)" if event.partial else ""
        return f"step {event.step:,}  held-out loss {event.held_out_loss:.4f}{part}{changed}{best}"

    def _layers(self, event) -> str:
        return ""  # numbers for a picture; --json has them

    def _note(self, event) -> str:
        return f"step {event.step:,}  {event.text}"

    def _checkpoint(self, event) -> str:
        what = "Snapshot" if event.timeline else "Saved as"
        return f"{what} {event.name} ({event.checkpoint[:8]}), held-out loss {event.held_out_loss:.4f}."

    def _finished(self, event) -> str:
        text = f"Finished at step {event.step:,} ({event.reason}) after {duration(event.seconds)}"
        if not event.step:
            return f"{text}."
        text += f": held-out loss {before_and_after(event.held_out_before, event.held_out_after)}"
        if event.changed_before is not None:
            text += f"; changed files {before_and_after(event.changed_before, event.changed_after)}"
        return f"{text}."


def before_and_after(before: float, after: float) -> str:
    """2.8000 before, 2.1000 after (-25.0%)."""
    return f"{before:.4f} before, {after:.4f} after ({after / before - 1:+.1%})"
