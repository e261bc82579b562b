"""What adapting the starter model gains on packages that it never saw, with settings chosen on others.

    python tests/benchmarks/starter_adaptation.py speeds   --work FOLDER    tokens a second of each mode, alone
    python tests/benchmarks/starter_adaptation.py tune     --work FOLDER    every mode x the same rates x 3 seeds
    python tests/benchmarks/starter_adaptation.py rank     --work FOLDER    the rank of LoRA, with the rate chosen
    python tests/benchmarks/starter_adaptation.py wsla     --work FOLDER    what limits WSLA: layers, rows, steps
    python tests/benchmarks/starter_adaptation.py long     --work FOLDER    what long runs need: rate, mixing
    python tests/benchmarks/starter_adaptation.py presets  --work FOLDER    Quick and Balanced on small packages
    python tests/benchmarks/starter_adaptation.py evaluate --work FOLDER    the reported packages, with what was chosen

FOLDER is the work folder of `packaging/starter_model.py`, which names three lists of packages: `tune` sees the tuning
list only, `evaluate` the evaluation list only, and what is forgotten is measured on the watch list; none of them was
trained on. "Ten minutes" are the steps that one core does in ten minutes, by `speeds` in two processes at once with
NUMBA_NUM_THREADS=1: with both cores they take about six. So a busy machine changes how long it takes but not what comes
out. Finished runs and what was chosen are kept in `starter_records/` and not done again; they say nothing about the
machine, so another one can continue with them. Prints name=value lines, and tables in Markdown at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType

sys.path.append(str(Path(__file__).parent))  # last: it has an engine.py and a starter.py of its own
sys.path.insert(0, str(Path(__file__).parents[2]))

from adapting import MODES, Bench, Run, spread, table, weights_digest
from measure import report

from engine.corpus.batches import windows
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model import blueprint
from engine.model.files import read_config
from engine.model.model import load_model
from engine.model.starter import starter_place
from engine.scorecard import ScoreOptions, Subject, held_out_material, score
from engine.session import Session
from engine.train.options import RATES as RATES_BY_MODE
from engine.train.options import TrainingOptions, preset

RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
RANKS = (4, 8, 16)
TUNED_ON = ("invoke", "mistune", "cmd2")  # of the tuning list, each with a seed of its own
TUNING_STEPS, TUNING_EVALUATIONS = 120, 4
PRESETS = ("quick", "balanced")
SPEED_STEPS = 24
MINUTES = 10.0
EVALUATIONS, PATIENCE = 20, 5  # of the long runs: one that has stopped getting better ends, with its best weights
QUICK, LONG = "quick", "10 minutes"
RECORDS, CHOICES = Path(__file__).parent / "starter_records", "choices.json"
CURSORS = 100
SCORES = {
    "bits_per_byte": "bits per byte",
    "next_line_exact": "next line exactly right",
    "keystrokes_saved_by_line": "keystrokes saved",
}


@dataclass(frozen=True)
class Choices:
    """What the tuning packages decided."""

    rates: dict[str, float]

    @classmethod
    def read(cls, records: Path) -> Choices:
        known = read_json(records / CHOICES)
        if "rates" not in known:
            sys.exit("Nothing has been chosen yet: run `tune` first.")
        return cls(known["rates"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--records", type=Path, default=RECORDS, help="where finished runs and choices are kept")
    parser.add_argument("--model", type=Path, default=starter_place())
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--budgets", nargs="+", choices=(QUICK, LONG), default=[QUICK, LONG])
    parser.add_argument("--package", nargs="+", help="of the list, only these")
    arguments = parser.parse_args()
    own = arguments.work / "adaptation"
    for folder in (own, arguments.records):
        folder.mkdir(parents=True, exist_ok=True)
    other, kept = str(arguments.work / "packages" / "watch"), arguments.records / "runs.jsonl"
    bench = Bench(own, str(arguments.model.resolve()), other, kept=kept)
    PARTS[arguments.part](bench, arguments)


def folders(work: Path, role: str, names: list[str] | tuple[str, ...] | None = None) -> list[str]:
    """The packages of a list, as they were fetched."""
    found = sorted(path for path in (work / "packages" / role).iterdir() if path.is_dir())
    chosen = [str(path) for path in found if names is None or path.name.rpartition("-")[0] in names]
    if not chosen or (names is not None and len(chosen) != len(set(names))):
        sys.exit(f"Not all of these are in {work / 'packages' / role}; fetch them with packaging/starter_model.py.")
    return chosen


# ---- the parts


def speeds(bench: Bench, arguments: argparse.Namespace) -> None:
    """Tokens a second as `quick` trains, by mode; for a machine that does nothing else but the same beside it."""
    (repository,) = folders(arguments.work, "tuning", TUNED_ON[:1])
    found = {}
    for mode in arguments.modes:
        options = preset("quick").changed(mode=mode, steps=SPEED_STEPS, evaluations=1)
        found[mode] = bench.run(repository, options).tokens_per_second
        report(f"{mode}.tokens_per_second", found[mode])
    update_json(arguments.records / CHOICES, speeds=read_json(arguments.records / CHOICES).get("speeds", {}) | found)


def tune(bench: Bench, arguments: argparse.Namespace) -> None:
    """The rate of each mode: the one with the highest mean gain over packages and seeds, the same grid for all."""
    packages = folders(arguments.work, "tuning", TUNED_ON)
    chosen, rows = {}, []
    for mode in arguments.modes:
        gains: dict[float, list[Run]] = {}
        for rate in RATES:
            gains[rate] = [bench.run(name, tuning_options(mode, rate, seed)) for seed, name in enumerate(packages)]
            report(f"{mode}.{rate:g}.gain", mean_gain(gains[rate]))
        best = max(gains, key=lambda rate: mean_gain(gains[rate]))
        chosen[mode] = best
        if best in (min(RATES), max(RATES)):
            report(f"{mode}.note", "the best rate lies at the end of the grid")
        forgotten = statistics.mean(run.forgotten for run in gains[best])
        rows.append([mode, *(gain_cell(gains[rate]) for rate in RATES), f"{best:g}", f"{forgotten:+.3f}"])
    update_json(arguments.records / CHOICES, rates=read_json(arguments.records / CHOICES).get("rates", {}) | chosen)
    print("\n".join(table(["mode", *(f"{rate:g}" for rate in RATES), "chosen", "forgotten there"], rows)))


def rank(bench: Bench, arguments: argparse.Namespace) -> None:
    """LoRA's rank, with the rate that `tune` chose for the default one; more rank gains more and forgets more."""
    packages, rate = folders(arguments.work, "tuning", TUNED_ON), Choices.read(arguments.records).rates["lora"]
    rows = []
    for size in RANKS:
        runs = [
            bench.run(name, tuning_options("lora", rate, seed).changed(rank=size)) for seed, name in enumerate(packages)
        ]
        megabytes = statistics.mean(run.nbytes for run in runs) / 2**20
        report(f"lora.rank_{size}.gain", mean_gain(runs))
        forgotten = statistics.mean(run.forgotten for run in runs)
        rows.append([str(size), gain_cell(runs), f"{forgotten:+.3f}", f"{megabytes:.2f} MiB"])
    print("\n".join(table(["rank", "gain", "forgotten", "checkpoint"], rows)))


