"""The half of a store that only reads: finding checkpoints, their files, their parameters and their relations.

No lock is needed: what has its name does not change. A checkpoint that is deleted while it is read is a readable error.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.checkpoints.store import checking
from engine.checkpoints.store.checking import Finding
from engine.checkpoints.store.contents import (
    TRASH,
    WORK,
    Survey,
    Trashed,
    Unreadable,
    manifest_in,
    pick,
    size_of,
    survey,
    trashed,
)
from engine.checkpoints.store.delta import Delta
from engine.checkpoints.store.loading import LoadedParameters, load
from engine.checkpoints.store.manifest import (
    CONFIG_FILE,
    DELTA_FILE,
    HISTORY_FILE,
    ID,
    TOKENIZER_FILE,
    BaseReference,
    Manifest,
)
from engine.checkpoints.store.progress import Report
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.files import read_config_file
from engine.tensor_file import TensorFile


@dataclass(frozen=True)
class DiskUse:
    """Bytes on disk: checkpoints, trash, what killed writers left behind, and what is free."""

    checkpoints: int
    trash: int
    leftovers: int
    free: int


class StoreReader:
    """Checkpoints in a folder, read-only.  `which` is always anything that `get` understands."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def survey(self) -> Survey:
        """Everything in the store, from one reading of the folder."""
        return survey(self.folder)

    def list(self) -> list[Manifest]:
        """All checkpoints that can be read, newest first."""
        return self.survey().newest_first()

    def unreadable(self) -> list[Unreadable]:
        """What cannot be read: damaged, or made by a newer version of the program."""
        return list(self.survey().unreadable)

    def get(self, which: str) -> Manifest:
        """By id, by a unique name, or by the start of an id (4 characters or more) or of a name."""
        if isinstance(which, str) and ID.match(which) and (self.folder / which).is_dir():
            return manifest_in(self.folder / which, which)  # others need not be read
        return pick(which, self.list())

    def folder_of(self, which: str) -> Path:
        return self.folder / self.get(which).id

    def config(self, which: str) -> Architecture:
        return read_config_file(self.folder_of(which) / CONFIG_FILE)

    def tokenizer_path(self, which: str) -> Path | None:
        """The tokenizer.json of a checkpoint: its own, or that of its base; None if there is none."""
        manifest = self.get(which)
        for owner in [manifest] if TOKENIZER_FILE in manifest.files else self.lineage(manifest.id):
            if TOKENIZER_FILE in owner.files:
                return self.folder / owner.id / TOKENIZER_FILE
        return None

    def history(self, which: str) -> list[dict[str, Any]]:
        manifest = self.get(which)
        path = self.folder / manifest.id / HISTORY_FILE
        return checking.read_history(path) if HISTORY_FILE in manifest.files else []

    def load_parameters(self, which: str, *, pairs: bool = True) -> LoadedParameters:
        """All parameters in float32, from mapped files, deltas applied on the way; low-rank pairs only with `pairs`.

        Names, shapes and sizes are checked; hashes and finiteness only by `verify`, which has to read every byte.
        """
        return load(self.lineage(which), self.folder, pairs)

    def load_delta(self, which: str) -> Delta:
        """Parts and mapped tensors of a delta, without its base."""
        manifest = self.get(which)
        if manifest.kind != "delta":
            raise CheckpointError(f"{manifest.name} is a full model, not a delta.")
        return Delta(manifest.delta, TensorFile(self.folder / manifest.id / DELTA_FILE))

    def has_base(self, reference: BaseReference) -> bool:
        """Whether the base that a delta refers to is in the store."""
        try:
            return self.get(reference.id).weights_sha256 == reference.sha256 or self._found(reference)
        except CheckpointError:
            return self._found(reference)

    def lineage(self, which: str) -> list[Manifest]:
        """The checkpoint, its base, and so on down to the full model."""
        manifest = self.get(which)
        return [manifest] if manifest.base is None else self.survey().lineage(manifest)

    def dependants(self, which: str) -> list[Manifest]:
        """The deltas that need this one, directly or through others, oldest first."""
        return self.survey().dependants(self.get(which))

    def runs_on(self, which: str) -> list[str]:
        """The unfinished runs that need this one."""
        return sorted(self.survey().needed_by_runs.get(self.get(which).id, ()))

    def verify(self, which: str, report: Report | None = None) -> list[Finding]:
        """Everything that is wrong with a checkpoint and its bases; an empty list means that it is intact.

        `report` gets the bytes read so far, and may raise to stop it.
        """
        found = self.survey()
        for other in found.unreadable:
            if other.id == which:
                return [checking.unreadable_manifest(other.reason)]
        return checking.verify(pick(which, found.newest_first()), found, self.folder, report)

    def trash(self) -> list[Trashed]:
        """What was deleted, latest first."""
        return trashed(self.folder)

    def disk_use(self, look: Callable[[], None] = lambda: None) -> DiskUse:
        """Bytes of everything in the store's folder.  `look` is called for each file and may raise to stop."""
        parts = (self.folder, self.folder / TRASH, self.folder / WORK)
        total, trash, leftovers = (size_of(path, look) for path in parts)
        above = next((path for path in (self.folder, *self.folder.absolute().parents) if path.is_dir()), Path())
        return DiskUse(total - trash - leftovers, trash, leftovers, shutil.disk_usage(above).free)

    def _found(self, reference: BaseReference) -> bool:
        return self.survey().base_of(reference) is not None
