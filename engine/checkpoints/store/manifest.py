"""What a checkpoint says about itself: `manifest.json`, the only truth about it.

Reading is strict: every key is known and every value is valid and within its limits, or the checkpoint is refused. A
manifest with a newer schema is not damaged: `NewerSchemaError` says that a newer version of the program can read it.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np

from engine.checkpoints.store import SNAPSHOT_TAG
from engine.checkpoints.store.delta import DeltaPart
from engine.errors import CheckpointError
from engine.model.modes import MODES as TRAINING_MODES
from engine.safe_reading import check_file_name, check_name, parse_json

SCHEMA = 1
MANIFEST_FILE = "manifest.json"
WEIGHTS_FILE, DELTA_FILE, CONFIG_FILE = "model.safetensors", "delta.safetensors", "config.json"
TOKENIZER_FILE, HISTORY_FILE, CARD_FILE, RESUME_FOLDER = "tokenizer.json", "history.jsonl", "card.md", "resume"
USUAL_FILES = frozenset([WEIGHTS_FILE, DELTA_FILE, CONFIG_FILE, TOKENIZER_FILE, HISTORY_FILE, CARD_FILE])
KINDS = ("whole", "delta")
MODES = ("base", *TRAINING_MODES, "merge", "import")
BEST_METRIC = "held_out_loss"  # what "the best" means: the lowest of this metric

MAX_BYTES, MAX_DEPTH = 4 << 20, 16
MAX_NOTE, MAX_TAGS, MAX_TAG, MAX_PARENTS, MAX_FILES, MAX_PARTS = 20_000, 64, 64, 64, 256, 65_536
ID = re.compile(r"[0-9a-f]{32}\Z")
SHA256 = re.compile(r"[0-9a-f]{64}\Z")
CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z\Z")
REMEDY = "Restore the checkpoint from a copy, or delete its folder."


class NewerSchemaError(CheckpointError):
    """A manifest of a later version of the program; `base_id` is its base, if that could be read."""

    def __init__(self, message: str, remedy: str = "", base_id: str = "") -> None:
        super().__init__(message, remedy)
        self.base_id = base_id


@dataclass(frozen=True)
class BaseReference:
    """The checkpoint that a delta is applied to, by id and by the hash of its weights (the hash decides)."""

    id: str
    sha256: str


@dataclass(frozen=True)
class FileRecord:
    """Hash and size that a file was written with."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Facts:
    """What a caller of `CheckpointStore.save` knows about a checkpoint; the store adds the rest."""

    name: str
    mode: str
    run: str = ""
    parents: tuple[str, ...] = ()
    step: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)  # summary by language and size; never what is in the files
    note: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False


