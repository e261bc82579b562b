"""What adapting to a repository gains, and what it costs: `python tests/benchmarks/adaptation.py FOLDER_OR_PACKAGE...`

By default every mode trains for the same time (`--minutes`) on each folder: held-out loss before and after, tokens/s,
peak memory, size of the checkpoint.

With `--compare`, modes x learning rates x repositories x seeds at the same number of steps (`--steps`): the rate of
each mode is chosen on the repositories that `--tune` names, and what is reported are the others, with their spread:
gain on held-out code, forgetting (loss on other code, `--other`), size of the delta.

A repository is a folder or the name of an installed package. `--base`: `starter`, a Hugging Face folder, or `tiny`, a
model that is first trained on a part of Python's standard library (kept in `--work`, so that it is trained once).
Prints name=value lines, and tables in Markdown at the end.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # last: it has an engine.py of its own
sys.path.insert(0, str(Path(__file__).parents[2]))

from measure import report

from engine.checkpoints.store import CheckpointStore, Facts
from engine.corpus.repository import Repository
from engine.corpus.tokenizer import Tokenizer
from engine.devices import open_device
from engine.devices.single_kernel import warm_up
from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters
from engine.session import Session, SessionPlan
from engine.session.batches import measured_windows
from engine.train.evaluation import Evaluation
from engine.train.options import TrainingOptions

MODES = ("wsla", "lora", "vocabulary", "full")
LIBRARY = (
    "argparse.py",
    "ast.py",
    "asyncio",
    "calendar.py",
    "collections",
    "configparser.py",
    "csv.py",
    "dataclasses.py",
)
LIBRARY += (
    "datetime.py",
    "difflib.py",
    "email",
    "enum.py",
    "fractions.py",
    "html",
    "http",
    "inspect.py",
    "json",
    "logging",
)
LIBRARY += (
    "mailbox.py",
    "multiprocessing",
    "pathlib.py",
    "pickle.py",
    "shutil.py",
    "statistics.py",
    "tarfile.py",
    "typing.py",
)
LIBRARY += ("unittest", "urllib", "wsgiref", "xml", "zipfile.py")
UNSEEN = ("decimal.py", "_pydecimal.py", "imaplib.py", "nntplib.py", "optparse.py", "pdb.py", "sqlite3", "turtle.py")
TINY = {"hidden_size": 112, "num_hidden_layers": 4, "vocab_size": 4096}


@dataclass(frozen=True)
class Run:
    """One adaptation."""

    repository: str
    mode: str
    rate: float
    seed: int
    before: float
    after: float
    forgotten: float
    tokens_per_second: float
    steps: int
    seconds: float
    peak: int
    nbytes: int

    @property
    def gain(self) -> float:
        return self.before - self.after


def main() -> None:
    arguments = parsed()
    work = Path(arguments.work or tempfile.mkdtemp(prefix="codecoil-adaptation-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        bench = Bench(work, arguments)
        (compare if arguments.compare else equal_time)(bench, arguments)
    finally:
        if not arguments.work:
            shutil.rmtree(work, ignore_errors=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="*", help="folders, or names of installed packages")
    parser.add_argument("--base", default="starter", help="starter, tiny, or a folder (default: starter)")
    parser.add_argument("--base-minutes", type=float, default=3.0, help="how long `tiny` is trained")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--minutes", type=float, default=1.0, help="of each run at equal time")
    parser.add_argument("--rate", type=float, default=0.0, help="learning rate at equal time (default: the preset's)")
    parser.add_argument("--compare", action="store_true", help="modes x rates x repositories x seeds")
    parser.add_argument("--tune", nargs="+", default=[], help="repositories that the rates are chosen on")
    parser.add_argument("--rates", nargs="+", type=float, default=[3e-4, 1e-3, 3e-3, 1e-2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--sequence-length", type=int, default=256)
    parser.add_argument("--other", default="", help="other code, to see what is forgotten (default: standard library)")
    parser.add_argument("--work", default="", help="where the base and finished runs are kept")
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


class Bench:
    """A base, other code, and runs; what is done is kept in `work` and not done again."""

    def __init__(self, work: Path, arguments: argparse.Namespace) -> None:
        self._work, self._arguments = work, arguments
        self._data = work / "data"
        self._store = CheckpointStore(self._data / "checkpoints")
        device = open_device(arguments.device)
        warm_up(device, lambda *_: None)
        device.close()
        self.base = self._tiny() if arguments.base == "tiny" else arguments.base
        self._other = folder_of(arguments.other) if arguments.other else library(work / "unseen", UNSEEN)

    def run(self, repository: str, options: TrainingOptions) -> Run:
        """One adaptation of the base; its checkpoint is deleted when it has been weighed."""
        root = folder_of(repository)
        key = json.dumps([str(root), self._arguments.base, asdict(options)], sort_keys=True)
        kept = self._work / "runs.jsonl"
        for line in kept.read_text().splitlines() if kept.is_file() else []:
            if (known := json.loads(line))["key"] == key:
                return Run(**known["run"])
        run = self._run(repository, root, options)
        with kept.open("a") as file:
            file.write(json.dumps({"key": key, "run": asdict(run)}) + "\n")
        return run

    def _run(self, repository: str, root: Path, options: TrainingOptions) -> Run:
        device = open_device(self._arguments.device)
        session = Session(SessionPlan(root, self._data, options, self.base), device)
        try:
            other = self._other_windows(session)
            before = loss_on(session.model, other)
            speeds, finished, nbytes = [], None, 0
            for event in session.run():
                if event.event == "step":
                    speeds.append(event.tokens_per_second)
                elif event.event == "finished":
                    finished = event
                elif event.event == "checkpoint":
                    manifest = self._store.get(event.checkpoint)
                    nbytes = manifest.files[manifest.weights_file].size
                    self._store.empty_trash([self._store.delete(manifest.id).key])
            return Run(
                repository,
                options.mode,
                options.learning_rate,
                options.seed,
                finished.held_out_before,
                finished.held_out_after,
                loss_on(session.model, other) - before,
                statistics.median(speeds[3:] or speeds or [0.0]),
                finished.step,
                finished.seconds,
                device.ledger.snapshot().peak,
                nbytes,
            )
        finally:
            session.close()
            device.close()

    def _other_windows(self, session: Session):
        """Windows of the other code, with the session's tokens; all of it is measured on, none trained."""
        corpus = Repository(self._other, self._data, session.corpus.tokenizer).scan()
        return measured_windows(corpus, (*corpus.learned_documents, *corpus.held_out_documents), session.options)

    def _tiny(self) -> str:
        """The id of a small model that has read a part of the standard library."""
        for manifest in self._store.list():
            if manifest.name.startswith("tiny base #"):
                return manifest.id
        root = library(self._work / "tiny base", LIBRARY)
        texts = [path.read_text("utf-8") for path in sorted(root.rglob("*.py"))]
        tokenizer = Tokenizer.train(texts, TINY["vocab_size"])
        tokenizer.save(self._work / "tokenizer.json")
        config = ModelConfig(**{**TINY, "vocab_size": tokenizer.vocab_size})
        fresh = self._store.save(
            Facts("untrained", "base"),
            config=config,
            parameters=dict(initial_parameters(config, 0)),
            tokenizer=self._work / "tokenizer.json",
        )
        options = TrainingOptions(
            "full", 3e-3, steps=0, minutes=self._arguments.base_minutes, weight_decay=0.1, beta2=0.98, warm_up=50
        )
        device = open_device(self._arguments.device)
        session = Session(SessionPlan(root, self._data, options, fresh.id), device)
        try:
            for event in session.run():
                if event.event == "finished":
                    report("base.parameters", config.parameter_count)
                    report("base.steps", event.step)
                    report("base.held_out_loss", event.held_out_after)
            return event.checkpoint
        finally:
            session.close()
            device.close()


