"""What may follow `codecoil train`: its options, what cannot stand beside --resume, and its exit codes.

Plain literals, since the engine's own table of options loads NumPy, for which `--version` and every other command would
wait; the tests hold the two tables against each other.
"""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

NOT_BETTER, REFUSED, INTERRUPTED_RUN, INTERRUPTED = 1, 2, 3, 130
DEFAULT_PRESET = "quick"
PASSES_OVER_CHANGES = 4  # of an incremental run whose length is not given
LIMITS = ("steps", "epochs", "minutes")
WIDTH = 100  # characters of a line of the exit codes
USAGE = """%(prog)s PATH [options]
       %(prog)s --resume RUN [--device NAME] [--json] [--data-dir FOLDER]"""

BASIC = {
    "mode": (str, "wsla, lora, vocabulary or full"),
    "steps": (int, "how many steps"),
    "epochs": (float, "how many passes over the files"),
    "minutes": (float, "how long"),
    "learning-rate": (float, "how far each step goes (default: by mode and length; a tenth with --changed-since)"),
    "duty-cycle": (float, "share of the time that it may work, 0.1 to 1"),
}
ADVANCED = {
    "batch-size": (int, "windows of code a step"),
    "micro-batch": (int, "windows computed at once (default: as memory allows)"),
    "sequence-length": (int, "tokens in a window"),
    "rank": (int, "width of the low-rank pairs"),
    "schedule": (str, "how the rate falls after the warm-up: constant, linear or cosine"),
    "warm-up": (int, "steps over which the rate rises from nothing"),
    "weight-decay": (float, "pull of trained matrices towards zero at each step"),
    "beta1": (float, "AdamW's memory of the direction, 0 to 0.9999"),
    "beta2": (float, "AdamW's memory of the size of steps, 0 to 0.99999"),
    "epsilon": (float, "keeps AdamW from dividing by nearly nothing"),
    "max-gradient-norm": (float, "longer gradients are shortened to this (0: no limit)"),
    "trust-region": (float, "the most that one step may change a weight (0: no limit)"),
    "evaluations": (int, "how often held-out code is measured in a run"),
    "evaluate-every": (int, "steps between two measurements (0: by --evaluations)"),
    "patience": (int, "evaluations without improvement before it stops (0: never)"),
    "fim-share": (float, "share of files with a gap to fill in"),
    "replay-share": (float, "share of older code beside changed files"),
    "skip-below": (float, "leave out a changed file whose loss is below this share of its held-out peers' (0: none)"),
    "recompute": (int, "layers computed twice to save memory"),
    "insight-interval": (int, "steps between two looks into the layers (0: never)"),
    "seed": (int, "draws the order of the files"),
}
TRAINING = {name.replace("-", "_"): f"--{name}" for name in (*BASIC, *ADVANCED)}
OF_A_NEW_RUN = {
    "path": "PATH",
    "preset": "--preset",
    "base": "--base",
    "changed_since": "--changed-since",
    "timeline": "--timeline",
    **TRAINING,
}
"""All that says what a run is to be, by its name in the parsed arguments: a saved run has it already."""

EXIT_CODES = {
    0: "a better model was kept (after Ctrl-C, too), or there was nothing new to learn",
    NOT_BETTER: "nothing was better than the start on held-out code: nothing was kept",
    REFUSED: "the request cannot be met; the message says why and what to do",
    INTERRUPTED_RUN: "something failed on the way (device, disk, memory); the run goes on with --resume",
    INTERRUPTED: "Ctrl-C before the first step: nothing was kept; or a second Ctrl-C, which quits at once: "
    "the run goes on with --resume from what was saved last, if anything was",
}


def add_parser(commands) -> None:
    """`codecoil train` and its options."""
    train = commands.add_parser(
        "train",
        help="adapt a model to a folder",
        usage=USAGE,
        epilog=exit_codes_in_lines(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    train.add_argument("path", nargs="?", metavar="PATH", help="the folder to learn")
    train.add_argument("--preset", metavar="NAME", help=f"quick, balanced or thorough (default: {DEFAULT_PRESET})")
    add_options(train, BASIC)
    train.add_argument("--base", metavar="NAME", help="a checkpoint, or a folder in Hugging Face format")
    train.add_argument("--device", default="auto", metavar="NAME", help="as `codecoil devices` prints it")
    train.add_argument("--resume", metavar="RUN", help="go on with an interrupted run, as it was begun")
    train.add_argument("--changed-since", metavar="CHECKPOINT", help="learn only what changed since a checkpoint")
    train.add_argument("--timeline", type=int, metavar="N", help="keep up to N snapshots along the run")
    train.add_argument("--json", action="store_true", help="one event a line, as JSON")
    train.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="as before the command")
    add_options(
        train.add_argument_group("advanced", "Seldom worth touching; the preset has a value for each."), ADVANCED
    )
    train.set_defaults(handler="app.command_line.train")


def add_options(group, options: dict[str, tuple[type, str]]) -> None:
    """Options of the engine; None where one is not given."""
    for name, (kind, words) in options.items():
        group.add_argument(f"--{name}", type=kind, metavar="NAME" if kind is str else "N", help=words)


def exit_codes_in_lines() -> str:
    """The exit codes below the help."""
    lines = [
        textwrap.fill(f"{code:<5}{words}", WIDTH, initial_indent="  ", subsequent_indent=" " * 7)
        for code, words in EXIT_CODES.items()
    ]
    return "\n".join(["exit codes:", *lines])


def what_is_wrong(arguments: argparse.Namespace) -> str:
    """Why the arguments do not go together, or nothing."""
    if arguments.resume is None:
        return "" if arguments.path else "name the folder to learn, or a run with --resume."
    odd = [words for name, words in OF_A_NEW_RUN.items() if getattr(arguments, name) is not None]
    if not odd:
        return ""
    return (
        f"--resume cannot be combined with {', '.join(odd)}: the run goes on as it was begun.\n"
        "  Leave that away, or start a new run without --resume."
    )


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The engine's options that were given, by its names; a length that is given takes the place of the preset's."""
    given = {name: getattr(arguments, name) for name in TRAINING if getattr(arguments, name) is not None}
    if "steps" not in given and any(name in given for name in LIMITS):
        given["steps"] = 0
    elif arguments.changed_since and "steps" not in given:
        given["epochs"] = PASSES_OVER_CHANGES
    return given
