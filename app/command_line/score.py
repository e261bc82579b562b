"""`codecoil score`: did adaptation help, and does the memory?  Compares models on code that none has learned.

Without --checkpoint: the newest checkpoint of the folder, and its base. Each is scored alone and, unless --no-memory is
given, with the memory of the folder, without the files that are measured.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.command_line.chosen_device import open_chosen_device
from app.command_line.model_choice import STORE, ChosenModel, add_precision, is_of, newest_for, open_chosen
from app.command_line.repository_memory import ScannedFolder, memory_of, scan_folder
from app.command_line.scan import ProgressBar
from app.data.data_folder import data_folder
from app.values.words import language_words

if TYPE_CHECKING:
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.memory import MemorySnapshot
    from engine.scorecard import Measure, Scorecard

NAME_WIDTH = 28  # "starter (built-in) + memory" fits
WITH_MEMORY = " + memory"  # after the name of a model
BY_LANGUAGE = ("bits_per_byte", "next_line_exact", "keystrokes_saved_by_line")


def add_parser(commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("score", help="compare models on code that they have not learned")
    parser.add_argument("path", metavar="PATH", help="the folder of source code")
    parser.add_argument(
        "--checkpoint",
        metavar="ID",
        action="append",
        default=[],
        help="id, beginning of an id, or name; repeatable, the others are compared with the first",
    )
    parser.add_argument(
        "--cursors", type=int, default=argparse.SUPPRESS, metavar="N", help="lines to complete (default: 200)"
    )
    parser.add_argument(
        "--seed", type=int, default=argparse.SUPPRESS, metavar="N", help="selects the lines (default: 0)"
    )
    parser.add_argument("--no-memory", action="store_true", help="score models without the memory of the folder")
    parser.add_argument("--replay", type=int, metavar="N", help="complete the lines that the newest N commits added")
    parser.add_argument("--device", default="auto", metavar="NAME", help="as `codecoil devices` lists it")
    add_precision(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, with every interval and every file")
    parser.add_argument(
        "--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="where Codecoil keeps its state"
    )
    parser.set_defaults(handler="app.command_line.score")


def run(arguments: argparse.Namespace) -> int:
    """Score one model after another on the same material."""
    from engine.corpus.reading.walk import source_folder
    from engine.generate.precision import decode_precision
    from engine.scorecard import ScoreOptions, Subject, score

    given = {name: getattr(arguments, name) for name in ("cursors", "seed") if hasattr(arguments, name)}
    options = ScoreOptions(**given)
    root = source_folder(arguments.path)
    wanted = arguments.checkpoint or default_choice(root)
    progress = ProgressBar()
    device = open_chosen_device(arguments.device)
    cards: list[Scorecard] = []
    folders, material = Folders(root, progress), None
    try:
        for choice in wanted:
            progress(0, 0, "Loading a model")
            chosen = open_chosen(choice, None, None, device, arguments.precision)
            try:
                if material is None:
                    material = read_material(folders.scanned(chosen.tokenizer), wanted, options, arguments.replay)
                precision = decode_precision(arguments.precision, chosen.model)
                subjects = [Subject(chosen.name, chosen.model, chosen.tokenizer, None, precision)]
                if not arguments.no_memory:
                    memory, name = folders.memory(chosen.tokenizer), chosen.name + WITH_MEMORY
                    subjects.append(Subject(name, chosen.model, chosen.tokenizer, memory, precision))
                for subject in subjects:
                    cards.append(score(subject, material, options, under(progress, subject.name)))
                if arguments.replay is None:
                    keep_loss(root, chosen, cards[-len(subjects)])
            finally:
                chosen.model.close()
    finally:
        progress.clear()
        device.close()
    show = print_json if arguments.json else print_table
    show(root, cards)
    return 0


def keep_loss(root: Path, chosen: ChosenModel, card: Scorecard) -> None:
    """Keep what the model alone lost at its precision, to be shown where a precision is chosen."""
    from engine.generate.decode_losses import DecodeLoss, DecodeLosses

    loss = card.measures.get("loss")
    if chosen.key and loss is not None and math.isfinite(loss.value):
        tokens = int(card.samples["loss"].wholes.sum())
        DecodeLosses(data_folder()).keep(chosen.key, card.precision, DecodeLoss(loss.value, tokens, str(root)))


class Folders:
    """The folder in the tokens of each tokenizer, and its memory: made once for all models that share one."""

    def __init__(self, root: Path, progress: ProgressBar) -> None:
        self._root, self._progress = root, progress
        self._scanned: dict[str, ScannedFolder] = {}
        self._memories: dict[str, MemorySnapshot] = {}

    def scanned(self, tokenizer: Tokenizer) -> ScannedFolder:
        if tokenizer.digest not in self._scanned:
            self._scanned[tokenizer.digest] = scan_folder(self._root, tokenizer, self._progress)
        return self._scanned[tokenizer.digest]

    def memory(self, tokenizer: Tokenizer) -> MemorySnapshot:
        if tokenizer.digest not in self._memories:
            _, self._memories[tokenizer.digest] = memory_of(self.scanned(tokenizer), self._progress)
        return self._memories[tokenizer.digest]


def default_choice(root: Path) -> list[str | None]:
    """The base of the folder's newest checkpoint, and that; without one, the newest of all or the built-in model."""
    from engine.checkpoints.store.store import CheckpointStore

    store = CheckpointStore(data_folder() / STORE)
    there = store.list()
    newest = newest_for(there, root / "any")
    if newest is None or not is_of(newest, root):
        print(nothing_own_words(root, newest.name if newest else ""), file=sys.stderr)
    if newest is None:
        return [None]
    before = newest.base.id if newest.base else next(iter(newest.parents), "")
    return [before, newest.id] if before in {manifest.id for manifest in there} else [newest.id]