def folder_of(name: str) -> Path:
    """A folder, or that of an installed package (which is not imported)."""
    if Path(name).is_dir():
        return Path(name).resolve()
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        sys.exit(f"{name} is neither a folder nor an installed package.")
    return Path(next(iter(found.submodule_search_locations))).resolve()


def library(folder: Path, names: tuple[str, ...]) -> Path:
    """A copy of parts of the standard library: those that this Python has."""
    if not folder.is_dir():
        source = Path(sysconfig.get_path("stdlib"))
        folder.mkdir(parents=True)
        for name in names:
            if (source / name).is_dir():
                shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "test*"))
            elif (source / name).is_file():
                shutil.copy(source / name, folder / name)
    return folder


def loss_on(model, windows) -> float:
    evaluation = Evaluation(model, [windows])
    while not evaluation.advance():
        pass
    return evaluation.measured[0].loss


# ---- at equal time


def equal_time(bench: Bench, arguments: argparse.Namespace) -> None:
    """Every mode for the same minutes, folder by folder."""
    rows = []
    for repository in arguments.repositories:
        for mode in arguments.modes:
            options = TrainingOptions(
                mode,
                steps=0,
                minutes=arguments.minutes,
                batch_size=arguments.batch_size,
                sequence_length=arguments.sequence_length,
            )
            if arguments.rate:
                options = options.changed(learning_rate=arguments.rate)
            run = bench.run(repository, options)
            name = f"{Path(repository).name}.{mode}"
            report(f"{name}.held_out_before", run.before)
            report(f"{name}.held_out_after", run.after)
            report(f"{name}.forgotten", run.forgotten)
            report(f"{name}.tokens_per_second", run.tokens_per_second)
            report(f"{name}.steps", run.steps)
            report(f"{name}.seconds", run.seconds)
            report(f"{name}.peak_memory", run.peak / 2**20, "MiB")
            report(f"{name}.checkpoint", run.nbytes / 2**20, "MiB")
            rows.append(
                [
                    Path(repository).name,
                    mode,
                    f"{run.before:.3f}",
                    f"{run.after:.3f}",
                    f"{run.gain:+.3f}",
                    f"{run.forgotten:+.3f}",
                    f"{run.tokens_per_second:,.0f}",
                    f"{run.peak / 2**20:.0f} MiB",
                    f"{run.nbytes / 2**20:.2f} MiB",
                ]
            )
    heads = ["repository", "mode", "before", "after", "gain", "forgotten", "tokens/s", "peak memory", "checkpoint"]
    print("\n".join(table(heads, rows)))


