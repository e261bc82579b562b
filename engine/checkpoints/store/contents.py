"""What is in a store's folder: found by reading every manifest, each time.  There is no index that could go stale.

Also what follows from the manifests alone: which checkpoint a word refers to, which need which, and what a retention
rule would drop. Nothing here writes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from engine.checkpoints.store.manifest import (
    BEST_METRIC,
    ID,
    MANIFEST_FILE,
    MAX_BYTES,
    BaseReference,
    Manifest,
    NewerSchemaError,
    read_manifest,
)
from engine.checkpoints.store.writing import is_held
from engine.errors import CheckpointError
from engine.safe_reading import read_plain
from engine.tensor_file import TensorFile

TRASH, WORK, LOCK = "trash", "work", "lock"
RUNS = "runs"  # beside the store: where training saves the runs that are not finished
USE = re.compile(r"([0-9a-f]{32})\.([0-9a-zA-Z]+)\.lock\Z")  # in `work`: a running run needs this checkpoint
MAX_CHAIN = 64
SHORTEST_PREFIX = 4


@dataclass(frozen=True)
class Unreadable:
    """A folder in the store whose manifest cannot be read; `newer`: made by a later version, and left alone."""

    id: str
    folder: Path
    reason: str
    newer: bool
    base_id: str = ""


@dataclass(frozen=True)
class Trashed:
    """A checkpoint in the trash; `key` names it there.  Without a manifest it is damaged, or `newer`."""

    key: str
    id: str
    name: str
    manifest: Manifest | None
    deleted: str  # ISO 8601, UTC
    newer: bool = False  # made by a later version of the program, and left alone


@dataclass(frozen=True)
class Retention:
    """What is kept of a run: the newest, the best by held-out loss, the pinned, and what others depend on."""

    newest: int = 3
    best: int = 1


@dataclass(frozen=True)
class Survey:
    """All checkpoints by id, and what could not be read."""

    checkpoints: dict[str, Manifest]
    unreadable: tuple[Unreadable, ...]
    in_trash: frozenset[str] = frozenset()  # ids
    needed_by_runs: dict[str, set[str]] = field(default_factory=dict)  # ids, with the unfinished runs that need them

    @cached_property
    def _by_hash(self) -> dict[str, Manifest]:
        return {m.weights_sha256: m for m in reversed(self.checkpoints.values()) if m.kind == "whole"}

    def newest_first(self) -> list[Manifest]:
        return sorted(self.checkpoints.values(), key=lambda m: (m.created, m.id), reverse=True)

    def base_of(self, reference: BaseReference) -> Manifest | None:
        """The checkpoint that a reference points to: with its id and hash, or another full model with its hash."""
        named = self.checkpoints.get(reference.id)
        if named is not None and named.weights_sha256 == reference.sha256:
            return named
        return self._by_hash.get(reference.sha256)

    def lineage(self, manifest: Manifest) -> list[Manifest]:
        """The checkpoint, its base, and so on down to the full model."""
        chain = [manifest]
        while (reference := chain[-1].base) is not None:
            base = self.base_of(reference)
            if base is None:
                raise CheckpointError(self.missing_base(chain[-1]), "Import or restore the base.")
            if base in chain or len(chain) > MAX_CHAIN:
                raise CheckpointError(
                    f"{manifest.name} is its own base, through {len(chain)} checkpoints.", "It is damaged."
                )
            chain.append(base)
        return chain

    def missing_base(self, manifest: Manifest) -> str:
        """Why a delta has no base."""
        reference = manifest.base
        assert reference is not None
        if (named := self.checkpoints.get(reference.id)) is not None:
            return (
                f"{manifest.name} was made on weights with the hash {reference.sha256[:12]}…, but its base "
                f"{named.name} has weights with the hash {named.weights_sha256[:12]}…: it is a different model."
            )
        known = f"id {reference.id[:8]}, hash {reference.sha256[:12]}…"
        where = "is in the trash: restore it" if reference.id in self.in_trash else "is not in the store"
        return f"The base of {manifest.name} ({known}) {where}."

    def dependants(self, manifest: Manifest) -> list[Manifest]:
        """The deltas that need this one, directly or through others, oldest first."""
        found, grew = {manifest.id}, True
        bases = {m.id: self.base_of(m.base) for m in self.checkpoints.values() if m.base is not None}
        while grew:
            more = {id for id, base in bases.items() if base is not None and base.id in found} - found
            grew = bool(more)
            found |= more
        return [m for m in reversed(self.newest_first()) if m.id in found and m.id != manifest.id]

    def orphans_without(self, gone: Collection[str]) -> list[str]:
        """What would lose its base without the checkpoints `gone`, by name; other copies of the base count."""
        left = Survey({id: m for id, m in self.checkpoints.items() if id not in gone}, ())
        lost = [
            m.name
            for m in left.newest_first()
            if m.base is not None and self.base_of(m.base) is not None and left.base_of(m.base) is None
        ]
        newer = [f"{u.id} (made by a newer version)" for u in self.unreadable if u.base_id in gone]
        runs = [f"the unfinished run {run}" for id in gone for run in sorted(self.needed_by_runs.get(id, ()))]
        return lost + newer + runs


def survey(folder: Path) -> Survey:
    """Read every manifest in a store's folder."""
    checkpoints: dict[str, Manifest] = {}
    unreadable: list[Unreadable] = []
    try:
        with os.scandir(folder) as entries:
            found = sorted(e.name for e in entries if ID.match(e.name) and e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        found = []
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be read: {error.strerror or error}.") from error
    for id in found:
        try:
            checkpoints[id] = manifest_in(folder / id, id)
        except CheckpointError:
            if (folder / id).is_dir():  # else it was deleted meanwhile
                _look_again(folder, id, checkpoints, unreadable)
    in_trash = frozenset(id for _, id in _trash_keys(folder))
    return Survey(checkpoints, tuple(unreadable), in_trash, _needed_by_runs(folder))


def _needed_by_runs(folder: Path) -> dict[str, set[str]]:
    """Which checkpoints unfinished runs need: those saved beside the store, and those running now."""
    found: dict[str, set[str]] = {}
    for path in sorted((folder.parent / RUNS).glob("*.safetensors")):
        try:
            with TensorFile(path) as file:
                base = json.loads(file.metadata["about"])["base"]
        except (CheckpointError, KeyError, TypeError, ValueError):
            continue  # damaged: it cannot be resumed, so it needs nothing
        if isinstance(base, str):
            found.setdefault(base, set()).add(path.stem)
    for path in (folder / WORK).glob("*.lock"):
        if (use := USE.match(path.name)) and is_held(path):
            found.setdefault(use[1], set()).add(use[2])
    return found


def _look_again(folder: Path, id: str, checkpoints: dict[str, Manifest], unreadable: list[Unreadable]) -> None:
    """A checkpoint may have been deleted and restored while it was read: only what fails twice is unreadable."""
    try:
        checkpoints[id] = manifest_in(folder / id, id)
    except NewerSchemaError as error:
        unreadable.append(Unreadable(id, folder / id, str(error), True, error.base_id))
    except CheckpointError as error:
        if (folder / id).is_dir():
            unreadable.append(Unreadable(id, folder / id, str(error), False))


def manifest_in(folder: Path, id: str) -> Manifest:
    """The manifest of the checkpoint `id` in its folder."""
    path = folder / MANIFEST_FILE
    manifest = read_manifest(read_plain(path, MAX_BYTES), str(path))
    if manifest.id != id:
        raise CheckpointError(f"{path} belongs to another checkpoint ({manifest.id}).", "Was the folder renamed?")
    return manifest


def pick(which: str, checkpoints: Iterable[Manifest], where: str = "the store") -> Manifest:
    """The one checkpoint that a word refers to: an id, a name, or the start of an id or of a name."""
    everything = list(checkpoints)
    if not isinstance(which, str) or not which:
        raise CheckpointError("No checkpoint was named.", "Give its id or its name.")
    ways = (
        lambda m: m.id == which,
        lambda m: m.name == which,
        lambda m: len(which) >= SHORTEST_PREFIX and m.id.startswith(which),
        lambda m: m.name.startswith(which),
    )
    for way in ways:
        found = [m for m in everything if way(m)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(f"{m.name} ({m.id[:8]})" for m in found[:5])
            raise CheckpointError(f"{which!r} matches {len(found)} checkpoints in {where}: {names}.", "Give the id.")
    raise CheckpointError(
        f"There is no checkpoint {which!r} in {where}.", "`codecoil checkpoints list` shows all of them."
    )


def trashed(folder: Path) -> list[Trashed]:
    """What is in the trash, latest first."""
    found = []
    for key, id in _trash_keys(folder):
        moment = key.partition("-")[0]
        deleted = f"{moment[:4]}-{moment[4:6]}-{moment[6:11]}:{moment[11:13]}:{moment[13:]}Z"
        try:
            manifest = manifest_in(folder / TRASH / key, id)
            found.append(Trashed(key, id, manifest.name, manifest, deleted))
        except CheckpointError as error:
            found.append(Trashed(key, id, id, None, deleted, isinstance(error, NewerSchemaError)))
    return found


def _trash_keys(folder: Path) -> list[tuple[str, str]]:
    """Names of the folders in the trash, latest first, each with its id."""
    try:
        names = sorted(os.listdir(folder / TRASH), reverse=True)
    except OSError:
        return []
    pairs = [(name, name[23:]) for name in names if name[22:23] == "-"]
    return [(name, id) for name, id in pairs if ID.match(id)]


def expired(rule: Retention, store: Survey, run: str | None) -> list[Manifest]:
    """What a rule drops, run by run (or of one run).  Checkpoints without a run are never dropped."""
    if min(rule.newest, rule.best) < 0:
        raise CheckpointError("A retention rule cannot keep a negative number of checkpoints.")
    runs: dict[str, list[Manifest]] = {}
    for manifest in store.newest_first():
        if manifest.run and run in (None, manifest.run):
            runs.setdefault(manifest.run, []).append(manifest)
    going: dict[str, Manifest] = {}
    for members in runs.values():
        scored = sorted((m for m in members if BEST_METRIC in m.metrics), key=lambda m: m.metrics[BEST_METRIC])
        kept = {m.id for m in (*members[: rule.newest], *scored[: rule.best])} | {m.id for m in members if m.pinned}
        going.update({m.id: m for m in members if m.id not in kept})
    for id in (*(other.base_id for other in store.unreadable), *store.needed_by_runs):
        going.pop(id, None)
    while needed := _bases_among(going, store):
        for id in needed:
            del going[id]
    return list(going.values())


def not_needed(items: Iterable[Trashed], store: Survey, trash: Iterable[Trashed]) -> list[Trashed]:
    """Those items of the trash that this version knows and that nothing needs: no checkpoint, no unfinished run."""
    going = {item.key: item for item in items if not item.newer}
    staying = [*store.checkpoints.values(), *(t.manifest for t in trash if t.key not in going and t.manifest)]
    wanted_ids = {other.base_id for other in store.unreadable} | set(store.needed_by_runs)
    while True:
        left = Survey({m.id: m for m in staying}, ())
        wanted = {m.base.sha256 for m in staying if m.base is not None and left.base_of(m.base) is None}
        kept = [t for t in going.values() if t.manifest and (t.manifest.weights_sha256 in wanted or t.id in wanted_ids)]
        if not kept:
            return list(going.values())
        staying += [going.pop(item.key).manifest for item in kept]


def _bases_among(going: dict[str, Manifest], store: Survey) -> set[str]:
    """Which of `going` are the base of something that stays."""
    bases = (store.base_of(m.base) for m in store.checkpoints.values() if m.base is not None and m.id not in going)
    return {base.id for base in bases if base is not None and base.id in going}


def size_of(path: Path, look: Callable[[], None] = lambda: None) -> int:
    """Bytes of a file, or of all files in a folder; links count as nothing.  `look` may raise to stop."""
    look()
    try:
        if path.is_symlink():
            return 0
        if path.is_dir():
            return sum(size_of(path / name, look) for name in os.listdir(path))
        return path.stat().st_size
    except OSError:
        return 0