def wsla(bench: Bench, arguments: argparse.Namespace) -> None:
    """What limits WSLA: which layers it trains, which of its rows, for how long."""
    packages, rate = folders(arguments.work, "tuning", TUNED_ON), Choices.read(arguments.records).rates["wsla"]
    config = read_config(arguments.model)
    layers, states = range(config.num_hidden_layers), config.state_size
    middle, first = len(layers) // 2, config.time_step_rank
    both, reading = (first, first + 2 * states), (first + states, first + 2 * states)
    cases = {
        "all": (layers, both, 1, rate),
        "first half of the layers": (layers[:middle], both, 1, rate),
        "second half of the layers": (layers[middle:], both, 1, rate),
        "only B": (layers, (first, first + states), 1, rate),
        "only C": (layers, reading, 1, rate),
        "four times the steps": (layers, both, 4, rate),
        "four times the steps, gentler": (layers, both, 4, 0.0),  # at the rate that the program takes by itself
    }
    rows = []
    for name, (chosen, trained, times, fixed) in cases.items():
        rows_by_name = {f"backbone.layers.{layer}.mixer.x_proj.weight": trained for layer in chosen}
        with swapped(blueprint, "selected_rows", lambda *_, found=rows_by_name: found):
            runs = []
            for seed, package in enumerate(packages):
                options = tuning_options("wsla", fixed, seed).changed(steps=times * TUNING_STEPS)
                options = options.changed(learning_rate=options.peak_rate)
                runs.append(bench.run(package, options, variant="" if name == "all" or times > 1 else name))
        report(f"wsla.{name.replace(' ', '_')}.gain", mean_gain(runs))
        rows.append([name, gain_cell(runs), f"{statistics.mean(run.forgotten for run in runs):+.3f}"])
    print("\n".join(table(["what WSLA trains", "gain", "forgotten"], rows)))


