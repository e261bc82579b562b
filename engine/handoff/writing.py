"""The folder of a hand-off: it appears complete or not at all, and only where nothing else is."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engine.checkpoints.formats import hugging_face
from engine.checkpoints.formats.output import export_folder, json_bytes
from engine.checkpoints.store.manifest import BaseReference
from engine.checkpoints.store.progress import Counted, Tally
from engine.checkpoints.store.writing import FolderWriter, in_words, need_space
from engine.corpus.repository import Repository
from engine.errors import InputError
from engine.handoff import training_data
from engine.handoff.memory_numbers import memory_numbers
from engine.handoff.preparing import HandoffPlan, Prepared, prepare
from engine.handoff.record import RUN_FILE, START_FILE, Record
from engine.handoff.trained_parts import start_tensors, trained_parts
from engine.handoff.words import commands, data_card, leaves, readme, resource
from engine.memory.mixing import SURE
from engine.model.modes import ADAPTER_MODES
from engine.tensor_file import TensorSource, pieces_of
from engine.train.options import TrainingOptions

DATA_CARD = "data/README.md"
COPIED = ("train.py", "requirements.txt", "fsdp.yaml")
SPARE = 16 << 20  # bytes for all that is small

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class HandedOff:
    """What was written.  `options`: as resolved.  `rows`: training windows; `leaves`: what it gives away, in words."""

    id: str
    path: Path
    base: str
    options: TrainingOptions
    trained_parameters: int
    rows: int
    held_out_rows: int
    nbytes: int
    commands: dict[str, list[str]]
    leaves: list[str]


def hand_off(plan: HandoffPlan, out: Path, progress: Progress = lambda done, total, what: None) -> HandedOff:
    """Write the folder `out`, which must be new or empty.  What `progress` raises ends it, and leaves nothing."""
    check_place(plan, out)
    with ExitStack() as held:
        return _write(prepare(plan, held, progress), out, progress)


def check_place(plan: HandoffPlan, out: Path) -> None:
    """Refuse a folder where the next scan would find it, or where something is."""
    where, root = out.resolve(), plan.root.resolve()
    repository = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    if where.is_relative_to(repository):
        raise InputError(
            f"{out} is inside the repository: it would be learned with it, and could be committed.",
            "Choose a folder outside.",
        )
    if where.is_relative_to(plan.data_folder.resolve()):
        raise InputError(f"{out} is inside the data folder, which belongs to Codecoil.", "Choose another folder.")
    if out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} is not empty.", "Choose a new or empty folder.")


def _write(prepared: Prepared, out: Path, progress: Progress) -> HandedOff:
    config, options = prepared.config, prepared.options
    precision = _precision(prepared)
    with in_words(f"{out} cannot be written"):
        out.parent.mkdir(parents=True, exist_ok=True)
    width = hugging_face.PRECISIONS[precision].itemsize
    nbytes = width * config.parameter_count + training_data.train_bytes(options) + SPARE
    need_space(out.parent, nbytes, f"{out} cannot be written")
    memory = _memory(prepared, progress) if prepared.plan.with_memory else None
    parts = trained_parts(config, options, prepared.token_ids)
    with export_folder(out, ()) as writer:
        _write_base(prepared, writer, precision, progress)
        train = training_data.write_train(writer, prepared.windows, options, partial(progress, what="Writing windows"))
        held_out = training_data.write_held_out(writer, prepared.held_out, memory)
        schedule = training_data.write_schedule(writer, options)
        pairs = prepared.origin.first_pairs(options) if options.mode in ADAPTER_MODES else {}
        writer.write_tensors(START_FILE, start_tensors(config, pairs, prepared.token_ids))
        read = {name: record.sha256 for name, record in writer.records.items()}
        run = json_bytes(
            {
                "schema": 1,
                "handoff": prepared.id,
                "base": prepared.origin.base.name,
                "options": dataclasses.asdict(options),
                "document_end": prepared.document_end,
                "trained": list(parts.parts),
                "without_decay": list(parts.without_decay),
                "data": {
                    "train": train,
                    "held_out": held_out,
                    "schedule": schedule,
                    "memory": {"confidence": SURE.tolist()} if memory is not None else None,
                },
                "files": read,
            }
        )
        writer.write_file(RUN_FILE, run)
        rows = sum(file["rows"] for file in held_out)
        writer.write_file(DATA_CARD, data_card(prepared, rows).encode())
        writer.write_file("README.md", readme(prepared).encode())
        for name in COPIED:
            writer.write_file(name, resource(name).encode())
        size = sum(record.size for record in writer.records.values())
        _record(prepared, run).save(prepared.plan.data_folder)
    return HandedOff(
        prepared.id,
        out,
        prepared.origin.base.name,
        options,
        sum(int(np.prod(shape)) for shape in parts.shapes.values()),
        sum(file["rows"] for file in train),
        rows,
        size,
        commands(),
        leaves(prepared),
    )


def _record(prepared: Prepared, run: bytes) -> Record:
    base = prepared.origin.base
    return Record(
        prepared.id,
        hashlib.sha256(run).hexdigest(),
        BaseReference(base.id, base.weights_sha256),
        prepared.tokenizer.digest,
        prepared.options,
        prepared.learned,
        prepared.token_ids,
        prepared.fim.is_active,
        tuple(document.digest for document in prepared.corpus.validation_documents),
        tuple(document.digest for document in prepared.corpus.scoring_documents),
    )


def _precision(prepared: Prepared) -> str:
    """The one in which nothing of the base is lost."""
    stored = prepared.origin.root.precision
    plain = prepared.origin.base.kind == "whole" and stored in hugging_face.PRECISIONS
    return stored if plain and not prepared.fim.is_active else "float32"


def _write_base(prepared: Prepared, writer: FolderWriter, precision: str, progress: Progress) -> None:
    """The base as the run begins: with rows of new tokens, and without the low-rank pairs that are trained further."""
    config, origin = prepared.config, prepared.origin
    separate = origin.continues_pairs(prepared.options)
    table = prepared.first_embedding()
    with prepared.store.load_parameters(origin.base.id, pairs=not separate) as parameters:
        total = 4 * config.parameter_count
        counted = Counted(parameters, Tally(total, in_mib(progress, "Writing the base")))
        content = counted if table is None else _With(counted, config.embedding_name, table)
        path = prepared.store.tokenizer_path(origin.base.id)
        hugging_face.write_files(writer, "base/", config, content, path, precision)


def in_mib(progress: Progress, what: str) -> Callable[[int, int], None]:
    """Progress in bytes, reported in MiB."""
    return lambda done, total: progress(done >> 20, -(-total >> 20), f"{what}, in MiB")


class _With(TensorSource):
    """Tensors with one replaced."""

    def __init__(self, tensors: Mapping[str, np.ndarray], name: str, array: np.ndarray) -> None:
        self._tensors, self._own = tensors, {name: array}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._own[name] if name in self._own else self._tensors[name]

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        return pieces_of(self._own if name in self._own else self._tensors, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def _memory(prepared: Prepared, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    plan = prepared.plan
    folder = Repository(plan.root, plan.data_folder).folder
    return memory_numbers(prepared.corpus, prepared.held_out, folder, prepared.config.parameter_count, progress)


def as_json(done: HandedOff) -> dict[str, Any]:
    """For programs."""
    return {**dataclasses.asdict(done), "path": str(done.path)}
