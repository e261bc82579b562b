"""Verifying a checkpoint: everything that is wrong with it.  Nothing is changed and nothing is raised."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.checkpoints.store.contents import Survey
from engine.checkpoints.store.delta import check_part
from engine.checkpoints.store.loading import PLAIN_TYPES, is_plain, parameter_pieces, shape_problems
from engine.checkpoints.store.manifest import (
    CONFIG_FILE,
    HISTORY_FILE,
    MANIFEST_FILE,
    RESUME_FOLDER,
    TOKENIZER_FILE,
    FileRecord,
    Manifest,
)
from engine.checkpoints.store.progress import Report, Tally
from engine.errors import CheckpointError, CodecoilError
from engine.model.architectures.architecture import Architecture
from engine.model.files import read_config_file
from engine.safe_reading import open_plain, parse_json, read_plain
from engine.tensor_file import TensorFile, not_finite

CHUNK = 4 << 20
MAX_HISTORY_BYTES, MAX_TOKENIZER_BYTES = 256 << 20, 128 << 20


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a checkpoint; `file` is "" if it is not about one file."""

    file: str
    words: str


def verify(which: Manifest, store: Survey, folder: Path, report: Report | None = None) -> list[Finding]:
    """What is wrong with a checkpoint and its bases; `folder` is the store's."""
    tally = Tally(sum(record.size for one in _chain(which, store) for record in one.files.values()), report)
    findings = list(_own_findings(which, folder, tally))
    config = _config(which, folder)
    if config is not None:
        findings += _tensor_findings(which, config, folder)
    try:
        chain = store.lineage(which)
    except CheckpointError as error:
        return [*findings, Finding("", error.message), *_tokenizer_findings([which], config, folder)]
    for base in chain[1:]:
        findings += [Finding(f.file, f"Its base {base.name}: {f.words}") for f in _own_findings(base, folder, tally)]
        base_config = _config(base, folder)
        if config is not None and base_config is not None and _sizes(base_config) != _sizes(config):
            findings.append(Finding(CONFIG_FILE, f"It does not describe the same model as its base {base.name}."))
    return findings + _tokenizer_findings(chain, config, folder)


def unreadable_manifest(reason: str) -> Finding:
    return Finding(MANIFEST_FILE, reason)


def _chain(which: Manifest, store: Survey) -> list[Manifest]:
    """The checkpoint and its bases, as far as they exist."""
    try:
        return store.lineage(which)
    except CheckpointError:
        return [which]


