"""What can be read, into the store: a Hugging Face folder, a GGUF file, a `.coil` bundle, an MBJS file, a checkpoint
folder.

Safe to repeat: what was imported before and is still in the store is returned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from engine.checkpoints.formats import bundle, gguf_import, hugging_face, mbjs
from engine.checkpoints.formats.imported import Imported
from engine.checkpoints.store.contents import WORK
from engine.checkpoints.store.manifest import MANIFEST_FILE, MAX_BYTES, Facts, Manifest, read_manifest
from engine.checkpoints.store.progress import Report, Tally
from engine.checkpoints.store.store import CheckpointStore
from engine.checkpoints.store.writing import in_words
from engine.errors import CheckpointError
from engine.model.files import CONFIG_FILE, INDEX_FILE
from engine.safe_reading import check_name, open_plain, read_plain

SOURCE_HASH = "source_sha256"  # the option by which an import is known again
CHUNK = 4 << 20
READERS = {"hugging face": hugging_face.read_folder, "gguf": gguf_import.read_gguf, "mbjs": mbjs.read_mbjs}
ReportFor = Callable[[str], Report | None]  # a part of an import begins, by its name: who gets its progress?


def import_checkpoint(
    store: CheckpointStore,
    path: Path,
    name: str | None = None,
    tokenizer: Path | None = None,
    report_for: ReportFor = lambda part: None,
) -> Manifest:
    """Import `path`; `tokenizer`: where to find the tokenizer of a model that comes without one."""
    if name is not None:
        check_name(name, "The checkpoint's name")
    try:
        return _import(store, path, name, tokenizer, report_for)
    except OSError as error:  # the store reports what it cannot write; this is about reading
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.", "Choose another one.") from error


def _import(
    store: CheckpointStore, path: Path, name: str | None, tokenizer: Path | None, report_for: ReportFor
) -> Manifest:
    if not path.exists():
        raise CheckpointError(f"{path} does not exist.", "Choose a folder or a file.")
    if path.is_dir():
        if (path / MANIFEST_FILE).exists():
            manifest = read_manifest(read_plain(path / MANIFEST_FILE, MAX_BYTES), str(path / MANIFEST_FILE))
            return _adopt(store, path, manifest, name, report_for)
        return _save(store, path, name, tokenizer, "hugging face", report_for)
    if path.is_file() and bundle.is_bundle(path):
        with in_words(f"{path} cannot be unpacked"):
            (store.folder / WORK).mkdir(parents=True, exist_ok=True)
        with bundle.unpacked(path, store.folder / WORK, report_for("Unpacking")) as (folder, manifest):
            return _adopt(store, folder, manifest, name, report_for)
    if path.is_file() and gguf_import.is_gguf(path):
        return _save(store, path, name, tokenizer, "gguf", report_for)
    if path.is_file() and mbjs.is_mbjs(path):
        return _save(store, path, name, tokenizer, "mbjs", report_for)
    if path.suffix in (".safetensors", ".json") and (path.parent / CONFIG_FILE).exists():
        return _import(store, path.parent, name, tokenizer, report_for)
    raise CheckpointError(
        f"{path} is not in a format that can be imported.",
        "Choose a folder in Hugging Face format, or a .gguf, .coil or MBJS .bin file (pickled files are never read).",
    )


def _save(
    store: CheckpointStore, path: Path, name: str | None, tokenizer: Path | None, kind: str, report_for: ReportFor
) -> Manifest:
    imported: Imported = READERS[kind](path, tokenizer)
    source = _source_hash(path, imported, report_for("Reading"))

    def same(known: Manifest) -> bool:
        return known.options.get(SOURCE_HASH) == source and name in (None, known.name)

    if known := next(filter(same, store.list()), None):
        return known
    facts = Facts(
        name=name or _name_from(path),
        mode="import",
        options={"format": kind, SOURCE_HASH: source},
        note="\n".join(imported.notes),
    )
    return store.save(
        facts,
        config=imported.config,
        parameters=imported.parameters,
        tokenizer=imported.tokenizer,
        precision=imported.precision,
        same=same,
    )


def _adopt(
    store: CheckpointStore, folder: Path, manifest: Manifest, name: str | None, report_for: ReportFor
) -> Manifest:
    """A checkpoint as it is; one that turns out to be damaged, or was not fully verified, is removed again."""
    base = manifest.base
    if base is not None and not store.has_base(base):
        raise CheckpointError(
            f"{manifest.name} is a delta, and its base (weights {base.sha256[:12]}…) is not in the store.",
            "Import the base first, or ask for a full export (export --full).",
        )
    known = {one.id for one in store.list()}
    adopted = store.adopt(folder, manifest)
    if adopted.id not in known:
        try:
            _need_whole(store, adopted, report_for("Verifying"))
        except BaseException:
            store.empty_trash([store.delete(adopted.id, force=True).key], force=True)
            raise
    return store.rename(adopted.id, name) if name is not None else adopted


def _need_whole(store: CheckpointStore, manifest: Manifest, report: Report | None) -> None:
    if findings := store.verify(manifest.id, report):
        words = "; ".join(f"{finding.file}: {finding.words}".removeprefix(": ") for finding in findings[:3])
        raise CheckpointError(f"{manifest.name} is damaged: {words}", "Ask for a new export.")


def _source_hash(path: Path, imported: Imported, report: Report | None) -> str:
    """What an import was made of: weights, configuration and tokenizer."""
    found = hashlib.sha256()
    files = [path]
    if path.is_dir():
        files = [path / CONFIG_FILE, path / INDEX_FILE, *sorted(path.glob("*.safetensors"))]
    files = [file for file in files if file.exists()]
    tally = Tally(sum(file.stat().st_size for file in files), report)
    for file in files:
        descriptor = open_plain(file.resolve())
        with open(descriptor, "rb") as stream:
            while chunk := stream.read(CHUNK):
                found.update(chunk)
                tally.add(len(chunk))
    found.update(imported.tokenizer or b"")
    return found.hexdigest()


def _name_from(path: Path) -> str:
    """The name of a file or folder, if it is allowed for a checkpoint."""
    stem = path.resolve().name if path.is_dir() else path.stem
    try:
        return check_name(stem)
    except CheckpointError:
        return "imported"