@contextlib.contextmanager
def swapped(module: ModuleType, name: str, value: object) -> Iterator[None]:
    """A name of a module stands for another value until the end of the `with`."""
    usual = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, usual)


def long(bench: Bench, arguments: argparse.Namespace) -> None:
    """What long runs need: the rate of WSLA over ten minutes' steps, and how much code windows are mixed from."""
    choices, rows = Choices.read(arguments.records), []
    (small,), (large,) = (folders(arguments.work, "tuning", [name]) for name in ("invoke", "cmd2"))
    usual = evaluation_options(arguments.records, choices, "wsla", LONG).changed(seed=1)
    for rate in (choices.rates["wsla"], usual.learning_rate):
        rows.append(long_row(f"wsla at {rate:.1e}", bench.run(small, usual.changed(learning_rate=rate))))
    mixed = tuning_options("full", 0.0, 0).changed(steps=4 * TUNING_STEPS, evaluations=EVALUATIONS)
    mixed = mixed.changed(learning_rate=mixed.peak_rate)
    for tokens in (1 << 18, windows.BLOCK_TOKENS):
        with swapped(windows, "BLOCK_TOKENS", tokens):
            run = bench.run(large, mixed, variant=f"windows mixed from {tokens} tokens")
        rows.append(long_row(f"full, windows mixed from {tokens:,} tokens", run))
    print("\n".join(table(["run", "package", "steps", "gain", "forgotten"], rows)))


def long_row(words: str, run: Run) -> list[str]:
    report(f"{words.replace(' ', '_')}.gain", run.gain)
    return [words, run.repository, str(run.steps), f"{run.gain:+.3f}", f"{run.forgotten:+.3f}"]


def presets(bench: Bench, arguments: argparse.Namespace) -> None:
    """Whether `balanced` is worth its time where it reads a small package many times."""
    rows = []
    for name, length in product(folders(arguments.work, "tuning", arguments.package or ["invoke", "mistune"]), PRESETS):
        options = preset(length).changed(seed=1)
        run = bench.run(name, options.changed(learning_rate=options.peak_rate))
        rows.append(long_row(length, run))
    print("\n".join(table(["preset", "package", "steps", "gain", "forgotten"], rows)))


