"""What the benchmarks of adaptation share: a base, repositories, other code, and runs that are done only once."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import statistics
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from measure import report

from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
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
    measures: dict[str, float] = field(default_factory=dict)  # what a judge found of the adapted model

    @property
    def gain(self) -> float:
        return self.before - self.after


Judge = Callable[[Session], dict[str, float]]


class Bench:
    """A base, other code, and runs; what is done is kept in `work` and not done again."""

    def __init__(
        self,
        work: Path,
        base: str,
        other: str = "",
        device: str = "cpu",
        base_minutes: float = 3.0,
        kept: Path | None = None,
    ) -> None:
        """`base`: `tiny`, or what a session takes. `other`: code to see what is forgotten (or the standard library).

        `kept`: the file of finished runs (or one in `work`); it says nothing about the machine, so it can be passed on.
        """
        self._work, self._device, self._base_minutes = work, device, base_minutes
        self._kept = kept or work / "runs.jsonl"
        self.data = work / "data"
        self._store = CheckpointStore(self.data / "checkpoints")
        opened = open_device(device)
        warm_up(opened, lambda *_: None)
        opened.close()
        self._base_name = weights_digest(Path(base)) if Path(base).is_dir() else base
        self.base = self._tiny() if base == "tiny" else base
        self._other = folder_of(other) if other else library(work / "unseen", UNSEEN)

    def run(self, repository: str, options: TrainingOptions, judge: Judge | None = None, variant: str = "") -> Run:
        """One adaptation of the base; its checkpoint is deleted when it has been weighed and `judge` has seen it.

        `variant`: in what it differs from an ordinary run with these options, if the caller has seen to that.
        """
        root = folder_of(repository)
        key = {"repository": root.name, "base": self._base_name, "judged": judge is not None, "variant": variant}
        key |= asdict(options)
        for line in self._kept.read_text().splitlines() if self._kept.is_file() else []:
            if (known := json.loads(line))["key"] == key:
                return Run(**known["run"])
        run = self._run(root, options, judge)
        with self._kept.open("a") as file:
            file.write(json.dumps({"key": key, "run": asdict(run)}) + "\n")
        return run

    def _run(self, root: Path, options: TrainingOptions, judge: Judge | None) -> Run:
        device = open_device(self._device)
        session = Session(SessionPlan(root, self.data, options, self.base), device)
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
                root.name,
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
                judge(session) if judge else {},
            )
        finally:
            session.close()
            device.close()

    def _other_windows(self, session: Session):
        """Windows of the other code, with the session's tokens; all of it is measured on, none trained."""
        corpus = Repository(self._other, self.data, session.corpus.tokenizer).scan()
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
            "full", 3e-3, steps=0, minutes=self._base_minutes, weight_decay=0.1, beta2=0.98, warm_up=50
        )
        device = open_device(self._device)
        session = Session(SessionPlan(root, self.data, options, fresh.id), device)
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


def weights_digest(folder: Path) -> str:
    """What a model's weights are called, wherever they lie."""
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:16]


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
