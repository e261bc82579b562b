"""Several base models on the same packages: alone and with the memory, before and after each way of adapting.

    python tests/benchmarks/judge.py --work FOLDER --base NAME=FOLDER [NAME=FOLDER ...] [--list tuning]
        [--modes full lora ...] [--budgets quick "10 minutes"] [--package NAME ...] [--cursors 60] [--tokens 12000]

A row is a base, how it was adapted, and whether the memory helped: lines, keystrokes, bits per byte, what is shown at
the threshold that the program uses, what was forgotten (rise of the loss on the watch list, nats a token), seconds of
training and megabytes of the checkpoint; mean and deviation over packages.  Lines are code of held-out files, and of
the evaluation list only files on which no training chose anything; none of them is in the memory.  Bits per byte are
given the text before only.  `--modes` with nothing after it measures only the bases.  "10 minutes" are minutes of the
clock, so they mean something only on a machine with nothing else to do; *Quick* is a number of steps.

Built from `memory_lines.py` (lines), `memory_fit.py` (bits) and `adapting.py` (runs).  What is done is kept in the work
folder and not done again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))  # last: it has an engine.py and a starter.py of its own
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from adapting import MODES, Bench, Run, spread, table, weights_digest
from measure import report
from memory_fit import OBSERVED, bits_per_byte, observed
from memory_lines import open_bench, packages, summary

from engine.generate.fits import fit_for
from engine.memory.fitting import losses
from engine.model.model import Model
from engine.session import Session
from engine.train.options import TrainingOptions, preset

QUICK, LONG, BEFORE = "quick", "10 minutes", "before"
MINUTES, EVALUATIONS, PATIENCE = 10.0, 20, 5
ALONE, WITH_MEMORY = "alone", "with memory"
COLUMNS = {
    "next_line_exact": "next line exactly right",
    "keystrokes_saved_by_line": "keystrokes saved, by line",
    "keystrokes_saved_by_word": "by word",
    "bits_per_byte": "bits per byte",
    "shown": "shown",
    "taken_of_shown": "taken of shown",
}
COSTS = {"forgotten": "forgotten", "seconds": "seconds", "megabytes": "MB"}


class Judge:
    """Measures models on one list of packages with one number of cursors; what is known is kept."""

    def __init__(self, work: Path, role: str, cursors: int, tokens: int) -> None:
        self.work, self.role, self.cursors, self.tokens = work, role, cursors, tokens
        self.folder = work / "judge" / f"{role}-{cursors}-{tokens}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def before(self, base: Path, folder: Path) -> dict[str, float]:
        """The base itself."""
        kept = self.folder / "bases.json"
        known = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
        key = f"{weights_digest(base)} {folder.name}"
        if key not in known:
            known[key] = self.measures(base, folder)
            kept.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
        return known[key]

    def after(self, base: Path, folder: Path, mode: str, budget: str) -> Run:
        """A session's model, by its own training."""
        other = str(self.work / "packages" / "watch")
        bench = Bench(self.folder, str(base.resolve()), other, kept=self.folder / "runs.jsonl")

        def measured(session: Session) -> dict[str, float]:
            return self.measures(base, folder, session.model)

        return bench.run(str(folder), options_for(mode, budget), measured)

    def measures(self, base: Path, folder: Path, model: Model | None = None) -> dict[str, float]:
        """By way and measure, of the base or of a model that came from it."""
        found: dict[str, float] = {}
        with open_bench(self.work, self.role, folder, base) as opened:
            bench = replace(opened, model=model or opened.model, held_out=True, scoring=self.role == "evaluation")
            chosen = fit_for(bench.model)
            ways = {ALONE: (chosen, False), WITH_MEMORY: (chosen, True)}
            for way, lines in bench.lines_by(ways, self.cursors, typing=True).items():
                found |= {f"{way}.{key}": float(value) for key, value in summary(lines, chosen.least).items()}
            seen = observed(bench.model, bench.corpus, self.tokens, see_after=False, learned=False)
            found[f"{ALONE}.bits_per_byte"] = float(bits_per_byte(-np.log(seen.chance), seen))
            found[f"{WITH_MEMORY}.bits_per_byte"] = float(bits_per_byte(losses(seen, chosen.mixing), seen))
        return found


def options_for(mode: str, budget: str) -> TrainingOptions:
    """What the program does by itself."""
    options = preset("quick").changed(mode=mode)
    if budget == QUICK:
        return options
    return options.changed(steps=0, minutes=MINUTES, evaluations=EVALUATIONS, patience=PATIENCE)


def costs(run: Run) -> dict[str, float]:
    return {"forgotten": run.forgotten, "seconds": run.seconds, "megabytes": run.nbytes / 2**20}


def rows_of(label: str, after: str, found: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Two rows of the table: alone and with the memory; `found`: measures and costs, by package."""
    rows = []
    for way in (ALONE, WITH_MEMORY):
        keys = {key: f"{way}.{key}" for key in COLUMNS} | {key: key for key in COSTS}
        cells = [label, after, way]
        for key, place in keys.items():
            values = [each[place] for each in found.values() if each.get(place) == each.get(place, np.nan)]
            for package, each in found.items():
                if place in each:
                    report(f"{label}.{after}.{way}.{package}.{key}".replace(" ", "_"), each[place])
            cells.append(f"{statistics.mean(values):.3f} ± {spread(values):.3f}" if values else "")
        rows.append(cells)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--base", nargs="+", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--list", choices=("tuning", "evaluation"), default="tuning")
    parser.add_argument("--package", nargs="+", help="only these of the list")
    parser.add_argument("--modes", nargs="*", choices=MODES, default=["full"])
    parser.add_argument("--budgets", nargs="+", choices=(QUICK, LONG), default=[QUICK])
    parser.add_argument("--cursors", type=int, default=60, help="of each package")
    parser.add_argument("--tokens", type=int, default=OBSERVED // 2, help="of each package, for bits per byte")
    arguments = parser.parse_args()
    judge = Judge(arguments.work, arguments.list, arguments.cursors, arguments.tokens)
    places = packages(arguments.work, arguments.list)
    places = {name: places[name] for name in arguments.package or places}
    rows = []
    for named in arguments.base:
        label, _, path = named.partition("=")
        base = Path(path)
        rows += rows_of(label, BEFORE, {name: judge.before(base, folder) for name, folder in places.items()})
        for budget in arguments.budgets:
            for mode in arguments.modes:
                runs = {name: judge.after(base, folder, mode, budget) for name, folder in places.items()}
                measured = {name: run.measures | costs(run) for name, run in runs.items()}
                rows += rows_of(label, f"{mode}, {budget}", measured)
    print("\n".join(table(["base", "adapted", "memory", *COLUMNS.values(), *COSTS.values()], rows)))


if __name__ == "__main__":
    main()