def evaluate(bench: Bench, arguments: argparse.Namespace) -> None:
    """Every mode on every package after each budget, and the base: once, with what was chosen."""
    choices = Choices.read(arguments.records)
    packages = folders(arguments.work, "evaluation", arguments.package)
    bases = {name: base_scores(bench, arguments, name) for name in packages}
    rows = [["base", "", *score_cells(list(bases.values())), "", ""]]
    for budget, mode in product(arguments.budgets, arguments.modes):
        runs = []
        for name in packages:
            run = bench.run(name, evaluation_options(arguments.records, choices, mode, budget), scored)
            place = f"{mode}.{budget.replace(' ', '_')}.{Path(name).name}"
            for key in SCORES:
                report(f"{place}.{key}", run.measures[key])
            report(f"{place}.fewer_bits", 1 - run.measures["bits_per_byte"] / bases[name]["bits_per_byte"])
            report(f"{place}.forgotten", run.forgotten)
            report(f"{place}.seconds", run.seconds)
            runs.append(run)
        fewer = [
            1 - run.measures["bits_per_byte"] / bases[name]["bits_per_byte"]
            for name, run in zip(packages, runs, strict=True)
        ]
        forgotten = [run.forgotten for run in runs]
        rows.append(
            [
                mode,
                budget,
                *score_cells([run.measures for run in runs]),
                f"{statistics.mean(fewer):.1%} ± {spread(fewer):.1%}",
                f"{statistics.mean(forgotten):+.3f} ± {spread(forgotten):.3f}",
            ]
        )
    print("\n".join(table(["mode", "after", *SCORES.values(), "fewer bits", "forgotten, nats a token"], rows)))


PARTS = {
    "speeds": speeds,
    "tune": tune,
    "rank": rank,
    "wsla": wsla,
    "long": long,
    "presets": presets,
    "evaluate": evaluate,
}


# ---- what they share


def tuning_options(mode: str, rate: float, seed: int) -> TrainingOptions:
    shorter = preset("quick").changed(steps=TUNING_STEPS, evaluations=TUNING_EVALUATIONS)
    return shorter.changed(mode=mode, learning_rate=rate, seed=seed)


def evaluation_options(records: Path, choices: Choices, mode: str, budget: str) -> TrainingOptions:
    """What the program does by itself, which is what was chosen."""
    if choices.rates[mode] != RATES_BY_MODE[mode]:
        sys.exit(f"The program trains {mode} at {RATES_BY_MODE[mode]:g}, but `tune` chose {choices.rates[mode]:g}.")
    options = preset("quick").changed(mode=mode)
    if budget == LONG:
        known = read_json(records / CHOICES).get("speeds", {})
        if mode not in known:
            sys.exit("How fast each mode is has not been measured: run `speeds` first.")
        steps = round(60 * MINUTES * known[mode] / (options.batch_size * options.sequence_length))
        options = options.changed(steps=steps, evaluations=EVALUATIONS, patience=PATIENCE)
    return options.changed(learning_rate=options.peak_rate)


def scored(session: Session) -> dict[str, float]:
    """The scorecard of the adapted model on the held-out files of its repository."""
    return card(session.model, session.corpus)


def base_scores(bench: Bench, arguments: argparse.Namespace, name: str) -> dict[str, float]:
    """The same of the base, kept like a run."""
    kept = arguments.records / "bases.json"
    key = f"{weights_digest(arguments.model)} {Path(name).name}"
    known = read_json(kept)
    if key not in known:
        model = load_model(arguments.model, "cpu")
        try:
            known[key] = card(model, Repository(Path(name), bench.data, Tokenizer.load(arguments.model)).scan())
        finally:
            model.close()
        update_json(kept, **{key: known[key]})
    for measure in SCORES:
        report(f"base.{Path(name).name}.{measure}", known[key][measure])
    return known[key]


def card(model, corpus) -> dict[str, float]:
    options = ScoreOptions(cursors=CURSORS)
    material = held_out_material(corpus, options.cursors, options.seed, options.characters)
    measures = score(Subject("model", model, corpus.tokenizer), material, options).measures
    return {key: measures[key].value for key in SCORES}


def mean_gain(runs: list[Run]) -> float:
    return statistics.mean(run.gain for run in runs)


def gain_cell(runs: list[Run]) -> str:
    return f"{mean_gain(runs):+.3f} ± {spread([run.gain for run in runs]):.3f}"


def score_cells(scores: list[dict[str, float]]) -> list[str]:
    """The mean over packages of each score, with its spread."""
    return [
        f"{statistics.mean(each[key] for each in scores):.3f} ± {spread([each[key] for each in scores]):.3f}"
        for key in SCORES
    ]


def read_json(path: Path) -> dict:
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def update_json(path: Path, **values: object) -> None:
    path.write_text(json.dumps(read_json(path) | values, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
