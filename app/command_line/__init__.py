"""The command line: `codecoil` and its commands.

Every command is a module with `run(arguments) -> exit code`, imported only when it is used: `--version` answers at
once, and a command that needs no window never loads Qt.  Exit codes: 0 success, 1 a check failed, 2 the request cannot
be met (message and remedy on standard error), 3 a run failed and can be resumed, 130 interrupted.

    devices, selftest   where the engine can compute, and whether its numbers are right
    benchmark           how fast every kernel is there, as a text for an issue
    scan                which files of a folder would be learned
    handoff             a run for another machine
    train               adapt a model, with train_options and train_report (text, or JSON lines)
    complete            complete a text                    score         did training help?
    checkpoints         manage checkpoints, with checkpoint_words, checkpoint_measuring and checkpoint_audit
    import_score        the scorecard of a hand-off's result, when it is imported
    base                larger base models, with base_importing and base_speeds
    model_choice        which model a command means
    chosen_device       opened with the memory ceiling of the settings
    held_out            losses, for commands that compare
    serve, lsp          completions for editors, on this machine only; as a language server
    memory              what the memory of a folder contains, and what it would suggest
    repository_memory   the memory of a folder, for the commands that use it
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from app import VERSION
from app.data.data_folder import VARIABLE
from app.network import connections

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def build_parser() -> argparse.ArgumentParser:
    """All commands, in the order of use, and options.  `handler` names the module that runs a command."""
    parser = argparse.ArgumentParser(
        prog="codecoil",
        description="Adapts a small code model to your repository, on your own machine.",
        epilog="Without a command, the window opens.",
    )
    parser.add_argument("--version", action="version", version=f"codecoil {VERSION}")
    parser.add_argument("--data-dir", metavar="FOLDER", help="the data folder to use")
    parser.set_defaults(handler="app.desktop", path=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    # They need this module: imported when it is ready.
    from app.command_line import (
        base,
        benchmark,
        checkpoints,
        complete,
        handoff,
        lsp,
        memory,
        score,
        serve,
        train_options,
    )

    window = commands.add_parser("open", help="open the window on a folder")
    window.add_argument("path", metavar="PATH", nargs="?", default=".", help="the folder of source code (default: .)")
    window.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="the data folder to use")
    window.set_defaults(handler="app.desktop")

    scan = commands.add_parser("scan", help="list which files of a folder are used, which are left out, and why")
    scan.add_argument("path", metavar="PATH", help="the folder of source code")
    scan.add_argument("--json", action="store_true", help="as JSON, with every file")
    scan.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="the data folder to use")
    scan.set_defaults(handler="app.command_line.scan")

    for each in (train_options, score, complete, memory, serve, lsp, checkpoints, base, handoff):
        each.add_parser(commands)

    devices = commands.add_parser("devices", help="list the devices, and which one is used")
    devices.add_argument("--json", action="store_true", help="as JSON, with every limit and feature")
    devices.set_defaults(handler="app.command_line.devices")

    selftest = commands.add_parser("selftest", help="run every kernel on a device and check the numbers")
    selftest.add_argument(
        "--device", default="auto", metavar="NAME", help="as listed by `codecoil devices` (default: auto)"
    )
    selftest.set_defaults(handler="app.command_line.selftest")

    benchmark.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the engine's own errors become a message, not a traceback."""
    connections.install()  # before anything else is loaded: no library may connect on its own
    arguments = build_parser().parse_args(argv)
    if arguments.data_dir:
        os.environ[VARIABLE] = arguments.data_dir  # the engine keeps its measurements there as well
    try:
        return importlib.import_module(arguments.handler).run(arguments)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if not is_for_people(error):
            raise
        print(f"codecoil: {error.message}", file=sys.stderr)
        if error.remedy:
            print(f"  {error.remedy}", file=sys.stderr)
        return REFUSED


def is_for_people(error: Exception) -> bool:
    """True for the engine's own errors.  If the engine is not loaded, the error cannot be one of them."""
    errors = sys.modules.get("engine.errors")
    return errors is not None and isinstance(error, errors.CodecoilError)
