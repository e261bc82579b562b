"""The checkpoint store: a folder of checkpoints that loses nothing.

    store/
        <id>/                one checkpoint: manifest.json and the files that it lists
        trash/<time>-<id>/   what was deleted, until the trash is emptied
        work/                what is being written; after a kill, leftovers for `gc` to remove
        lock                 held by a program that changes something, for the length of a rename

Files never change once they have their name, except `manifest.json`, which is replaced atomically. So readers need no
lock, and a kill at any instant leaves the old or the new.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from engine.checkpoints.store import contents as store_contents
from engine.checkpoints.store.card import model_card
from engine.checkpoints.store.checking import Finding, history_lines
from engine.checkpoints.store.contents import TRASH, WORK, Retention, Trashed, Unreadable, pick
from engine.checkpoints.store.delta import Delta, check_part
from engine.checkpoints.store.manifest import (
    BEST_METRIC,
    CARD_FILE,
    CONFIG_FILE,
    DELTA_FILE,
    HISTORY_FILE,
    RESUME_FOLDER,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    BaseReference,
    Facts,
    FileRecord,
    Manifest,
    now,
    plain_value,
)
from engine.checkpoints.store.moves import StoreMoves
from engine.checkpoints.store.reading import DiskUse, StoreReader
from engine.checkpoints.store.recitation import RECITATION, Recitation
from engine.checkpoints.store.writing import Disk, FolderWriter, in_words, need_space
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.files import METADATA
from engine.safe_reading import MAX_NAME, MAX_NAME_BYTES

__all__ = ["CheckpointStore", "DiskUse", "Facts", "Finding", "Manifest", "Retention", "Trashed", "Unreadable"]

Resume = Mapping[str, bytes | Mapping[str, np.ndarray]]
Same = Callable[[Manifest], bool]
PLACEHOLDER = FileRecord("0" * 64, 0)


class CheckpointStore(StoreReader):
    """All checkpoints in one folder.  Any number of programs may use it at once."""

    def __init__(self, folder: Path | str, disk: Disk | None = None) -> None:
        super().__init__(folder)
        self._work = StoreMoves(self.folder, disk or Disk())

    # ---- writing

    def save(
        self,
        facts: Facts,
        *,
        config: Architecture,
        parameters: Mapping[str, np.ndarray],
        tokenizer: bytes | Path | None = None,
        precision: str = "float32",
        history: Iterable[dict[str, Any]] = (),
        resume: Resume | None = None,
        same: Same | None = None,
    ) -> Manifest:
        """Write a full checkpoint.  Parameters, of any float type, are read a piece at a time.

        `tokenizer`: content or path of a tokenizer.json.  `resume`: files by name, as bytes or as tensors.
        `same`: recognises an equal checkpoint that another program saved meanwhile; it is returned instead.
        """
        shapes = config.parameter_shapes()
        present = set(parameters)
        if missing := [name for name in shapes if name not in present]:
            raise CheckpointError(f"The parameter {missing[0]} is missing, so the model cannot be saved.")

        content = parameters, METADATA, {name: ("F32", shape) for name, shape in shapes.items()}
        nbytes = 4 * config.parameter_count
        if precision != "float32":
            from engine.checkpoints.combining.packed_models import PackedSource, packed_bytes  # heavy, seldom needed

            packed = PackedSource(parameters, config, precision)
            content, nbytes = (packed, packed.metadata, packed.described), packed_bytes(config, precision)
        draft = self._draft(facts, "whole", precision=precision)
        if self.folder.is_dir():
            need_space(self.folder, nbytes, f"{facts.name} cannot be saved")

        def weights(writer: FolderWriter) -> None:
            writer.write_tensors(WEIGHTS_FILE, *content)

        return self._write(draft, config, weights, tokenizer, history, resume, same)

    def save_delta(
        self,
        facts: Facts,
        *,
        base: str,
        delta: Delta,
        tokenizer: bytes | Path | None = None,
        history: Iterable[dict[str, Any]] = (),
        resume: Resume | None = None,
    ) -> Manifest:
        """Write a delta on `base`.  Its configuration is the base's, and so is its tokenizer unless one is given."""
        below = self.get(base)
        config = self.config(below.id)
        shapes, found = config.parameter_shapes(), {key: array.shape for key, array in delta.tensors.items()}
        for part in delta.parts:
            if part.parameter not in shapes:
                raise CheckpointError(f"The delta changes {part.parameter}, which {below.name} does not have.")
            check_part(part, shapes[part.parameter], found)
        reference = BaseReference(below.id, below.weights_sha256)
        draft = self._draft(facts, "delta", base=reference, delta=delta.parts)
        return self._write(
            draft,
            config,
            lambda writer: writer.write_tensors(DELTA_FILE, delta.tensors, METADATA),
            tokenizer,
            history,
            resume,
        )

    def adopt(self, folder: Path, manifest: Manifest) -> Manifest:
        """Copy the files of `manifest` from `folder` (an unpacked bundle, say) into the store, checking every hash.

        Safe to repeat: a checkpoint with this id and these weights that is already here is returned. If the id is taken
        by something else, the new one gets another id.
        """
        known = self.survey().checkpoints.get(manifest.id)
        if known is not None and known.weights_sha256 == manifest.weights_sha256:
            return known
        if (self.folder / manifest.id).exists():
            manifest = dataclasses.replace(manifest, id=uuid.uuid4().hex)
        return self._copy(folder, manifest)

    def in_use(self, which: str, run: str) -> AbstractContextManager[None]:
        """Mark a checkpoint as needed by a run: it cannot be deleted until this is left or the process ends."""
        return self._work.in_use(self.get(which).id, run)

    # ---- changing

    def rename(self, which: str, name: str) -> Manifest:
        return self._change(which, lambda manifest: dataclasses.replace(manifest, name=name))

    def annotate(
        self, which: str, *, note: str | None = None, tags: Iterable[str] | None = None, pinned: bool | None = None
    ) -> Manifest:
        """Change what is given; the rest stays."""
        given = {"note": note, "tags": None if tags is None else tuple(dict.fromkeys(tags)), "pinned": pinned}
        given = {key: value for key, value in given.items() if value is not None}
        return self._change(which, lambda manifest: dataclasses.replace(manifest, **given))

    def keep_recitation(self, which: str, found: Recitation) -> Manifest:
        """Keep what the weights were found to recite; a card that is written from now on says it."""
        return self._change(
            which, lambda manifest: dataclasses.replace(manifest, data={**manifest.data, RECITATION: found.to_json()})
        )

    def keep_scores(self, which: str, scores: Mapping[str, float]) -> Manifest:
        """Keep what was measured after it was saved, besides what its run has measured."""
        return self._change(
            which, lambda manifest: dataclasses.replace(manifest, metrics={**manifest.metrics, **scores})
        )

    def duplicate(self, which: str, name: str) -> Manifest:
        """A copy with another name; its parent is what it was copied from."""
        source = self.get(which)
        new = {"id": uuid.uuid4().hex, "name": name, "created": now(), "parents": (source.id,), "pinned": False}
        return self._copy(self.folder / source.id, dataclasses.replace(source, **new))

    def convert(
        self, which: str, precision: str = "float32", name: str | None = None, loss: float | None = None
    ) -> Manifest:
        """A copy that needs no base, in any precision; if there is one already (or it is one itself), that is returned.

        `loss`: the held-out loss that was measured in this precision. Without it a copy in fewer bits has no scores,
        because those of its source are not its own.
        """
        source = self.get(which)
        if source.kind == "whole" and source.precision == precision:
            return source

        def same(known: Manifest) -> bool:
            sign = (known.kind, known.precision, known.parents, known.mode)
            return sign == ("whole", precision, (source.id,), source.mode) and name in (None, known.name)

        if (copy := next(filter(same, self.list()), None)) and loss in (None, copy.metrics.get(BEST_METRIC)):
            return copy
        names = {field.name for field in dataclasses.fields(Facts)} - {"name", "parents", "pinned"}
        known = {key: getattr(source, key) for key in names}
        if precision != "float32":
            known["metrics"] = {} if loss is None else {BEST_METRIC: loss}
            known["data"] = {key: value for key, value in source.data.items() if key != RECITATION}  # of other weights
        suffix = " (full)" if precision == "float32" else f" ({precision})"
        facts = Facts(name=name or with_suffix(source.name, suffix), parents=(source.id,), **known)
        tokenizer = self.tokenizer_path(source.id)
        with self.load_parameters(source.id) as parameters:
            history = self.history(source.id)
            return self.save(
                facts,
                config=parameters.config,
                parameters=parameters,
                tokenizer=tokenizer,
                precision=precision,
                history=history,
            )

    def delete(self, which: str, force: bool = False) -> Trashed:
        """Move to the trash.  Refused while other checkpoints or unfinished runs need it, unless `force`."""
        with in_words("The checkpoint cannot be deleted"), self._work.locked():
            found = self.survey()
            damaged = any(other.id == which and not other.newer for other in found.unreadable)
            manifest = None if damaged else self.get(which)
            id = manifest.id if manifest else which
            lost = [] if force or manifest is None else found.orphans_without({id})
            if manifest is not None and lost:
                raise CheckpointError(
                    f"{manifest.name} is needed by {', '.join(lost[:5])}"
                    f"{f' and {len(lost) - 5} more' if len(lost) > 5 else ''}.",
                    "Delete or finish those first, or make them independent (codecoil checkpoints convert).",
                )
            return self._to_trash(id, manifest)

    def trash(self) -> list[Trashed]:
        return store_contents.trashed(self.folder)

    def restore(self, which: str) -> Manifest:
        """Restore from the trash, by key, id, name or the start of one."""
        with in_words("The checkpoint cannot be restored"), self._work.locked():
            item = self._find_trashed(which)
            if (self.folder / item.id).exists():
                raise CheckpointError(f"{item.name} is already in the store.", "Delete that one first.")
            if item.manifest is None:
                raise CheckpointError(
                    f"{item.id} in the trash is damaged or was made by a newer version; it cannot be restored."
                )
            self._work.move(self.folder / TRASH / item.key, self.folder / item.id)
            return item.manifest

    def empty_trash(self, which: Iterable[str] | None = None, force: bool = False) -> int:
        """Delete permanently, all or some; what is still needed stays, unless `force`.  Returns the bytes freed."""
        gone: list[Path] = []
        with in_words("The trash cannot be emptied"), self._work.locked():
            items = self.trash() if which is None else [self._find_trashed(word) for word in which]
            for item in items if force else store_contents.not_needed(items, self.survey(), self.trash()):
                self._work.ensure(self.folder / WORK)
                gone.append(self.folder / WORK / uuid.uuid4().hex)
                self._work.move(self.folder / TRASH / item.key, gone[-1])
        return sum(map(self._work.discard, gone))

    def apply_retention(self, rule: Retention, run: str | None = None, dry_run: bool = False) -> list[Manifest]:
        """Move to the trash what the rule does not keep, run by run; what has no run stays.  Returns what was moved."""
        if dry_run:
            return store_contents.expired(rule, self.survey(), run)
        with in_words("Old checkpoints cannot be deleted"), self._work.locked():
            going = store_contents.expired(rule, self.survey(), run)
            for manifest in going:
                self._to_trash(manifest.id, manifest)
        return going

    def gc(self) -> int:
        """Remove what killed writers left behind, not what is being written now.  Returns the bytes freed."""
        if not self.folder.is_dir():
            return 0
        with in_words("Leftovers cannot be removed"), self._work.locked():
            return sum(map(self._work.discard, self._work.leftovers()))

    # ---- inside

    def _find_trashed(self, which: str) -> Trashed:
        items = self.trash()
        for item in items:
            if which in (item.key, item.id):
                return item
        chosen = pick(which, [item.manifest for item in items if item.manifest], "the trash")
        return next(item for item in items if item.manifest is chosen)

    def _draft(self, facts: Facts, kind: str, **more: Any) -> Manifest:
        """A manifest whose files are still to be written; also checks the caller's facts."""
        known = {field.name: getattr(facts, field.name) for field in dataclasses.fields(facts)}
        known |= {key: plain_value(known[key]) for key in ("metrics", "options", "data")}
        known |= {key: tuple(known[key]) for key in ("parents", "tags")}
        files = {WEIGHTS_FILE if kind == "whole" else DELTA_FILE: PLACEHOLDER}
        return Manifest(id=uuid.uuid4().hex, created=now(), kind=kind, files=files, **known, **more)

    def _write(
        self,
        draft: Manifest,
        config: Architecture,
        weights: Callable[[FolderWriter], object],
        tokenizer: bytes | Path | None,
        history: Iterable[dict[str, Any]],
        resume: Resume | None,
        same: Same | None = None,
    ) -> Manifest:
        base = self.get(draft.base.id) if draft.base else None
        keys = {**config.to_hugging_face(), "dtype": "float32"}
        keys.pop("torch_dtype", None)
        with self._work.writing(draft) as writer:
            weights(writer)
            writer.write_file(CONFIG_FILE, (json.dumps(keys, indent=2, sort_keys=True) + "\n").encode())
            if isinstance(tokenizer, bytes):
                writer.write_file(TOKENIZER_FILE, tokenizer)
            elif tokenizer is not None:
                writer.copy_file(TOKENIZER_FILE, Path(tokenizer))
            if lines := history_lines(history):
                writer.write_file(HISTORY_FILE, lines)
            for name, content in (resume or {}).items():
                if isinstance(content, bytes):
                    writer.write_file(f"{RESUME_FOLDER}/{name}", content)
                else:
                    writer.write_tensors(f"{RESUME_FOLDER}/{name}", content)
            writer.write_file(CARD_FILE, model_card(draft, config, base).encode())
            return self._commit(writer, dataclasses.replace(draft, files=dict(writer.records)), base, same)

    def _copy(self, folder: Path, manifest: Manifest) -> Manifest:
        """A checkpoint with the files of `manifest`, copied from `folder`, their hashes checked on the way."""
        with self._work.writing(manifest) as writer:
            if (folder / RESUME_FOLDER).is_symlink():
                raise CheckpointError(f"{folder / RESUME_FOLDER} is a link; links are not followed.")
            for name, record in manifest.files.items():
                if writer.copy_file(name, folder / name) != record:
                    raise CheckpointError(f"{folder / name} does not match its manifest.", "It is damaged.")
            return self._commit(writer, manifest)

    def _commit(
        self, writer: FolderWriter, manifest: Manifest, base: Manifest | None = None, same: Same | None = None
    ) -> Manifest:
        """Give a written folder its place in the store, if the base that it needs still exists."""

        def check() -> Manifest | None:
            if base is not None and not self.has_base(BaseReference(base.id, base.weights_sha256)):
                raise CheckpointError(
                    f"The base of {manifest.name}, {base.name}, has been deleted.", "Restore it from the trash."
                )
            return None if same is None else next(filter(same, self.list()), None)

        return self._work.commit(writer, manifest, check)

    def _change(self, which: str, change: Callable[[Manifest], Manifest]) -> Manifest:
        """Replace a manifest by a changed one."""
        with in_words("The checkpoint cannot be changed"), self._work.locked():
            old = self.get(which)
            new = change(old)
            if new != old:
                self._work.replace_manifest(new)
            return new

    def _to_trash(self, id: str, manifest: Manifest | None) -> Trashed:
        self._work.ensure(self.folder / TRASH)
        moment = now()
        key = f"{moment.rstrip('Z').replace('-', '').replace(':', '')}-{id}"
        self._work.move(self.folder / id, self.folder / TRASH / key)
        return Trashed(key, id, manifest.name if manifest else id, manifest, moment)


def with_suffix(name: str, suffix: str) -> str:
    """A name with a suffix, shortened if it would be too long."""
    while len(name) + len(suffix) > MAX_NAME or len(f"{name}{suffix}".encode()) > MAX_NAME_BYTES:
        name = name[:-1].rstrip()
    return f"{name}{suffix}"
