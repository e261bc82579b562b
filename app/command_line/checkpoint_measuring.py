"""The parts of `codecoil checkpoints` that may measure held-out loss: merging, precisions, and copies in fewer bits."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.command_line.checkpoint_words import LOSS, as_json, merge_lines
from app.command_line.chosen_device import open_chosen_device
from app.data.data_folder import data_folder

if TYPE_CHECKING:
    from engine.checkpoints.store.store import CheckpointStore
    from engine.session.held_out_loss import HeldOutLoss


@contextmanager
def held_out_loss(
    store: CheckpointStore, checkpoint: str, repository: str, device: str = "auto"
) -> Iterator[HeldOutLoss]:
    """The engine's measure for weights of this checkpoint's configuration."""
    from engine.session.held_out_loss import HeldOutLoss

    opened = open_chosen_device(device)
    try:
        with HeldOutLoss(store, checkpoint, Path(repository), data_folder(), opened) as measure:
            yield measure
    finally:
        opened.close()


# ---- precisions


def precision_rows(
    store, which: str, repository: str | None, device: str = "auto", wanted: str | None = None
) -> list[dict[str, Any]]:
    """A row for each precision, or for the one that is wanted; held-out loss only with a `repository`, else None."""
    from engine.checkpoints.combining.precision_table import PRECISIONS, precision_table

    names = tuple(PRECISIONS) if wanted is None else (wanted,)
    with store.load_parameters(which) as parameters:
        if repository is None:
            return [asdict(row) for row in precision_table(parameters, parameters.config, names)]
        with held_out_loss(store, which, repository, device) as measure:
            return [asdict(row) for row in precision_table(parameters, parameters.config, names, measure)]


def convert_checkpoint(store, arguments: argparse.Namespace):
    """A full copy in the precision that was asked for, with its own held-out loss if a repository was named."""
    loss = None
    if arguments.repository is not None:
        (row,) = precision_rows(store, arguments.id, arguments.repository, arguments.device, arguments.precision)
        loss = row["held_out_loss"]
    return store.convert(arguments.id, arguments.precision, arguments.name, loss)


# ---- merging


def merge_checkpoints(store, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The JSON and the lines of what was found and saved."""
    from engine.checkpoints.combining.merge import save_merge
    from engine.checkpoints.combining.sides import side_of

    first, second = store.get(arguments.first), store.get(arguments.second)
    sides = side_of(store, first.id), side_of(store, second.id)
    blend, losses, parameters, trials = _blend(store, first, sides, arguments)
    content = {
        "weights": {"layers": list(blend.layers), "outside": blend.outside},
        "losses": losses,
        "measured": bool(trials),
        "trials": trials,
        "child": None,
    }
    if arguments.dry_run:
        return content, merge_lines(None, blend, losses, bool(trials), "Dry run: nothing was saved.")
    known = {one.id for one in store.list()}
    child = save_merge(store, first.id, second.id, parameters, arguments.out_name or "", losses["child"])
    content["child"] = as_json(child)
    return content, merge_lines(child, blend, losses, bool(trials), "Already saved" if child.id in known else "Saved")


def _blend(store, first, sides, arguments: argparse.Namespace):
    """Blend, losses by name, the child's parameters, and how many blends were measured."""
    from engine.checkpoints.combining.merge import fitness_weight, merge, search_blend, try_blend
    from engine.errors import CheckpointError

    if arguments.repository is None:
        known = [side.metrics.get(LOSS) for side in sides]
        if arguments.search is not None:
            raise CheckpointError("A search needs code to measure on.", "Name a folder with --repository.")
        if arguments.weight == "loss" and None in known:
            raise CheckpointError(
                "Not both checkpoints have a held-out loss to weigh them by.",
                "Measure it with --repository, or give a weight.",
            )
        child = merge(*sides, fitness_weight(*known) if arguments.weight == "loss" else _weight(arguments.weight))
        return child.blend, {"first": known[0], "second": known[1], "child": None}, child, 0
    merge(*sides, 0.5)  # refuse what cannot be merged before a folder is scanned
    with held_out_loss(store, first.id, arguments.repository, arguments.device) as measure:
        if arguments.search is not None:
            result = search_blend(*sides, measure, evaluations=arguments.search, seed=arguments.seed)
        elif arguments.weight == "loss":
            losses = measure(sides[0].parameters), measure(sides[1].parameters)
            result = try_blend(*sides, fitness_weight(*losses), measure, losses)
        else:
            result = try_blend(*sides, _weight(arguments.weight), measure)
    losses = {"first": result.first_loss, "second": result.second_loss, "child": result.child_loss}
    return result.blend, losses, result.parameters, len(result.trials)


def _weight(text: str) -> float:
    from engine.errors import CheckpointError

    try:
        return float(text)
    except ValueError as error:
        raise CheckpointError(f"{text!r} is not a weight.", 'Give a number from 0 to 1, or "loss".') from error
