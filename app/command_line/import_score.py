"""The scorecard of what `codecoil checkpoints import` took back from a hand-off: its base and itself, as after a run.

The checkpoint is there before; a scorecard that cannot be made, or is cancelled, leaves it without one.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.command_line.checkpoint_words import plain
from app.command_line.chosen_device import open_chosen_device
from app.command_line.scan import ProgressBar
from app.data.data_folder import data_folder

if TYPE_CHECKING:
    from engine.scorecard import Scorecard

CANCELLED = "it was cancelled."


@dataclass(frozen=True)
class ImportScore:
    """The scorecards of base and result, or why there are none, as the end of a sentence; neither: not wanted."""

    cards: tuple[Scorecard, ...] = ()
    problem: str = ""
    known: bool = False  # the figures are kept already


def score_import(store, manifest, arguments: argparse.Namespace) -> ImportScore:
    """Ctrl-C ends the measurement only."""
    from engine.checkpoints.store.loading import opened_checkpoint
    from engine.errors import CodecoilError
    from engine.generate.precision import kept_precision
    from engine.handoff import is_scored, score_result
    from engine.handoff.scoring import KEPT_PRECISION

    if arguments.no_score or is_scored(manifest):
        return ImportScore(known=is_scored(manifest))
    progress = ProgressBar()
    try:
        with closing(open_chosen_device(arguments.device, progress)) as device:

            def opened(which: str):
                return opened_checkpoint(store, which, device, kept_precision(KEPT_PRECISION, store.config(which)))

            return ImportScore(score_result(store, manifest, data_folder(), opened, progress=progress))
    except KeyboardInterrupt:
        return ImportScore(problem=CANCELLED)
    except CodecoilError as error:  # no folder any more, too little memory: the checkpoint stays
        return ImportScore(problem=error.message)
    finally:
        progress.clear()


def show_score(found: ImportScore, manifest, path: str) -> None:
    """The table of `codecoil score`, or why there is none and how to get one.  `path`: what was imported."""
    from app.command_line.score import print_table

    if found.cards:
        print()
        print_table(manifest.data["root"], found.cards)
    elif found.known:
        print(f"  Already scored: codecoil checkpoints show {manifest.id[:8]}")
    elif found.problem:
        print(f"  Not scored: {plain(found.problem)}")
    if found.problem == CANCELLED:
        print(f"  To score it, import it again: codecoil checkpoints import {plain(path)}")


def score_as_json(found: ImportScore) -> dict:
    """Beside the checkpoint's own values."""
    if found.problem:
        return {"score_problem": found.problem}
    return {"scorecards": [card.to_json() for card in found.cards]} if found.cards else {}