# ---- the comparison


def compare(bench: Bench, arguments: argparse.Namespace) -> None:
    """Choose a rate for each mode on the tuning repositories, and report the others with it."""
    if not arguments.tune or set(arguments.tune) & set(arguments.repositories):
        sys.exit("--compare needs --tune with repositories that are not those reported.")
    began, rows, full = time.monotonic(), [], None
    chosen = {mode: chosen_rate(bench, arguments, mode) for mode in arguments.modes}
    for mode in sorted(arguments.modes, key=lambda mode: mode != "full"):
        runs = list(reported(bench, arguments, mode, chosen[mode]))
        gains, forgotten = [run.gain for run in runs], [run.forgotten for run in runs]
        full = statistics.mean(gains) if mode == "full" else full
        share = f"{statistics.mean(gains) / full:.0%}" if full else ""
        sizes = [run.nbytes / 2**20 for run in runs]
        report(f"{mode}.rate", chosen[mode])
        for name, values in (("gain", gains), ("forgotten", forgotten), ("checkpoint_mib", sizes)):
            report(f"{mode}.{name}", statistics.mean(values))
            report(f"{mode}.{name}_spread", spread(values))
        report(f"{mode}.tokens_per_second", statistics.median(run.tokens_per_second for run in runs))
        cells = [f"{statistics.mean(v):+.3f} ± {spread(v):.3f}" for v in (gains, forgotten)]
        size = f"{statistics.mean(sizes):.2f} ± {spread(sizes):.2f} MiB"
        worst = f"{min(gains):+.3f} to {max(gains):+.3f}"
        rows.append([mode, f"{chosen[mode]:g}", cells[0], worst, share, cells[1], size, str(len(runs))])
    report("seconds", time.monotonic() - began)
    heads = ["mode", "rate", "gain", "from, to", "of full", "forgotten", "checkpoint", "runs"]
    print("\n".join(table(heads, rows)))


def chosen_rate(bench: Bench, arguments: argparse.Namespace, mode: str) -> float:
    """The rate with the highest mean gain on the tuning repositories."""
    gains: dict[float, float] = {}
    for rate in arguments.rates:
        runs = [bench.run(name, options_of(arguments, mode, rate, arguments.seeds[0])) for name in arguments.tune]
        gains[rate] = statistics.mean(run.gain for run in runs)
        report(f"{mode}.tuning.{rate:g}.gain", gains[rate])
    best = max(gains, key=gains.get)
    if best in (min(gains), max(gains)) and len(gains) > 1:
        report(f"{mode}.note", "the best rate lies at the end of the grid")
    return best


def reported(bench: Bench, arguments: argparse.Namespace, mode: str, rate: float) -> Iterator[Run]:
    for repository, seed in product(arguments.repositories, arguments.seeds):
        run = bench.run(repository, options_of(arguments, mode, rate, seed))
        name = f"{mode}.{Path(repository).name}.{seed}"
        report(f"{name}.gain", run.gain)
        report(f"{name}.forgotten", run.forgotten)
        yield run


def options_of(arguments: argparse.Namespace, mode: str, rate: float, seed: int) -> TrainingOptions:
    options = TrainingOptions(mode, rate, arguments.steps, seed=seed)
    return replace(options, batch_size=arguments.batch_size, sequence_length=arguments.sequence_length)


def spread(values: list[float]) -> float:
    """The standard deviation."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


if __name__ == "__main__":
    main()
