"""The arguments of `codecoil train`, made from the engine's table of options, and its exit codes."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Collection
from typing import Any

from engine.train.options import DEFAULT_PRESET, LENGTHS, OPTIONS, PASSES_OVER_CHANGES, PRESETS

NOT_BETTER, REFUSED, INTERRUPTED_RUN, INTERRUPTED = 1, 2, 3, 130
WIDTH = 100  # characters of a line of the exit codes
USAGE = """%(prog)s PATH [options]
       %(prog)s --resume RUN [--device NAME] [--json] [--data-dir FOLDER]"""

OF_A_NEW_RUN = {
    "path": "PATH",
    "preset": "--preset",
    "base": "--base",
    "changed_since": "--changed-since",
    "timeline": "--timeline",
    **{name: f"--{name.replace('_', '-')}" for name in OPTIONS},
}
"""Everything that defines a run, by its name in the parsed arguments; a saved run already has it."""

EXIT_CODES = {
    0: "a better model was saved (also after Ctrl-C), or there was nothing new to learn",
    NOT_BETTER: "held-out loss did not improve, so nothing was saved",
    REFUSED: "the request was refused; the message says why and what to do",
    INTERRUPTED_RUN: "the run failed (device, disk, memory) and can be resumed with --resume",
    INTERRUPTED: "Ctrl-C before the first step: nothing was saved; or a second Ctrl-C, which quits at once: "
    "resume with --resume from the last save, if there is one",
}


def add_parser(commands) -> None:
    """`codecoil train` and its arguments."""
    train = commands.add_parser(
        "train",
        help="adapt a model to a folder",
        usage=USAGE,
        epilog=exit_codes_in_lines(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    train.add_argument("path", nargs="?", metavar="PATH", help="the folder of source code")
    train.add_argument("--preset", metavar="NAME", help=f"{', '.join(PRESETS)} (default: {DEFAULT_PRESET})")
    add_options(train, advanced=False)
    train.add_argument("--base", metavar="NAME", help="start from this checkpoint, or folder in Hugging Face format")
    train.add_argument("--device", default="auto", metavar="NAME", help="as `codecoil devices` lists it")
    train.add_argument("--resume", metavar="RUN", help="resume an interrupted run with its own options")
    train.add_argument(
        "--changed-since",
        metavar="CHECKPOINT",
        help=f"adapt a checkpoint to the files that changed since it was made (default: in its mode, "
        f"{PASSES_OVER_CHANGES} passes over them, a tenth of the learning rate)",
    )
    train.add_argument("--timeline", type=int, metavar="N", help="keep up to N snapshots during the run")
    train.add_argument("--json", action="store_true", help="print one JSON event per line")
    train.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="where Codecoil keeps its state")
    advanced = train.add_argument_group("advanced", "Rarely worth changing; presets set suitable values.")
    add_options(advanced, advanced=True)
    train.set_defaults(handler="app.command_line.train")


def add_options(group, advanced: bool, without: Collection[str] = ()) -> None:
    """The engine's options; None for one that is not given."""
    for name, info in OPTIONS.items():
        if info.advanced == advanced and name not in without:
            metavar = "NAME" if info.choices else "N" if info.whole else "X"
            group.add_argument(OF_A_NEW_RUN[name], type=info.kind, metavar=metavar, help=option_help(name))


def option_help(name: str) -> str:
    """The first sentence of the engine's help, and the default: `... rises from zero (default: 20; 0: none)`."""
    info = OPTIONS[name]
    words = info.help.split(". ")[0].rstrip(".")
    choices = f": {', '.join(info.choices)}" if info.choices else ""
    defaults = {getattr(options, name) for options in PRESETS.values()}
    if len(defaults) > 1:
        default = "by preset"
    elif info.zero and defaults == {0}:
        default = info.zero
    else:
        default = str(defaults.pop())
    zero = f"; 0: {info.zero}" if info.zero and default != info.zero else ""
    return f"{words[0].lower()}{words[1:]}{choices} (default: {default}{zero})"


def exit_codes_in_lines() -> str:
    """The exit codes below the help."""
    lines = [
        textwrap.fill(f"{code:<5}{words}", WIDTH, initial_indent="  ", subsequent_indent=" " * 7)
        for code, words in EXIT_CODES.items()
    ]
    return "\n".join(["exit codes:", *lines])


def argument_problem(arguments: argparse.Namespace) -> str:
    """Why the arguments cannot be combined, or ""."""
    if arguments.resume is None:
        return "" if arguments.path else "name the folder to adapt to, or a run with --resume."
    odd = [words for name, words in OF_A_NEW_RUN.items() if getattr(arguments, name) is not None]
    if not odd:
        return ""
    return (
        f"--resume cannot be combined with {', '.join(odd)}: a run is resumed with its own options.\n"
        f"  Remove {'that' if len(odd) == 1 else 'those'}, or start a new run without --resume."
    )


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The engine's options that were given.  A length that is given replaces the preset's."""
    given = {name: value for name in OPTIONS if (value := getattr(arguments, name, None)) is not None}
    if "steps" not in given and any(name in given for name in LENGTHS):
        given["steps"] = 0
    return given