def nothing_own_words(root: Path, other: str) -> str:
    """Why no checkpoint of the folder is scored, and how to get one."""
    instead = f"{other}, the newest checkpoint" if other else "the built-in model"
    return f"There is no checkpoint of {root.name} yet, so this scores {instead}.\n  To make one: codecoil train {root}"


def read_material(folder: ScannedFolder, wanted: Sequence[str | None], options, commits: int | None):
    """Held-out text and cursors, or lines of the newest commits; never text that one of the models has learned."""
    from engine.checkpoints.store.store import CheckpointStore
    from engine.scorecard import held_out_material
    from engine.scorecard.replay import replay_material

    corpus = folder.corpus
    if commits is None:
        return held_out_material(corpus, options.cursors, options.seed, options.characters)
    store = CheckpointStore(data_folder() / STORE)
    adapted = any(choice is not None and is_of(store.get(choice), corpus.root) for choice in wanted)
    learned = {document.path for document in corpus.learned_documents} if adapted else set()
    if adapted and not corpus.shares_held_out:  # validation chose the step that was kept
        learned |= {document.path for document in corpus.validation_documents}
    return replay_material(corpus, commits, options.cursors, options.seed, learned)


def under(progress: ProgressBar, name: str) -> Callable[[int, int, str], None]:
    """The bar, with the model's name in front."""
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
    """A row per measure, a column per model, and a verdict on each of the others compared with the first."""
    from engine.scorecard import differences

    print(f"{root}")
    print(f"{cards[0].characters:,} characters of held-out code, {cards[0].cursors} cursors, seed {cards[0].seed}.")
    print(f"Weights are read as {' and '.join(sorted({card.precision for card in cards}))}.")
    for note in cards[0].notes:
        print(note)
    print("In parentheses: the 95 % interval.")
    if len(cards) > 2:
        print("At the end of a line: each of the others compared with the first.")
    print("\n" + " " * 34 + "".join(f"{heading(card):>{NAME_WIDTH + 2}}" for card in cards))
    verdicts = [differences(cards[0], card) for card in cards[1:]]
    for name, first in cards[0].measures.items():
        cells = [value_words(card.measures[name]) if name in card.measures else "" for card in cards]
        print(f"{first.words:<34}" + "".join(f"{cell:>{NAME_WIDTH + 2}}" for cell in cells), end="")
        said = [found[name].verdict if name in found else "-" for found in verdicts]
        print("  " + ", ".join(said) if set(said) - {"-"} else "")
    if len(cards[0].by_language) > 1:
        print_languages(cards)


def heading(card: Scorecard) -> str:
    """The name, shortened so that `+ memory` stays visible."""
    end = WITH_MEMORY if card.memory else ""
    return card.name.removesuffix(end)[: NAME_WIDTH - len(end)] + end


def print_languages(cards: Sequence[Scorecard]) -> None:
    """The most telling measures, by language."""
    for language in cards[0].by_language:
        print(f"\n{language_words(language)}")
        for name in BY_LANGUAGE:
            found = [card.by_language[language].get(name) for card in cards]
            if found[0] is not None and math.isfinite(found[0].value):
                cells = "".join(f"{value_words(measure):>{NAME_WIDTH + 2}}" for measure in found)
                print(f"  {found[0].words:<32}{cells}")


def value_words(measure: Measure) -> str:
    """`41.2 % (38.0-44.1)`; `-` for a share of nothing."""
    if not math.isfinite(measure.value):
        return "-"
    scale, digits = (100.0, 1) if measure.unit == "%" else (1.0, 1 if abs(measure.value) >= 20 else 3)
    value, low, high = (f"{number * scale:,.{digits}f}" for number in (measure.value, measure.low, measure.high))
    unit = f" {measure.unit}" if measure.unit else ""
    return f"{value}{unit} ({low}-{high})"
