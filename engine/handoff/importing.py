"""The result of a hand-off as a checkpoint, as if the run had been one of this program: lineage, options, curves.

Another program wrote the folder: every value, name, shape and hash is checked before anything is stored. A result is
only taken if the hand-off was made here, on the base and the tokenizer that are still there.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_type_hints

import numpy as np

from engine.checkpoints.formats.importing import ReportFor, import_checkpoint
from engine.checkpoints.store.manifest import BEST_METRIC, Manifest
from engine.checkpoints.store.progress import Report, Tally
from engine.checkpoints.store.store import CheckpointStore
from engine.checkpoints.store.writing import need_space
from engine.corpus.repository import corpus_at
from engine.devices import Device
from engine.errors import CheckpointError, CorpusError, MemoryCeilingError
from engine.handoff.record import RUN_FILE, START_FILE, Record
from engine.handoff.scoring import as_handed_off, folder_of
from engine.handoff.trained_parts import row_tensors, trained_parts
from engine.model.model import Model
from engine.model.modes import ADAPTER_MODES
from engine.model.selection import selected_rows
from engine.model.storage import Storage
from engine.safe_reading import check_name, open_plain, parse_json, read_json, read_plain
from engine.session.bases import tokenizer_of
from engine.session.fim_teaching import FimOutcome, FimTeaching, not_measured
from engine.session.origin import Origin
from engine.session.results import History, Results, Weights
from engine.tensor_file import TensorFile, TensorSource, not_finite, pieces_of
from engine.train.events import EvaluationEvent, Event, FinishedEvent, NoteEvent, PlanEvent, StepEvent

RESULT_FILE, WEIGHTS_FILE, HISTORY_FILE, FOLDER = "result.json", "trained.safetensors", "history.jsonl", "result"
SCHEMA = 1
MOST_HISTORY, MOST_LINE = 512 << 20, 64 << 10  # bytes
CHUNK = 4 << 20
EVENTS: dict[str, type[Event]] = {
    kind.event: kind for kind in (PlanEvent, StepEvent, EvaluationEvent, NoteEvent, FinishedEvent)
}
OpenDevice = Callable[[], AbstractContextManager[Device]]
REMEDY = "Copy the result again; if it stays so, train again from the hand-off."


@dataclass(frozen=True)
class Result:
    """result.json.  `with_memory_before`, `with_memory_after`: held-out losses of the mixture, where measured."""

    handoff: str
    run_sha256: str
    trained_sha256: str
    step: int
    best_step: int
    reason: str
    held_out_before: float
    held_out_after: float
    seconds: float
    processes: int
    schema: int = SCHEMA
    with_memory_before: float | None = None
    with_memory_after: float | None = None


def import_any(
    store: CheckpointStore,
    data_folder: Path,
    path: Path,
    name: str | None = None,
    tokenizer: Path | None = None,
    report_for: ReportFor = lambda part: None,
    open_device: OpenDevice | None = None,
    look: Callable[[], object] = lambda: None,
) -> Manifest:
    """The result of a hand-off, or whatever else can be imported (`import_checkpoint`)."""
    folder = find_result(path)
    if folder is not None:
        return import_result(store, data_folder, folder, name, report_for("Verifying"), open_device, look)
    return import_checkpoint(store, path, name, tokenizer, report_for)


def find_result(path: Path) -> Path | None:
    """The folder of a result, if `path` is one or has one in it; refuses a hand-off without a result."""
    found = next((folder for folder in (path, path / FOLDER) if (folder / RESULT_FILE).is_file()), None)
    if found is None and all((path / name).is_file() for name in (RUN_FILE, START_FILE)):
        raise CheckpointError(
            f"{path} is a hand-off without a result.",
            "Run its train.py; the result appears when held-out loss has improved, or at the end.",
        )
    return found


def import_result(
    store: CheckpointStore,
    data_folder: Path,
    folder: Path,
    name: str | None = None,
    report: Report | None = None,
    open_device: OpenDevice | None = None,
    look: Callable[[], object] = lambda: None,
) -> Manifest:
    """The checkpoint of the result in `folder`; one that was imported before is returned as it is.

    `open_device`: for a base that was taught to fill in, to try out whether it helps; `look` is called meanwhile, and
    what it raises ends the import.
    """
    if name is not None:
        check_name(name, "The checkpoint's name")
    result = _read_result(folder / RESULT_FILE)
    record = Record.load(data_folder, result.handoff)
    if result.run_sha256 != record.run_sha256:
        raise CheckpointError(
            f"{folder} was trained by another run.json than that of hand-off {record.id}.",
            "Train from the folder as it was written, or hand off again.",
        )
    if not result.best_step:
        raise CheckpointError(
            "Held-out loss did not improve in this run, so there is nothing to import.",
            "Hand off again with a lower learning rate or other options.",
        )
    base = _base(store, record)
    origin = Origin.of(store, base)
    results = Results(store, origin, record.learned, record.id, record.options)
    if known := next((one for one in store.list() if _is_result(one, result) and name in (None, one.name)), None):
        return known
    history = _read_history(folder / HISTORY_FILE, record.id)
    path = folder / WEIGHTS_FILE
    _check_hash(path, result.trained_sha256, report)
    with TensorFile(path) as file:
        trained = _Trained(store, origin, record, file)
        need_space(store.folder, file.size, "The result cannot be imported")
        full = record.options.mode == "full"
        weights = Weights(None, file) if full else results.copy(trained, record.token_ids)
        finished = FinishedEvent(
            result.step,
            result.reason,
            result.held_out_before,
            result.held_out_after,
            result.best_step,
            False,
            result.seconds,
        )
        fim = _fim(store, data_folder, origin, record, trained, open_device, look) if record.teaches_fim else None
        more = {
            key: value
            for key in ("with_memory_before", "with_memory_after")
            if (value := getattr(result, key)) is not None
        }
        return results.save_result(
            finished, weights, history, 0, fim, name=name, metrics=more, note=_note(record, result, fim)
        )


def _is_result(known: Manifest, result: Result) -> bool:
    """Whether it was imported from this; of one hand-off, an early result and a later one may be imported."""
    return (known.run, known.step, known.metrics.get(BEST_METRIC)) == (
        result.handoff,
        result.best_step,
        result.held_out_after,
    )


def _note(record: Record, result: Result, fim: FimOutcome | None) -> str:
    plural = "es" * (result.processes != 1)
    words = f"Trained elsewhere in {result.processes} process{plural}, from hand-off {record.id}: {result.reason}."
    return words if fim is None else f"{words}\n{fim.note}"


def _fim(
    store: CheckpointStore,
    data_folder: Path,
    origin: Origin,
    record: Record,
    trained: _Trained,
    open_device: OpenDevice | None,
    look: Callable[[], object],
) -> FimOutcome:
    """What became of teaching to fill in: tried out as after a run here, if there is a device and the folder."""
    tokenizer = tokenizer_of(store, origin.base)
    taught = tokenizer if tokenizer.has_taught_fim else tokenizer.with_taught_fim()
    if open_device is None:
        return not_measured(taught, "the run took place elsewhere")
    try:
        corpus = as_handed_off(corpus_at(folder_of(record), data_folder, tokenizer), record)
    except CorpusError as error:
        return not_measured(taught, error.message.rstrip("."))
    teaching = FimTeaching(corpus, wanted=True)
    try:
        with open_device() as device, closing(Model(origin.config, device)) as model:
            model.parameters.fill(origin.whole(trained, store))
            model.document_end = tokenizer.special.end_of_text
            while not teaching.try_out(model, corpus.validation_code, record.options.sequence_length):
                look()
    except MemoryCeilingError as error:
        return not_measured(taught, f"the model does not fit: {error.message}")
    return teaching.outcome()


# ---- what is read


def _read_result(path: Path) -> Result:
    content = read_json(path, 1 << 20)
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise CheckpointError(f"{path} is not a result that this version can read.", REMEDY)
    result = _checked(Result, content, str(path))
    losses = result.held_out_before, result.held_out_after
    if not all(map(math.isfinite, losses)) or not 0 <= result.best_step <= result.step:
        raise CheckpointError(f"{path} contradicts itself.", REMEDY)
    return result


def _read_history(path: Path, run: str) -> list[dict[str, Any]]:
    """The events of the run, as `train --json` prints them: each with its own fields and no others."""
    events = []
    for number, line in enumerate(read_plain(path, MOST_HISTORY).splitlines(), 1):
        where = f"Line {number} of {path}"
        content = parse_json(line, where, MOST_LINE, 4)
        kind = EVENTS.get(content.pop("event", "")) if isinstance(content, dict) else None
        if kind is None:
            raise CheckpointError(f"{where} is not an event of a run.", REMEDY)
        events.append(_checked(kind, content, where))
    if not events or not isinstance(events[0], PlanEvent) or events[0].run != run:
        raise CheckpointError(f"{path} is the history of another run.", REMEDY)
    history = History()
    history.add(events)
    return history.lines


def _checked(kind: type, content: dict[str, Any], where: str) -> Any:
    """An instance of a dataclass from JSON: every name known, every value of its field's type."""
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)}
    for key, value in content.items():
        if key not in known or not _fits(value, hints[key]):
            raise CheckpointError(f"{where} has an invalid value for {key!a}.", REMEDY)
    try:
        return kind(
            **{key: math.nan if value is None and hints[key] is float else value for key, value in content.items()}
        )
    except TypeError as error:
        raise CheckpointError(f"{where} is incomplete.", REMEDY) from error


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of JSON is of this type; null stands for a float that is not finite."""
    if isinstance(hint, UnionType):
        return value is None or _fits(value, hint.__args__[0])
    if hint is float:
        return value is None or (type(value) in (int, float) and math.isfinite(value))
    if hint in (int, bool, str):
        return type(value) is hint
    return value == {}  # memory by kind, which is not known there


def _check_hash(path: Path, expected: str, report: Report | None) -> None:
    found = hashlib.sha256()
    descriptor = open_plain(path)
    with open(descriptor, "rb") as file:
        tally = Tally(os.fstat(descriptor).st_size, report)
        while chunk := file.read(CHUNK):
            found.update(chunk)
            tally.add(len(chunk))
    if found.hexdigest() != expected:
        raise CheckpointError(f"{path} does not have the hash that {RESULT_FILE} gives it.", REMEDY)


def _base(store: CheckpointStore, record: Record) -> Manifest:
    """The base of the hand-off, if it is still what it was."""
    try:
        base = store.get(record.base.id)
    except CheckpointError as error:
        raise CheckpointError(
            f"The base of hand-off {record.id} is no longer there ({record.base.id[:8]}).",
            "Restore it from the trash, or import it again and hand off again.",
        ) from error
    if base.weights_sha256 != record.base.sha256 or tokenizer_of(store, base).digest != record.tokenizer:
        raise CheckpointError(
            f"{base.name} has other weights or another tokenizer than when it was handed off.", "Hand off again."
        )
    return base


# ---- what was trained


class _Trained:
    """What was trained, laid over the base: what a result is read from."""

    storage = Storage()

    def __init__(self, store: CheckpointStore, origin: Origin, record: Record, file: TensorFile) -> None:
        config, options = origin.config, record.options
        shapes = trained_parts(config, options, record.token_ids).shapes
        _check_tensors(file, shapes)
        rows = dict(selected_rows(config, options.mode, {}))
        own = {name: (np.arange(first, last), file[name]) for name, (first, last) in rows.items()}
        if record.token_ids is not None:
            own[config.embedding_name] = record.token_ids, file[row_tensors(config)[0]]
        pairs = origin.continues_pairs(options)
        self.parameters = _Overlaid(store.load_parameters(origin.base.id, pairs=not pairs), own)
        self.adapters: Mapping[str, np.ndarray] = {}
        if options.mode in ADAPTER_MODES:
            self.adapters = {name: np.array(file[name]) for name in origin.first_pairs(options)}


class _Overlaid(TensorSource):
    """Parameters of a base with rows replaced."""

    def __init__(self, base: Mapping[str, np.ndarray], rows: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
        self._base, self._rows = base, rows

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._rows:
            return self._base[name]
        index, values = self._rows[name]
        array = np.array(self._base[name], np.float32)
        array[index] = values
        return array

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        yield from pieces_of(self._base, name) if name not in self._rows else (self[name],)

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


def _check_tensors(file: TensorFile, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Exactly these tensors, in float32, all numbers finite."""
    if odd := sorted(shapes.keys() ^ file.entries.keys()):
        what = "lacks" if odd[0] in shapes else "has an unexpected"
        raise CheckpointError(f"{file.path} {what} tensor {odd[0]!a}.", REMEDY)
    for name, shape in shapes.items():
        entry = file.entries[name]
        if entry.shape != tuple(shape) or entry.dtype != "F32":
            raise CheckpointError(
                f"{file.path}: {name} is {entry.dtype} {entry.shape}; F32 {tuple(shape)} is needed.", REMEDY
            )
        if bad := not_finite(file[name]):
            raise CheckpointError(f"{file.path}: {name} holds {bad} NaN or infinite values.", REMEDY)
