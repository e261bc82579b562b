"""The models to choose from, derived from the checkpoint rows."""

from __future__ import annotations

import itertools

from app.values.checkpoints import CheckpointRow
from app.values.completion import BUILT_IN, IN_TRAINING, STARTER, ModelChoice, TimelinePoint
from app.values.training import BaseChoice
from app.values.words import mode_words
from engine.corpus.reading.known_folders import are_related


def model_choices(rows: tuple[CheckpointRow, ...], has_starter: bool) -> tuple[ModelChoice, ...]:
    """What can complete: the built-in model, then checkpoints, newest first; no snapshots along a run."""
    starter = (ModelChoice(STARTER, BUILT_IN, "knows code in general, but none of yours"),) if has_starter else ()
    usable = [row for row in rows if not row.problem and not row.is_snapshot]
    own = (ModelChoice(row.id, row.name, row_words(row), row.run, _made_from(row), row.repository) for row in usable)
    return (*starter, *own)


def usual_model(choices: tuple[ModelChoice, ...], folder: str, wanted: str) -> str:
    """The model for a folder that none was chosen for, of `choices`, newest first.

    The newest that was adapted to it; else one that was adapted to a related folder; else `wanted`, if it is a general
    model or no folder is open; else the first general one.
    """
    stored = [choice for choice in choices if choice.id != IN_TRAINING]
    own = [choice for choice in stored if folder and choice.folder == folder]
    related = (choice for choice in stored if folder and choice.folder and are_related(choice.folder, folder))
    general = [choice for choice in stored if not (folder and choice.folder)]
    chosen = [choice for choice in general if choice.id == wanted]
    ranked = itertools.chain(own, related, chosen, general, stored, choices)
    return next((choice.id for choice in ranked), wanted)


def _made_from(row: CheckpointRow) -> str:
    """The id of what a checkpoint was adapted from; a full model still names it as its parent."""
    return row.base or next(iter(row.parents), "")


def base_choices(rows: tuple[CheckpointRow, ...], has_starter: bool) -> tuple[BaseChoice, ...]:
    """What training can start from: the built-in model or a new one first, then checkpoints."""
    first = (
        BaseChoice("", BUILT_IN, "knows code in general")
        if has_starter
        else BaseChoice("", "New small model", "untrained")
    )
    usable = [row for row in rows if not row.problem and not row.is_snapshot]
    return (first, *(BaseChoice(row.id, row.name, row_words(row)) for row in usable))


def timelines(rows: tuple[CheckpointRow, ...]) -> dict[str, tuple[TimelinePoint, ...]]:
    """The checkpoints of each run by step, its result last."""
    runs: dict[str, list[TimelinePoint]] = {}
    for row in rows:
        if row.run and not row.problem:
            final = not row.is_snapshot
            runs.setdefault(row.run, []).append(TimelinePoint(row.id, row.name, row.step, row.held_out_loss, final))
    return {run: tuple(sorted(points, key=lambda each: (each.final, each.step))) for run, points in runs.items()}


def row_words(row: CheckpointRow) -> str:
    """A checkpoint in a line: "LoRA, step 400, held-out loss 1.83"."""
    parts = [mode_words(row.mode)]
    if row.step:
        parts.append(f"step {row.step:,}")
    if row.held_out_loss is not None:
        parts.append(f"held-out loss {row.held_out_loss:.3f}")
    return ", ".join(parts)
