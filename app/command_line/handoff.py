"""`codecoil handoff`: a run for another machine, as a folder that Hugging Face's libraries train from.

What comes back is read by `codecoil checkpoints import`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from app.command_line.scan import ProgressBar, plain
from app.command_line.train_options import DEFAULT_PRESET, add_options, given_options
from app.data.data_folder import data_folder
from app.values.words import nbytes
from engine.train.options import PRESETS

NOT_HANDED_OFF = (
    "minutes", "duty_cycle", "base_precision", "recompute", "insight_interval", "replay_share", "skip_below"
)  # fmt: skip
"""Options of a run on this machine, or of one over changed files."""


def add_parser(commands) -> None:
    """The command and its options."""
    parser = commands.add_parser(
        "handoff",
        help="write a run as a folder, to be trained on a machine with more GPUs",
        description="Writes the base model, the tokenised windows and a train.py for `accelerate launch`. "
        "`codecoil checkpoints import` takes the result back.",
    )
    parser.add_argument("path", metavar="PATH", help="the folder of source code")
    parser.add_argument("--to", metavar="FOLDER", required=True, help="a new or empty folder, outside PATH")
    parser.add_argument("--preset", metavar="NAME", help=f"{', '.join(PRESETS)} (default: {DEFAULT_PRESET})")
    add_options(parser, advanced=False, without=NOT_HANDED_OFF)
    parser.add_argument("--base", metavar="NAME", help="start from this checkpoint, or folder in Hugging Face format")
    parser.add_argument(
        "--memory", action="store_true", help="also write what the memory knows about held-out code, to measure with it"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="where Codecoil keeps its state"
    )
    advanced = parser.add_argument_group("advanced", "Rarely worth changing; presets set suitable values.")
    add_options(advanced, advanced=True, without=NOT_HANDED_OFF)
    parser.set_defaults(handler="app.command_line.handoff")


def run(arguments: argparse.Namespace) -> int:
    """Write the folder, and say what is in it and how it is used."""
    from engine.corpus.reading.walk import source_folder
    from engine.handoff import HandoffPlan, hand_off
    from engine.handoff.writing import as_json
    from engine.train.options import preset

    options = preset(arguments.preset or DEFAULT_PRESET).changed(**given_options(arguments))
    plan = HandoffPlan(
        source_folder(arguments.path), data_folder(), options, arguments.base or "", with_memory=arguments.memory
    )
    progress = ProgressBar()
    try:
        done = hand_off(plan, Path(arguments.to).expanduser().absolute(), progress)
    finally:
        progress.clear()
    if arguments.json:
        print(json.dumps(as_json(done), indent=2))
    else:
        print("\n".join(lines(done)))
    return 0


def lines(done) -> list[str]:
    o = done.options
    found = [
        f"Wrote {plain(str(done.path))} ({nbytes(done.nbytes)}): hand-off {done.id}.",
        f"  {plain(done.base)}, mode {o.mode} ({done.trained_parameters:,} numbers trained), {o.steps:,} steps of "
        f"{o.batch_size} windows of {o.sequence_length} tokens.",
        "",
        "There, in the folder, after `pip install -r requirements.txt`:",
    ]
    for where, commands in done.commands.items():
        found += [f"  {where}:", *(f"    {command}" for command in commands)]
    found += ["", "Then, here: codecoil checkpoints import FOLDER", "", "What leaves this machine with the folder:"]
    return [*found, *(f"  {sentence}" for sentence in done.leaves)]