@dataclass(frozen=True)
class Manifest:
    """One checkpoint.  `files` are all its files by name ("resume/..." for those one level down), without this one."""

    id: str
    name: str
    created: str  # ISO 8601, UTC, ends in Z
    kind: str
    mode: str
    files: dict[str, FileRecord]
    run: str = ""
    base: BaseReference | None = None
    parents: tuple[str, ...] = ()
    step: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False
    delta: tuple[DeltaPart, ...] = ()
    precision: str = "float32"
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        _check(self)

    @property
    def weights_file(self) -> str:
        return WEIGHTS_FILE if self.kind == "whole" else DELTA_FILE

    @property
    def weights_sha256(self) -> str:
        """The hash by which other checkpoints refer to this one's weights."""
        return self.files[self.weights_file].sha256

    @property
    def is_snapshot(self) -> bool:
        """Whether it was saved during a run, rather than as its result."""
        return SNAPSHOT_TAG in self.tags

    @property
    def nbytes(self) -> int:
        """Size of all files but the manifest."""
        return sum(record.size for record in self.files.values())

    def to_json(self) -> bytes:
        """The content of `manifest.json`."""
        content = asdict(self)
        content["delta"] = [part.to_json() for part in self.delta]
        return (json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def read_manifest(data: bytes, where: str) -> Manifest:
    """A manifest from the bytes of its file; `where` names it in messages."""
    content = parse_json(data, where, MAX_BYTES, MAX_DEPTH)
    if not isinstance(content, dict):
        raise CheckpointError(f"{where} is not a JSON object.", REMEDY)
    schema = content.get("schema")
    if type(schema) is int and schema > SCHEMA:
        base = content.get("base")
        base_id = base.get("id") if isinstance(base, dict) else ""
        raise NewerSchemaError(
            f"{where} has schema {schema}; this version supports {SCHEMA}.",
            "Use a newer version of Codecoil for this checkpoint.",
            base_id if isinstance(base_id, str) else "",
        )
    if schema != SCHEMA or type(schema) is not int:
        raise CheckpointError(f"{where} has an unknown schema: {_shown(schema)}.", REMEDY)
    _check_keys(content, where)
    try:
        content["files"] = {name: _record(record) for name, record in _object(content, "files").items()}
        content["base"] = None if content.get("base") is None else _base(content["base"])
        content["delta"] = tuple(DeltaPart.from_json(part) for part in _array(content, "delta"))
        content["parents"], content["tags"] = tuple(_array(content, "parents")), tuple(_array(content, "tags"))
        return Manifest(**content)
    except CheckpointError as error:
        raise CheckpointError(f"{where}: {error.message}", error.remedy or REMEDY) from error


def plain_value(value: Any) -> Any:
    """The value as it would come back from JSON: lists for tuples, Python's numbers for NumPy's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: plain_value(inner) for key, inner in value.items()}
    return [plain_value(inner) for inner in value] if isinstance(value, list | tuple) else value


def now() -> str:
    """The current time, in a manifest's format."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_NAMES = frozenset(f.name for f in fields(Manifest))
_NEEDED = ("id", "name", "created", "kind", "mode", "files")


def _check_keys(content: dict[str, Any], where: str) -> None:
    unknown = sorted(content.keys() - _NAMES)
    missing = [name for name in _NEEDED if name not in content]
    if unknown or missing:
        parts = [f"unknown: {', '.join(map(_shown, unknown[:5]))}"] if unknown else []
        parts += [f"missing: {', '.join(missing)}"] if missing else []
        raise CheckpointError(f"{where} is not a valid manifest; {'; '.join(parts)}.", REMEDY)


def _check(manifest: Manifest) -> None:
    """Every field is valid and within its limits; also for manifests that are made here."""
    _need(type(manifest.schema) is int and manifest.schema == SCHEMA, "schema", manifest.schema)
    _need(_matches(ID, manifest.id), "id", manifest.id)
    check_name(manifest.name, "The checkpoint's name")
    _need(_matches(CREATED, manifest.created), "created", manifest.created)
    _need(manifest.kind in KINDS, "kind", manifest.kind)
    _need(manifest.mode in MODES, "mode", manifest.mode)
    _need(_text(manifest.run, 128), "run", manifest.run)
    _need(_text(manifest.note, MAX_NOTE), "note", manifest.note)
    _need(_text(manifest.precision, 32) and manifest.precision != "", "precision", manifest.precision)
    _need(type(manifest.step) is int and 0 <= manifest.step < 1 << 53, "step", manifest.step)
    _need(type(manifest.pinned) is bool, "pinned", manifest.pinned)
    _need(len(manifest.tags) <= MAX_TAGS and all(_text(tag, MAX_TAG) and tag for tag in manifest.tags), "tags", "")
    _need(len(manifest.parents) <= MAX_PARENTS and all(_matches(ID, p) for p in manifest.parents), "parents", "")
    _need(len(manifest.delta) <= MAX_PARTS and all(isinstance(p, DeltaPart) for p in manifest.delta), "delta", "")
    for key, value in _entries(manifest.metrics, "metrics"):
        _need(type(value) in (int, float) and _finite(value), f"metric {key}", value)
    for what in ("options", "data"):
        _entries(getattr(manifest, what), what)
        _need(_plain(getattr(manifest, what), MAX_DEPTH - 2), what, "not a JSON value")
    _check_files(manifest)
    if (manifest.kind == "delta") != (manifest.base is not None):
        raise CheckpointError(f"It is {manifest.kind}, but names {'a' if manifest.base else 'no'} base.")
    if manifest.kind == "whole" and manifest.delta:
        raise CheckpointError("It is a full model, but lists parts of a delta.")


def _check_files(manifest: Manifest) -> None:
    _need(isinstance(manifest.files, dict) and len(manifest.files) <= MAX_FILES, "files", "")
    for name, record in manifest.files.items():
        if not isinstance(name, str) or not isinstance(record, FileRecord):
            raise CheckpointError("Its list of files is invalid.")
        if name not in USUAL_FILES:
            check_file_name(name.removeprefix(f"{RESUME_FOLDER}/"), "A file of the checkpoint")
            _need(name != MANIFEST_FILE and name != RESUME_FOLDER, "file", name)
    if manifest.weights_file not in manifest.files:
        raise CheckpointError(f"It lists no {manifest.weights_file}.")


def _record(content: Any) -> FileRecord:
    if not isinstance(content, dict) or content.keys() != {"sha256", "size"}:
        raise CheckpointError("One of its files has no hash or no size.")
    _need(_matches(SHA256, content["sha256"]), "sha256", content["sha256"])
    _need(type(content["size"]) is int and 0 <= content["size"] < 1 << 53, "size", content["size"])
    return FileRecord(content["sha256"], content["size"])


def _base(content: Any) -> BaseReference:
    if not isinstance(content, dict) or content.keys() != {"id", "sha256"}:
        raise CheckpointError("Its base has no id or no hash.")
    _need(_matches(ID, content["id"]), "id of the base", content["id"])
    _need(_matches(SHA256, content["sha256"]), "sha256 of the base", content["sha256"])
    return BaseReference(content["id"], content["sha256"])


def _object(content: dict[str, Any], name: str) -> dict[str, Any]:
    value = content.get(name, {})
    _need(isinstance(value, dict), name, value)
    return value


def _array(content: dict[str, Any], name: str) -> list[Any]:
    value = content.get(name, [])
    _need(isinstance(value, list), name, value)
    return value


def _entries(value: Any, what: str) -> list[tuple[str, Any]]:
    _need(isinstance(value, dict) and len(value) <= 4096 and all(_text(key, 256) for key in value), what, "no object")
    return list(value.items())


def _need(holds: bool, what: str, value: Any) -> None:
    if not holds:
        raise CheckpointError(f"Its {what} is invalid: {_shown(value)}." if value != "" else f"Its {what} is invalid.")


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.match(value) is not None


def _text(value: Any, most: int) -> bool:
    """A string of at most `most` characters that can be written as UTF-8."""
    return isinstance(value, str) and len(value) <= most and (value.isascii() or not _surrogates(value))


def _surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _plain(value: Any, depth: int) -> bool:
    """Whether a value survives a round trip through JSON unchanged."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        return _text(value, MAX_BYTES)
    if isinstance(value, int | float):
        return type(value) in (int, float) and _finite(value)
    if depth <= 0:
        return False
    if isinstance(value, dict):
        return all(_text(key, 256) and _plain(inner, depth - 1) for key, inner in value.items())
    return isinstance(value, list | tuple) and all(_plain(inner, depth - 1) for inner in value)


def _shown(value: Any) -> str:
    try:
        text = ascii(value)
    except ValueError:  # an integer with more digits than Python writes out
        text = type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."
