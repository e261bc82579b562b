"""From a folder to an adapted model: corpus, base, trainer and checkpoints put together.

A session yields the trainer's events, with one of its own for each checkpoint. It saves its progress at least every
minute, so that a kill costs at most that; `resume` goes on exactly where the saved run was.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from engine.checkpoints.delta import make_delta
from engine.checkpoints.store import CheckpointStore, Facts, Manifest
from engine.corpus.corpus import Corpus
from engine.corpus.own_tokenizer import own_tokenizer
from engine.corpus.repository import Repository
from engine.corpus.tokenizer import Tokenizer
from engine.corpus.windows import HeldOutWindows, Windows
from engine.devices import Device
from engine.errors import CodecoilError, CorpusError, InputError
from engine.model.config import preset as size_preset
from engine.model.initialise import initial_parameters
from engine.model.model import Model, load_model
from engine.train.events import CheckpointEvent, Event, FinishedEvent, NoteEvent, PlanEvent
from engine.train.options import TrainingOptions
from engine.train.saved_run import SavedRun, forget_run, load_run, save_run
from engine.train.trainer import Trainer

SAVE_SECONDS = 60.0  # of training that a crash may cost
HELD_OUT_BATCH = 8
HELD_OUT_WINDOWS = 64  # measured at each evaluation, at most, evenly spread
NEW_MODEL_SIZE = "nano"  # of the model that is made where no base is named

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class SessionPlan:
    """What a session is about to do."""

    root: Path
    data_folder: Path
    options: TrainingOptions
    base: str = ""  # name or id of a checkpoint, or a Hugging Face folder; "": a new small model


class Session:
    """One run on one device.  Use it from the thread that opened the device; `stop`, `pause` and `resume` from any."""

    def __init__(
        self, plan: SessionPlan, device: Device, progress: Progress | None = None, saved: SavedRun | None = None
    ):
        """Reads the repository and makes the model ready; `saved` is a run to go on with."""
        self.plan, self.device = plan, device
        self.run_id = saved.run if saved else uuid.uuid4().hex[:12]
        self._store = CheckpointStore(plan.data_folder / "checkpoints")
        self._runs = plan.data_folder / "runs"
        self._history: list[dict[str, Any]] = []
        repository = Repository(plan.root, plan.data_folder)
        base = self._find_base(plan.base)
        tokenizer = self._tokenizer_of(base) if base else self._own_tokenizer(repository, progress)
        self.base = base or self._new_base(tokenizer)
        repository.use_tokenizer(tokenizer)
        self.corpus = repository.scan(progress)
        self.model = self._load_base(tokenizer)
        try:
            self._windows, held_out = self._batches(self.corpus)
            self.trainer = Trainer(self.model, self._windows.take, held_out, plan.options)
            if saved is not None:
                self.trainer.restore(saved.state)
                self._note = self._windows.restore(saved.cursor)
            else:
                self._note = ""
        except BaseException:
            self.model.close()
            raise
        self._saved_at = time.monotonic()

    # ---- running

    def run(self) -> Iterator[Event]:
        """All events, the checkpoint at the end included."""
        if self._note:
            yield NoteEvent(self.trainer.step, self._note)
        for event in self.trainer.run():
            if isinstance(event, PlanEvent):
                event = replace(event, run=self.run_id)
            self._history.append(event.to_json())
            yield event
            if isinstance(event, FinishedEvent):
                yield from self._finish(event)
            elif time.monotonic() - self._saved_at >= SAVE_SECONDS:
                self.save_progress()

    def save_progress(self) -> None:
        """Replace the saved run by where it is now."""
        saved = SavedRun(
            self.run_id,
            str(self.plan.root),
            self.base.id,
            self.plan.options,
            self._windows.state(),
            self.trainer.state(),
        )
        save_run(self._runs, saved)
        self._saved_at = time.monotonic()

    def close(self) -> None:
        """Give all memory back."""
        self.trainer.close()
        self.model.close()

    def _finish(self, finished: FinishedEvent) -> Iterator[Event]:
        if not finished.rolled_back and finished.step:
            manifest = self._save_checkpoint(finished)
            yield CheckpointEvent(finished.step, manifest.id, manifest.name, finished.held_out_after)
        forget_run(self._runs, self.run_id)

    def _save_checkpoint(self, finished: FinishedEvent) -> Manifest:
        o = self.plan.options
        taken = sum(m.name.startswith(f"{self.plan.root.name} #") for m in self._store.list())
        totals = self.corpus.totals
        facts = Facts(
            name=f"{self.plan.root.name} #{taken + 1}",
            mode=o.mode,
            run=self.run_id,
            step=finished.best_step,
            metrics={"held_out_before": finished.held_out_before, "held_out_loss": finished.held_out_after},
            options=asdict(o),
            data={"files": totals.learned.files, "tokens": totals.learned.tokens},
        )
        if o.mode == "full":
            tokenizer = self._store.tokenizer_path(self.base.id)
            return self._store.save(
                facts,
                config=self.model.config,
                parameters=self.model.parameters,
                tokenizer=tokenizer,
                history=self._history,
            )
        delta = make_delta(o.mode, self.model.config, self.model.parameters, self.model.adapters)
        return self._store.save_delta(facts, base=self.base.id, delta=delta, history=self._history)

    # ---- preparing

    def _find_base(self, name: str) -> Manifest | None:
        """The checkpoint of that name, or of a Hugging Face folder taken into the store; None for a new model."""
        if not name:
            return None
        folder = Path(name)
        if not (folder / "config.json").is_file():
            return self._store.get(name)
        tokenizer = folder / "tokenizer.json"
        if not tokenizer.is_file():
            raise InputError(f"{folder} holds no tokenizer.json.", "Choose a folder with the model's own tokenizer.")
        model = load_model(folder, self.device)
        try:
            facts = Facts(name=folder.resolve().name, mode="import")
            return self._store.save(facts, config=model.config, parameters=model.parameters, tokenizer=tokenizer)
        finally:
            model.close()

    def _tokenizer_of(self, base: Manifest) -> Tokenizer:
        path = self._store.tokenizer_path(base.id)
        if path is None:
            raise CorpusError(f"The checkpoint {base.name} has no tokenizer.", "Choose another base.")
        return Tokenizer.load(path)

    def _own_tokenizer(self, repository: Repository, progress: Progress | None) -> Tokenizer:
        repository.list_files(progress)
        return own_tokenizer(repository)

    def _new_base(self, tokenizer: Tokenizer) -> Manifest:
        """A new small model with this tokenizer, in the store, so that deltas have a base to name."""
        config = size_preset(NEW_MODEL_SIZE, tokenizer.vocab_size)
        path = self.plan.data_folder / "runs" / f"{self.run_id}.tokenizer.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            tokenizer.save(path)
            facts = Facts(name=f"new model for {self.plan.root.name}", mode="base", tags=("base",))
            parameters = dict(initial_parameters(config, self.plan.options.seed))
            return self._store.save(facts, config=config, parameters=parameters, tokenizer=path)
        finally:
            path.unlink(missing_ok=True)

    def _load_base(self, tokenizer: Tokenizer) -> Model:
        config = self._store.config(self.base.id)
        if not tokenizer.fits(config.vocab_size):
            raise InputError(
                f"The tokenizer has {tokenizer.vocab_size} entries; {self.base.name} was made for {config.vocab_size}.",
                "Choose the tokenizer that belongs to the model.",
            )
        model = Model(config, self.device)
        try:
            for name, array in self._store.load_parameters(self.base.id).items():
                model.parameters[name] = array
        except BaseException:
            model.close()
            raise
        return model

    def _batches(self, corpus: Corpus) -> tuple[Windows, HeldOutWindows]:
        o = self.plan.options
        if not corpus.learned_documents:
            raise CorpusError(
                f"Nothing in {self.plan.root} is learned.", "`codecoil scan` tells why each file is left out."
            )
        windows = Windows(corpus, o.sequence_length, o.batch_size, o.seed, o.fim_share)
        return windows, HeldOutWindows(corpus, o.sequence_length, HELD_OUT_BATCH, limit=HELD_OUT_WINDOWS)


def resume_session(
    run: str, data_folder: Path, open_device: Callable[[], Device], progress: Progress | None = None
) -> Session:
    """Go on with the interrupted run of that name."""
    saved = load_run(data_folder / "runs", run)
    root = Path(saved.root)
    if not root.is_dir():
        raise CodecoilError(f"The repository {root} of run {run} is not there.", "Bring it back, or start a new run.")
    return Session(SessionPlan(root, data_folder, saved.options, saved.base), open_device(), progress, saved)
