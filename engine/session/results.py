"""What a run leaves in the store: its result, and snapshots during the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.checkpoints.store import ROOT, SNAPSHOT_TAG
from engine.checkpoints.store.delta import Delta
from engine.checkpoints.store.store import CheckpointStore, Facts, Manifest, with_suffix
from engine.corpus.corpus import Corpus
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.model import Model
from engine.session.changes import SEEN, seen_files
from engine.session.fim_teaching import FimOutcome
from engine.session.origin import Origin, TrainedModel
from engine.session.plan import repository_name
from engine.train.events import Event, FinishedEvent
from engine.train.options import TrainingOptions

LARGEST_WHOLE_SNAPSHOT = 64 << 20  # bytes; larger full models have no snapshots


@dataclass(frozen=True)
class Weights:
    """A copy of what a checkpoint holds: a delta on the root or, without one, every parameter."""

    delta: Delta | None
    parameters: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Learned:
    """What a run was given to learn, as its checkpoints say: the folder, its size, and hashes of the files seen."""

    root: Path
    files: int
    tokens: int
    seen: str

    @classmethod
    def from_corpus(cls, root: Path, corpus: Corpus, unseen: Sequence[str] = ()) -> Learned:
        """`unseen`: changed files that the run does not learn, so that they still count as changed."""
        learned = corpus.totals.learned
        return cls(root, learned.files, learned.tokens, seen_files(corpus, unseen))


class Results:
    """The checkpoints of one run."""

    def __init__(
        self, store: CheckpointStore, origin: Origin, learned: Learned, run: str, options: TrainingOptions
    ) -> None:
        self._store, self._origin, self._run, self._options = store, origin, run, options
        self._root = learned.root
        self._data = {ROOT: str(learned.root), "files": learned.files, "tokens": learned.tokens}
        self._seen = {SEEN: learned.seen}

    def copy(self, model: TrainedModel, token_ids: np.ndarray | None) -> Weights:
        delta = self._origin.delta(model, self._options, token_ids)
        return Weights(delta, {} if delta is not None else self._origin.whole(model, self._store))

    def can_snapshot(self, model: Model) -> bool:
        whole = self._options.mode == "full" or self._origin.before is None
        return not whole or 4 * model.config.parameter_count <= LARGEST_WHOLE_SNAPSHOT

    def save_result(
        self,
        finished: FinishedEvent,
        weights: Weights,
        history: Sequence[dict[str, Any]],
        skipped: int,
        fim: FimOutcome | None = None,
        *,
        name: str | None = None,
        metrics: Mapping[str, float] | None = None,
        note: str = "",
    ) -> Manifest:
        """Save the run's result, by default under the next free name.

        `fim`: what became of teaching it to fill in.  `metrics`: in addition to those of the run.
        """
        measured = {
            "held_out_before": finished.held_out_before,
            "held_out_loss": finished.held_out_after,
            "seconds": finished.seconds,
        }
        data = {**self._data, **self._seen}
        if finished.changed_before is not None and finished.changed_after is not None:
            measured |= {"changed_before": finished.changed_before, "changed_loss": finished.changed_after}
            data |= {"changed_files": finished.changed_files, "skipped_files": skipped}
        if fim is not None:
            data |= {"fill_in_the_middle": fim.facts}
        facts = Facts(
            name=name or self._next_name(),
            mode=self._options.mode,
            run=self._run,
            parents=(self._origin.base.id,),
            step=finished.best_step,
            metrics={**measured, **(metrics or {})},
            options=asdict(self._options),
            data=data,
            note=note,
        )
        return self._save(facts, weights, history, None if fim is None else fim.tokenizer)

    def save_snapshot(self, step: int, held_out_loss: float, weights: Weights) -> Manifest:
        """Save where the run is, for the timeline."""
        facts = Facts(
            name=with_suffix(repository_name(self._root), f" at step {step} ({self._run[:6]})"),
            mode=self._options.mode,
            run=self._run,
            parents=(self._origin.base.id,),
            step=step,
            metrics={"held_out_loss": held_out_loss},
            data=self._data,
            tags=(SNAPSHOT_TAG,),
        )
        return self._save(facts, weights, ())

    def drop_snapshots(self) -> None:
        """After a run that was rolled back, its snapshots go to the trash."""
        for manifest in self._store.list():
            if manifest.run == self._run and manifest.is_snapshot:
                self._store.delete(manifest.id)

    def find_result(self) -> Manifest | None:
        """The result, if it was saved already and the run was killed right after."""
        for manifest in self._store.list():
            if manifest.run == self._run and not manifest.is_snapshot:
                return manifest
        return None

    def _save(
        self, facts: Facts, weights: Weights, history: Sequence[dict[str, Any]], roles: Tokenizer | None = None
    ) -> Manifest:
        """`roles`: a tokenizer that may have other roles than the base's."""
        origin, tokenizer = self._origin, self._tokenizer(roles)
        if weights.delta is not None:
            own = None if tokenizer == self._store.tokenizer_path(origin.root.id) else tokenizer
            return self._store.save_delta(
                facts, base=origin.root.id, delta=weights.delta, tokenizer=own, history=history
            )
        return self._store.save(
            facts, config=origin.config, parameters=weights.parameters, tokenizer=tokenizer, history=history
        )

    def _tokenizer(self, roles: Tokenizer | None) -> Path | bytes | None:
        """The file of the base or of the root, if it has the same roles; otherwise the content of a new one."""
        ids = self._origin.base.id, self._origin.root.id
        for path in map(self._store.tokenizer_path, ids):
            if roles is None or path is None or Tokenizer.load(path).special == roles.special:
                return path
        return roles.to_json().encode()

    def _next_name(self) -> str:
        """ "shop #3", where 2 is the highest number that is taken."""
        start = f"{repository_name(self._root)} #"
        ends = [m.name.removeprefix(start) for m in self._store.list() if m.name.startswith(start)]
        return f"{start}{1 + max((int(end) for end in ends if end.isdecimal()), default=0)}"


class History:
    """Events as lines of JSON.  A step has its memory only where that changed: it would be most of the file."""

    def __init__(self, lines: Iterable[dict[str, Any]] = ()) -> None:
        self.lines: list[dict[str, Any]] = list(lines)
        self._memory: dict[str, int] | None = None

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            line = event.to_json()
            if line["event"] == "step" and line["memory"] == self._memory:
                del line["memory"]
            self._memory = line.get("memory", self._memory)
            self.lines.append(line)
