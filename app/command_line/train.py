"""`codecoil train`: adapt a model to a folder, with progress on the terminal or one JSON event per line.

Ctrl-C stops after the running step and saves the best so far; a second one quits at once, and the run can be resumed
from its last save.  The options are in `train_options`, what is printed in `train_report`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import contextmanager, suppress

from app.command_line.chosen_device import open_chosen_device
from app.command_line.model_choice import STORE
from app.command_line.scan import ProgressBar
from app.command_line.train_options import (
    DEFAULT_PRESET,
    INTERRUPTED,
    INTERRUPTED_RUN,
    NOT_BETTER,
    REFUSED,
    argument_problem,
    given_options,
)
from app.command_line.train_report import JsonLines, Report
from app.data.data_folder import data_folder

STDERR = 2  # the descriptor
NOTHING_KEPT = "Stopped before the first step, so nothing was saved."
NOTHING_SAVED = "There is nothing to resume."
NO_TIME = "Time was up before the first step, so nothing was saved: evaluating takes time too. Increase --minutes."


def run(arguments: argparse.Namespace) -> int:
    """Train and report; exit codes as `--help` has them."""
    if wrong := argument_problem(arguments):
        print(f"codecoil train: {wrong}", file=sys.stderr)
        return REFUSED
    progress = ProgressBar()
    device = open_chosen_device(arguments.device, progress)
    session = None

    def reopen():
        """In place of a device that was lost."""
        nonlocal device
        device.close()
        device = open_chosen_device(arguments.device, progress)
        return device

    try:
        session = prepare(arguments, device, progress, reopen)
        if session is None:
            return INTERRUPTED
        return train(session, JsonLines() if arguments.json else Report())
    finally:
        progress.clear()
        if session is not None:
            session.close()
        device.close()


def prepare(arguments: argparse.Namespace, device, progress: ProgressBar, reopen):
    """The session, ready to run; None after Ctrl-C."""
    from engine.devices.single_kernel import warm_up

    try:
        warm_up(device, lambda kernel, done, total: progress(done, total, "Preparing kernels (slow the first time)"))
        session = open_session(arguments, device, progress, reopen)
    except KeyboardInterrupt:
        progress.clear()
        print(how_to_resume(arguments.resume) if arguments.resume else NOTHING_KEPT, file=sys.stderr)
        return None
    progress.clear()
    return session


def open_session(arguments: argparse.Namespace, device, progress: ProgressBar, reopen):
    """A new run, or the one to resume."""
    from engine.checkpoints.store.store import CheckpointStore
    from engine.corpus.reading.walk import source_folder
    from engine.session import Session, SessionPlan, resume_session
    from engine.train.options import preset

    if arguments.resume is not None:
        return resume_session(arguments.resume, data_folder(), lambda: device, progress, reopen)
    given = given_options(arguments)
    options = preset(arguments.preset or DEFAULT_PRESET).changed(**given)
    if arguments.changed_since:
        options = options.for_changes(CheckpointStore(data_folder() / STORE).get(arguments.changed_since).mode, given)
    plan = SessionPlan(
        source_folder(arguments.path),
        data_folder(),
        options,
        arguments.base or "",
        changed_since=arguments.changed_since or "",
        timeline=arguments.timeline or 0,
    )
    return Session(plan, device, progress, reopen=reopen)


def train(session, show) -> int:
    """Run a session to its end, showing its events."""
    from engine.errors import CodecoilError
    from engine.train.trainer import TIME_IS_UP

    rolled_back = kept = no_step = False
    with stops_on_interrupt(session):
        try:
            for event in session.run():
                rolled_back |= event.event == "finished" and event.rolled_back
                no_step |= event.event == "finished" and not event.step and event.reason == TIME_IS_UP
                kept |= event.event == "checkpoint" and not event.timeline
                show_if_read(show, event, session)
            show.end()
        except BrokenPipeError:
            silence_output()
            if not session.finished:
                return pipe_closed(session)
        except CodecoilError as error:
            if not session.can_resume:
                raise
            print(f"codecoil: {error.message}\n  {error.remedy}\n  {how_to_resume(session.run_id)}", file=sys.stderr)
            return INTERRUPTED_RUN
    if rolled_back:
        return NOT_BETTER
    if session.trainer.stopping and not kept:
        print(f"{NOTHING_KEPT} {what_can_resume(session)}", file=sys.stderr)
        return INTERRUPTED
    if no_step:
        print(NO_TIME, file=sys.stderr)
        return NOT_BETTER
    return 0


def show_if_read(show, event, session) -> None:
    """Show an event.  A run that is about to end continues without a reader: Ctrl-C also ends the `tee` behind it."""
    try:
        show(event)
    except BrokenPipeError:
        if not (session.trainer.stopping or session.finished):
            raise
        silence_output()


def pipe_closed(session) -> int:
    """The reader (`| head`) is gone: save the run where it is, and report an error."""
    if session.trainer.between_steps:
        session.save_progress()
    print(f"codecoil: The output pipe was closed.\n  {what_can_resume(session)}", file=sys.stderr)
    return INTERRUPTED_RUN


def silence_output() -> None:
    """Discard all further output; Python would complain again when it flushes at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def how_to_resume(run: str) -> str:
    return f"To resume: codecoil train --resume {run}"


def what_can_resume(session) -> str:
    """How to resume the run from its last save, if there is one."""
    return how_to_resume(session.run_id) if session.can_resume else NOTHING_SAVED


@contextmanager
def stops_on_interrupt(session):
    """The first Ctrl-C stops and saves, the second quits at once."""

    def interrupt(number, frame) -> None:
        if session.trainer.stopping:
            # os.write, since a signal may have interrupted a print, which cannot be entered again
            os.write(STDERR, f"\n{what_can_resume(session)}\n".encode())
            os._exit(INTERRUPTED)
        os.write(STDERR, b"\nStopping after this step; Ctrl-C again quits at once.\n")
        session.stop()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
