"""`codecoil checkpoints merge`: a child of two checkpoints, with its held-out loss beside its parents'."""

from __future__ import annotations

import argparse
from typing import Any

from app.command_line.checkpoint_words import LOSS, as_json, merge_lines
from app.command_line.held_out import held_out_loss


def merge_checkpoints(store, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The JSON and the lines of what was found and saved."""
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
        return content, merge_lines(None, blend, losses, bool(trials), "Nothing was saved.")
    from engine.checkpoints.combining.merge import save_merge

    known = {one.id for one in store.list()}
    child = save_merge(store, first.id, second.id, parameters, arguments.out_name or "", losses["child"])
    new = child.id not in known
    content["child"] = as_json(child)
    return content, merge_lines(child, blend, losses, bool(trials), "Saved" if new else "Was saved before")


def _blend(store, first, sides, arguments: argparse.Namespace):
    """Blend, losses by name, the child's parameters, and how many blends were measured."""
    from engine.checkpoints.combining.merge import fitness_weight, merge, search_blend, try_blend
    from engine.errors import CheckpointError

    if arguments.repository is None:
        known = [side.metrics.get(LOSS) for side in sides]
        if arguments.search is not None:
            raise CheckpointError("A search has to measure.", "Name a folder of source code with --repository.")
        if arguments.weight == "loss" and None in known:
            raise CheckpointError(
                "Not both have a held-out loss to be weighed by.", "Measure it with --repository, or choose a weight."
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
        raise CheckpointError(f"{text!r} is no weight.", 'Give a number from 0 to 1, or "loss".') from error
