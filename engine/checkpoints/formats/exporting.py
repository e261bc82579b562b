"""A checkpoint of the store in a format that others read: as a full model, or as the delta if that is asked for."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.formats import adapter, bundle, gguf_export, hugging_face
from engine.checkpoints.store.card import model_card
from engine.checkpoints.store.manifest import Facts, Manifest
from engine.checkpoints.store.progress import Counted, Report, Tally
from engine.checkpoints.store.recitation import recitation_words
from engine.checkpoints.store.store import CheckpointStore
from engine.checkpoints.store.writing import in_words
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture

FORMATS = {
    "hf": tuple(hugging_face.PRECISIONS),
    "gguf": gguf_export.PRECISIONS,
    "coil": (),
    "adapter": (),
}
DEFAULT_PRECISION = {"hf": "float32", "gguf": "f16"}
FILE_SUFFIX = {"gguf": ".gguf", "coil": bundle.SUFFIX}


@dataclass(frozen=True)
class Exported:
    """What was written, and what its users should know."""

    path: Path
    format: str
    precision: str
    nbytes: int
    notes: tuple[str, ...] = ()


def export_checkpoint(
    store: CheckpointStore,
    which: str,
    format: str,
    out: Path,
    precision: str | None = None,
    full: bool = False,
    report: Report | None = None,
) -> Exported:
    """Export to `out`, a folder for "hf" and "adapter", a file (or a folder to put it in) for "gguf" and "coil".

    `full` puts a delta and its base together in a bundle.  `report` gets the progress, and may raise to stop it.
    """
    if format not in FORMATS:
        raise CheckpointError(f"Unknown format {format!r}.", f"Choose one of: {', '.join(FORMATS)}.")
    if precision is not None and precision not in FORMATS[format]:
        choices = ", ".join(FORMATS[format])
        raise CheckpointError(
            f"{format} cannot be written as {precision}.",
            f"Choose one of: {choices}." if choices else "It is written as stored; omit the precision.",
        )
    precision = precision or DEFAULT_PRECISION.get(format, "")
    manifest = store.get(which)
    if format in FILE_SUFFIX:
        out = out / f"{manifest.name}{FILE_SUFFIX[format]}" if out.is_dir() else out
    with in_words(f"{out} cannot be written"):
        out.parent.mkdir(parents=True, exist_ok=True)
    write = {"hf": _hugging_face, "gguf": _gguf, "coil": _coil, "adapter": _adapter}[format]
    notes = write(store, manifest, out, precision, full, report)
    return Exported(out, format, precision or manifest.precision, _size(out), notes)


def _hugging_face(
    store: CheckpointStore, manifest: Manifest, out: Path, precision: str, _: bool, report: Report | None
) -> tuple[str, ...]:
    with store.load_parameters(manifest.id) as parameters:
        tokenizer = store.tokenizer_path(manifest.id)
        card = _card(store, manifest, precision)
        counted = Counted(parameters, Tally(_nbytes(parameters.config), report))
        hugging_face.write_folder(out, parameters.config, counted, tokenizer, precision, card)
    return () if tokenizer else ("The checkpoint has no tokenizer, so the folder has none either.",)


def _gguf(
    store: CheckpointStore, manifest: Manifest, out: Path, precision: str, _: bool, report: Report | None
) -> tuple[str, ...]:
    with store.load_parameters(manifest.id) as parameters:
        tokenizer = store.tokenizer_path(manifest.id)
        counted = Counted(parameters, Tally(_nbytes(parameters.config), report))
        words = " ".join(recitation_words(manifest, precision))
        done = gguf_export.write_gguf(out, parameters.config, counted, tokenizer, precision, manifest.name, words)
    if not done.other_types:
        return done.notes
    others = ", ".join(sorted({f"{name.split('.', 2)[-1]} as {kind}" for name, kind in done.other_types.items()}))
    return (*done.notes, f"Not everything could be stored as {precision}: {others}.")


def _coil(
    store: CheckpointStore, manifest: Manifest, out: Path, _: str, full: bool, report: Report | None
) -> tuple[str, ...]:
    if manifest.base is None or not full:
        bundle.write_bundle(out, store.folder_of(manifest.id), manifest, report, _card(store, manifest))
        if manifest.base is None:
            return ()
        base = store.lineage(manifest.id)[1]
        return (f"This is a delta: importing it also needs its base, {base.name}.",)
    names = {field.name for field in dataclasses.fields(Facts)}
    facts = Facts(**{name: getattr(manifest, name) for name in names} | {"parents": (manifest.id,)})
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".coil-") as place:
        other = CheckpointStore(place)
        with store.load_parameters(manifest.id) as parameters:
            made = other.save(
                facts,
                config=parameters.config,
                parameters=Counted(parameters, Tally(_nbytes(parameters.config), report)),
                tokenizer=store.tokenizer_path(manifest.id),
                history=store.history(manifest.id),
            )
        bundle.write_bundle(out, other.folder_of(made.id), made, report)
    return ()


def _adapter(
    store: CheckpointStore, manifest: Manifest, out: Path, _: str, __: bool, ___: Report | None
) -> tuple[str, ...]:
    """Only a few thousand rows, so there is no progress to report."""
    if manifest.base is None:
        raise CheckpointError(f"{manifest.name} is a full model, not an adapter.", "Export it as hf, gguf or coil.")
    base = store.lineage(manifest.id)[1]
    config, card = store.config(manifest.id), _card(store, manifest)
    kind = adapter.write_adapter(out, store.load_delta(manifest.id), config, manifest.base, base.name, card)
    if kind == "peft":
        refused = adapter.REFUSED_BY_PEFT.get(config.model_type)
        remedy = "for transformers, export the full model (hf)."
        return (
            (f"PEFT does not accept adapters on {refused} of {config.model_type} models: {remedy}",) if refused else ()
        )
    return ("PEFT cannot represent these rows: adapter_config.json says which rows of the base they replace.",)


def _card(store: CheckpointStore, manifest: Manifest, precision: str = "") -> str:
    lineage = store.lineage(manifest.id)
    return model_card(manifest, store.config(manifest.id), lineage[1] if len(lineage) > 1 else None, precision)


def _nbytes(config: Architecture) -> int:
    """Of all parameters in float32."""
    return 4 * sum(math.prod(shape) for shape in config.parameter_shapes().values())


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
