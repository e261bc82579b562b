"""`codecoil score`: did adaptation help?  Models side by side on code that none of them has learned.

Without --checkpoint: the newest checkpoint of the folder and the base that it came from.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.command_line.model_choice import STORE, is_of, newest_for, open_chosen
from app.command_line.scan import ProgressBar
from app.data_folder import data_folder

if TYPE_CHECKING:
    from engine.scorecard import Measure, Scorecard

NAME_WIDTH = 26


def add_parser(commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("score", help="measure models on code they have not learned, side by side")
    parser.add_argument("path", metavar="PATH", help="the folder of source code")
    parser.add_argument(
        "--checkpoint",
        metavar="ID",
        action="append",
        default=[],
        help="id, beginning of an id, or name; repeatable, the first is what the others are held against",
    )
    parser.add_argument("--cursors", type=int, default=argparse.SUPPRESS, metavar="N", help="lines to be completed")
    parser.add_argument(
        "--seed", type=int, default=argparse.SUPPRESS, metavar="N", help="of what is asked (default: 0)"
    )
    parser.add_argument("--replay", type=int, metavar="N", help="the lines that the newest N commits added")
    parser.add_argument("--device", default="auto", metavar="NAME", help="as `codecoil devices` prints it")
    parser.add_argument("--json", action="store_true", help="as JSON, with every interval and every file")
    parser.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="as before the command")
    parser.set_defaults(handler="app.command_line.score")


def run(arguments: argparse.Namespace) -> int:
    """Score one model after the other on the same material."""
    from engine.devices import open_device
    from engine.scorecard import ScoreOptions, Subject, score

    given = {name: getattr(arguments, name) for name in ("cursors", "seed") if hasattr(arguments, name)}
    options = ScoreOptions(**given)
    root = Path(arguments.path).resolve()
    wanted = arguments.checkpoint or default_choice(root)
    progress = ProgressBar()
    device = open_device(arguments.device)
    cards: list[Scorecard] = []
    material = None
    try:
        for choice in wanted:
            progress(0, 0, "Loading a model")
            chosen = open_chosen(choice, None, None, device)
            try:
                if material is None:
                    material = read_material(root, chosen.tokenizer, wanted, options, arguments.replay, progress)
                subject = Subject(chosen.name, chosen.model, chosen.tokenizer)
                cards.append(score(subject, material, options, under(progress, chosen.name)))
            finally:
                chosen.model.close()
    finally:
        progress.clear()
        device.close()
    show = print_json if arguments.json else print_table
    show(root, cards)
    return 0


def default_choice(root: Path) -> list[str | None]:
    """The folder's newest checkpoint after its base; the newest of all or the built-in model where it has none."""
    from engine.checkpoints.store import CheckpointStore

    store = CheckpointStore(data_folder() / STORE)
    newest = newest_for(store.list(), root / "any")
    if newest is None or not is_of(newest, root):
        print(nothing_own_words(root, newest.name if newest else ""), file=sys.stderr)
    if newest is None:
        return [None]
    return [newest.base.id, newest.id] if newest.base else [newest.id]


def nothing_own_words(root: Path, other: str) -> str:
    """Why no checkpoint of the folder is measured, and how to get one."""
    instead = f"{other}, the newest there is" if other else "the built-in model alone"
    return f"There is no checkpoint of {root.name} yet: this measures {instead}.\n  `codecoil train {root}` makes one."


def read_material(root: Path, tokenizer, wanted: Sequence[str | None], options, commits: int | None, progress):
    """Held-out text and cursors, or lines of the newest commits; text that some model learned is never among it."""
    from engine.checkpoints.store import CheckpointStore
    from engine.corpus.repository import Repository
    from engine.scorecard import held_out_material
    from engine.scorecard.replay import replay_material

    corpus = Repository(root, data_folder(), tokenizer).scan(progress)
    if commits is None:
        return held_out_material(corpus, options.cursors, options.seed, options.characters)
    store = CheckpointStore(data_folder() / STORE)
    adapted = any(choice is not None and is_of(store.get(choice), root) for choice in wanted)
    learned = {document.path for document in corpus.learned_documents} if adapted else set()
    return replay_material(corpus, commits, options.cursors, options.seed, learned)


def under(progress: ProgressBar, name: str):
    """The bar, with the model's name before what is said."""
    return lambda done, total, words: progress(done, total, f"{name}: {words}")


def print_json(root: Path, cards: Sequence[Scorecard]) -> None:
    from engine.scorecard import differences

    against = [
        {
            "first": cards[0].name,
            "second": card.name,
            "measures": {
                d.name: {"value": d.value, "low": d.low, "high": d.high, "verdict": d.verdict}
                for d in differences(cards[0], card).values()
            },
        }
        for card in cards[1:]
    ]
    print(json.dumps({"path": str(root), "models": [card.to_json() for card in cards], "differences": against}))


def print_table(root: Path, cards: Sequence[Scorecard]) -> None:
    """A line a measure, a column a model, and a verdict against the first."""
    from engine.scorecard import differences

    print(f"{root}")
    print(f"{cards[0].characters:,} characters of held-out code, {cards[0].cursors} cursors, seed {cards[0].seed}.")
    print("In brackets: where the value lies with 95 % confidence.\n")
    print(" " * 34 + "".join(f"{card.name[:NAME_WIDTH]:>{NAME_WIDTH + 2}}" for card in cards))
    verdicts = [differences(cards[0], card) for card in cards[1:]]
    for name, first in cards[0].measures.items():
        cells = [value_words(card.measures[name]) if name in card.measures else "" for card in cards]
        print(f"{first.words:<34}" + "".join(f"{cell:>{NAME_WIDTH + 2}}" for cell in cells), end="")
        print("".join(f"  {found[name].verdict}" for found in verdicts if name in found))


def value_words(measure: Measure) -> str:
    """`41.2 % (38.0-44.1)`."""
    scale, digits = (100.0, 1) if measure.unit == "%" else (1.0, 1 if abs(measure.value) >= 20 else 3)
    value, low, high = (f"{number * scale:,.{digits}f}" for number in (measure.value, measure.low, measure.high))
    unit = f" {measure.unit}" if measure.unit else ""
    return f"{value}{unit} ({low}-{high})"