def hash_of(path: Path, tally: Tally | None = None) -> FileRecord:
    """Hash and size of a regular file."""
    digest, size = hashlib.sha256(), 0
    descriptor = open_plain(path)
    try:
        while chunk := os.read(descriptor, CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if tally is not None:
                tally.add(len(chunk))
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    finally:
        os.close(descriptor)
    return FileRecord(digest.hexdigest(), size)


def read_history(path: Path) -> list[dict]:
    """The lines of a `history.jsonl`."""
    lines = []
    for number, line in enumerate(read_plain(path, MAX_HISTORY_BYTES).splitlines(), start=1):
        content = parse_json(line, f"Line {number} of {path}", 1 << 20, 16)
        if not isinstance(content, dict):
            raise CheckpointError(f"Line {number} of {path} is not a JSON object.")
        lines.append(content)
    return lines


def _own_findings(manifest: Manifest, folder: Path, tally: Tally) -> Iterator[Finding]:
    """Files, hashes, and what can be read without looking at a tensor."""
    own = folder / manifest.id
    for name, record in manifest.files.items():
        path = own / name
        if not path.is_symlink() and not path.exists():
            yield Finding(name, "The file is missing.")
            continue
        try:
            found = hash_of(path, tally)
        except CheckpointError as error:
            yield Finding(name, error.message)
            continue
        if found.size != record.size:
            yield Finding(name, f"Its size is {found.size} bytes; it was written with {record.size}.")
        elif found.sha256 != record.sha256:
            yield Finding(name, "Its content has changed since it was written (the hash differs).")
    for name, read in ((CONFIG_FILE, read_config_file), (HISTORY_FILE, read_history)):
        if (own / name).exists():
            try:
                read(own / name)
            except CheckpointError as error:
                yield Finding(name, error.message)
    if CONFIG_FILE not in manifest.files:
        yield Finding(CONFIG_FILE, "The manifest lists no configuration.")
    for name in manifest.files:
        if name.startswith(f"{RESUME_FOLDER}/") and name.endswith(".safetensors") and (own / name).exists():
            yield from _opened(own / name, name)[1]


def _opened(path: Path, name: str) -> tuple[TensorFile | None, list[Finding]]:
    try:
        return TensorFile(path), []
    except CheckpointError as error:
        return None, [Finding(name, error.message)]


def _config(manifest: Manifest, folder: Path) -> Architecture | None:
    try:
        return read_config_file(folder / manifest.id / CONFIG_FILE)
    except CheckpointError:
        return None  # reported by `_own_findings`


def _sizes(config: Architecture) -> tuple:
    return tuple(config.parameter_shapes().items())


def _tensor_findings(manifest: Manifest, config: Architecture, folder: Path) -> list[Finding]:
    """Names, shapes, types and finiteness of the weights."""
    name = manifest.weights_file
    if not (folder / manifest.id / name).exists():
        return []
    file, findings = _opened(folder / manifest.id / name, name)
    if file is None:
        return findings
    try:
        words = _delta_words(manifest, config, file) if manifest.kind == "delta" else _whole_words(config, file)
        return [Finding(name, text) for text in words]
    except CodecoilError as error:
        return [Finding(name, error.message)]
    finally:
        file.close()


def _whole_words(config: Architecture, file: TensorFile) -> Iterator[str]:
    problems = shape_problems(file, config)
    yield from problems
    plain = is_plain(file)
    if plain or not problems:
        for name in file.entries if plain else config.parameter_shapes():
            yield from _finite_words(name, file.pieces(name) if plain else parameter_pieces(file, name))


def _delta_words(manifest: Manifest, config: Architecture, file: TensorFile) -> Iterator[str]:
    shapes = config.parameter_shapes()
    found = {key: entry.shape for key, entry in file.entries.items()}
    used: set[str] = set()
    for part in manifest.delta:
        used.update(part.keys)
        if part.parameter not in shapes:
            yield f"The delta changes {part.parameter}, which the model does not have."
            continue
        try:
            check_part(part, shapes[part.parameter], found)
        except CheckpointError as error:
            yield error.message
            continue
        if part.kind == "indexed_rows":
            yield from _index_words(part.index, file, shapes[part.parameter][0])
    for key, entry in file.entries.items():
        if key not in used:
            yield f"The tensor {key} belongs to no part of the delta."
        elif not any(key == part.index for part in manifest.delta):
            if entry.dtype not in PLAIN_TYPES:
                yield f"{key} is stored as {entry.dtype}; a delta holds floats."
            else:
                yield from _finite_words(key, file.pieces(key))


def _index_words(key: str, file: TensorFile, rows: int) -> Iterator[str]:
    if file.entries[key].dtype not in ("I32", "I64"):
        yield f"{key} is stored as {file.entries[key].dtype}; row numbers must be integers."
    elif (index := file[key]).size and not (index.min() >= 0 and index.max() < rows):
        yield f"{key} names a row beyond the last ({rows} rows)."
    elif np.unique(index).size != index.size:
        yield f"{key} names a row twice."


def _finite_words(name: str, pieces: Iterable[np.ndarray]) -> Iterator[str]:
    if count := sum(map(not_finite, pieces)):
        yield f"{name} holds {count} NaN or infinite values."


def _tokenizer_findings(chain: list[Manifest], config: Architecture | None, folder: Path) -> list[Finding]:
    """Whether the tokenizer, which may be that of a base, can be read and fits the model."""
    owner = next((manifest for manifest in chain if TOKENIZER_FILE in manifest.files), None)
    if owner is None or not (folder / owner.id / TOKENIZER_FILE).exists():
        return []
    from engine.corpus.tokens.tokenizer import Tokenizer  # slow to import, and only verifying needs it
    from engine.corpus.tokens.tokenizer_trial import try_tokenizer

    try:
        data = read_plain(folder / owner.id / TOKENIZER_FILE, MAX_TOKENIZER_BYTES)
        content = parse_json(data, TOKENIZER_FILE, MAX_TOKENIZER_BYTES, 64)
        if not isinstance(content, dict):
            return [Finding(TOKENIZER_FILE, "It is not a JSON object.")]
        tokenizer = Tokenizer(content, TOKENIZER_FILE)
        try_tokenizer(tokenizer)
    except CodecoilError as error:
        return [Finding(TOKENIZER_FILE, error.message)]
    if config is not None and not tokenizer.fits(config.vocab_size):
        words = f"The tokenizer has {tokenizer.vocab_size} entries, more than the model's {config.vocab_size}."
        return [Finding(TOKENIZER_FILE, words)]
    return []


def history_lines(history: Iterable[dict]) -> bytes:
    """The content of a `history.jsonl`."""
    try:
        lines = [json.dumps(line, ensure_ascii=False, allow_nan=False) for line in history]
        return "".join(f"{line}\n" for line in lines).encode()
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"The history cannot be written: {error}.", "It must hold only JSON values and finite numbers."
        ) from error
