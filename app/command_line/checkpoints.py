"""`codecoil checkpoints`: everything that can be done with checkpoints, for people or, with --json, for programs.

Every command can be repeated safely: what has been done already is reported, not done twice.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from app.command_line import FAILED
from app.command_line.checkpoint_words import (
    LOSS,
    as_json,
    comparison_lines,
    details,
    exported_lines,
    finite,
    listing,
    plain,
    precision_lines,
    trash_lines,
)
from app.command_line.chosen_device import open_chosen_device
from app.command_line.scan import ProgressBar
from app.data.data_folder import data_folder
from app.values.words import nbytes

STORE = "checkpoints"  # the folder of the store, in the data folder
FORMATS = ("hf", "gguf", "coil", "adapter")


def add_parser(commands) -> None:
    """The command and its verbs."""
    parser = commands.add_parser(
        "checkpoints", help="list, verify, compare, merge, convert, export and import checkpoints"
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    def verb(name: str, words: str, *positional: tuple[str, str]) -> argparse.ArgumentParser:
        own = verbs.add_parser(name, help=words)
        for argument, help in positional:
            own.add_argument(argument, metavar=argument.upper(), help=help)
        own.add_argument("--json", action="store_true", help="print JSON")
        own.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="data folder")
        own.set_defaults(handler="app.command_line.checkpoints", verb=name)
        return own

    which = ("id", "id, start of an id, or name")
    verb("list", "list all checkpoints, newest first").add_argument("--run", metavar="RUN", help="only this run's")
    show = verb("show", "show everything about a checkpoint", which)
    show.add_argument("--precisions", action="store_true", help="also show size and error in every precision")
    show.add_argument("--repository", metavar="PATH", help="with --precisions: measure held-out loss on this folder")
    check = verb("verify", "check every hash, name, shape and number")
    check.add_argument("ids", metavar="ID", nargs="*", help="which to check (default: all)")
    verb("compare", "measure how far two checkpoints are apart", ("first", which[1]), ("second", which[1]))
    _add_merge(verb("merge", "blend two checkpoints of one base", ("first", which[1]), ("second", which[1])))
    convert = verb("convert", "make a copy that needs no base, in any precision", which)
    convert.add_argument(
        "--precision",
        metavar="P",
        default="float32",
        help="any that `show --precisions` lists, down to 1.5 bits (default: float32)",
    )
    convert.add_argument("--name", metavar="NAME", help="name of the copy")
    convert.add_argument("--repository", metavar="PATH", help="measure the copy's held-out loss on this folder")
    convert.add_argument("--device", default="auto", metavar="NAME", help="device to measure on (default: auto)")
    export = verb("export", "write a checkpoint in a format that other programs read", which)
    export.add_argument("out", metavar="OUT", help="file or folder to write")
    export.add_argument(
        "--format",
        choices=FORMATS,
        required=True,
        help="hf: a Hugging Face folder; gguf: a file for llama.cpp, Ollama and others; coil: a bundle for Codecoil on "
        "another machine; adapter: the trained weights without the base, LoRA in PEFT format",
    )
    export.add_argument("--precision", metavar="P", help="hf: float32, bfloat16, float16; gguf: f32, f16, q8_0, q4_0")
    export.add_argument("--full", action="store_true", help="coil: include the base of a delta")
    export.add_argument("--no-audit", action="store_true", help="do not measure what the weights recite")
    export.add_argument("--device", default="auto", metavar="NAME", help="device to measure on (default: auto)")
    audit = verb("audit", "measure what the weights recite of the code that they were trained on", which)
    audit.add_argument("--lines", action="store_true", help="also print the lines that are recited")
    audit.add_argument("--device", default="auto", metavar="NAME", help="device to measure on (default: auto)")
    bring = verb(
        "import",
        "import a Hugging Face folder, a .gguf, .coil or MBJS file, or what `handoff` came back with",
        ("path", "file or folder"),
    )
    bring.add_argument("--name", metavar="NAME", help="name of the checkpoint")
    bring.add_argument("--tokenizer", metavar="PATH", help="tokenizer.json, if the model comes without one")
    bring.add_argument("--no-score", action="store_true", help="do not score what `handoff` came back with")
    bring.add_argument("--device", default="auto", metavar="NAME", help="device to measure on (default: auto)")
    verb("rename", "rename a checkpoint", which, ("name", "the new name"))
    note = verb("note", "set a checkpoint's note, and its tags", which, ("text", "the note"))
    note.add_argument("--tag", action="append", metavar="TAG", help="replaces all tags; may be repeated")
    pin = verb("pin", "keep a checkpoint regardless of retention", which)
    pin.add_argument("--off", action="store_true", help="unpin it")
    delete = verb("delete", "move a checkpoint to the trash", which)
    delete.add_argument("--force", action="store_true", help="even if other checkpoints or unfinished runs need it")
    trash = verb("trash", "list the trash")
    trash.add_argument("--empty", action="store_true", help="delete its contents permanently")
    trash.add_argument("--force", action="store_true", help="even what is still needed")
    verb("restore", "restore a checkpoint from the trash", which)
    gc = verb("gc", "remove leftovers of interrupted writes and, with --newest, old checkpoints")
    gc.add_argument("--newest", type=int, metavar="N", help="of every run keep the newest N, the best and the pinned")
    gc.add_argument("--best", type=int, metavar="N", default=1, help="how many of the best to keep (default: 1)")
    gc.add_argument("--run", metavar="RUN", help="only this run")
    gc.add_argument("--dry-run", action="store_true", help="only show what would be moved to the trash")


def _add_merge(merge: argparse.ArgumentParser) -> None:
    merge.add_argument(
        "--weight", metavar="W", default="0.5", help='share of the second, 0 to 1, or "loss" (default: 0.5)'
    )
    merge.add_argument("--search", type=int, metavar="N", help="try N per-layer blends and keep the best")
    merge.add_argument("--seed", type=int, default=0, help="seed of the search (default: 0)")
    merge.add_argument("--out-name", metavar="NAME", help="name of the merged checkpoint")
    merge.add_argument("--repository", metavar="PATH", help="measure held-out loss on this folder")
    merge.add_argument("--device", default="auto", metavar="NAME", help="device to measure on (default: auto)")
    merge.add_argument("--dry-run", action="store_true", help="measure without saving")


def run(arguments: argparse.Namespace) -> int:
    from engine.checkpoints.store.store import CheckpointStore

    store = CheckpointStore(data_folder() / STORE)
    return VERBS[arguments.verb](store, arguments)


def _print(arguments: argparse.Namespace, content: Any, lines: list[str]) -> int:
    if arguments.json:
        print(json.dumps(finite(content), indent=2, allow_nan=False))
    else:
        print("\n".join(lines))
    return 0


def _list(store, arguments: argparse.Namespace) -> int:
    found = [one for one in store.list() if arguments.run in (None, one.run)]
    unreadable, use = store.unreadable(), store.disk_use()
    content = {
        "checkpoints": [as_json(one) for one in found],
        "unreadable": [{"id": one.id, "reason": one.reason, "newer": one.newer} for one in unreadable],
        "disk_use": vars(use),
    }
    return _print(arguments, content, listing(found, unreadable, use))


def _show(store, arguments: argparse.Namespace) -> int:
    manifest = store.get(arguments.id)
    dependants = store.dependants(manifest.id)
    content = {
        **as_json(manifest),
        "folder": str(store.folder_of(manifest.id)),
        "dependants": [one.id for one in dependants],
        "needed_by_runs": store.runs_on(manifest.id),
        "config": store.config(manifest.id).to_hugging_face(),
    }
    lines = details(manifest, dependants, store.runs_on(manifest.id), content["folder"])
    if arguments.precisions:
        from app.command_line.checkpoint_measuring import precision_rows

        content["precisions"] = precision_rows(store, manifest.id, arguments.repository)
        lines = [*lines, "", *precision_lines(content["precisions"])]
    return _print(arguments, content, lines)


def _verify(store, arguments: argparse.Namespace) -> int:
    wanted = [store.get(one) for one in arguments.ids] if arguments.ids else store.list()
    findings = {one.id: store.verify(one.id) for one in wanted}
    broken = [] if arguments.ids else [one for one in store.unreadable() if not one.newer]
    content = {
        "checkpoints": [
            {
                "id": one.id,
                "name": one.name,
                "findings": [{"file": finding.file, "words": finding.words} for finding in findings[one.id]],
            }
            for one in wanted
        ],
        "unreadable": [{"id": one.id, "reason": one.reason} for one in broken],
    }
    lines = []
    for one in wanted:
        lines.append(f"{one.id[:8]}  {one.name}: {'DAMAGED' if findings[one.id] else 'intact'}")
        lines += [f"    {plain(f'{found.file}: {found.words}'.removeprefix(': '))}" for found in findings[one.id]]
    lines += [f"{plain(one.id)}: unreadable: {plain(one.reason)}" for one in broken]
    _print(arguments, content, lines or ["There are no checkpoints."])
    return FAILED if broken or any(findings.values()) else 0


def _compare(store, arguments: argparse.Namespace) -> int:
    from engine.checkpoints.combining.compare import compare
    from engine.checkpoints.combining.sides import side_of

    found = compare(side_of(store, arguments.first), side_of(store, arguments.second))
    measures = ("cosine", "relative_l2", "largest_change", "changed_share")

    def measured(drift) -> dict[str, float]:
        return {name: getattr(drift, name) for name in measures}

    content = {
        "first": as_json(store.get(arguments.first)),
        "second": as_json(store.get(arguments.second)),
        "whole": measured(found.whole),
        "layers": {str(layer): measured(drift) for layer, drift in found.layers.items()},
        "tensors": {tensor.name: measured(tensor.drift) for tensor in found.tensors},
        "options": [vars(difference) for difference in found.options],
        "metrics": [vars(difference) for difference in found.metrics],
    }
    return _print(arguments, content, comparison_lines(found))


def _merge(store, arguments: argparse.Namespace) -> int:
    from app.command_line.checkpoint_measuring import merge_checkpoints

    return _print(arguments, *merge_checkpoints(store, arguments))


def _export(store, arguments: argparse.Namespace) -> int:
    from app.command_line.checkpoint_audit import audit_before_export
    from engine.checkpoints.formats.exporting import export_checkpoint

    out = Path(arguments.out).expanduser().absolute()
    recited, words = audit_before_export(store, arguments)
    done = export_checkpoint(store, arguments.id, arguments.format, out, arguments.precision, arguments.full)
    content = {
        "path": str(done.path),
        "format": done.format,
        "precision": done.precision,
        "bytes": done.nbytes,
        "notes": list(done.notes),
    }
    return _print(arguments, content | recited, [*exported_lines(done), *words])


def _audit(store, arguments: argparse.Namespace) -> int:
    from app.command_line.checkpoint_audit import audit_checkpoint

    return _print(arguments, *audit_checkpoint(store, arguments))


def _import(store, arguments: argparse.Namespace) -> int:
    from app.command_line.import_score import ImportScore, score_as_json, score_import, show_score
    from engine.handoff import find_result, import_any
    from engine.handoff.writing import in_mib

    known = {one.id for one in store.list()}
    path, tokenizer = Path(arguments.path).expanduser(), arguments.tokenizer
    progress = ProgressBar()
    try:
        manifest = import_any(
            store, data_folder(), path, arguments.name, Path(tokenizer) if tokenizer else None,
            lambda part: in_mib(progress, part), lambda: closing(open_chosen_device(arguments.device, progress)),
            lambda: progress(0, 0, "Trying out fill-in-the-middle"),
        )  # fmt: skip
    finally:
        progress.clear()
    words = "Already imported" if manifest.id in known else "Imported"
    if not arguments.json:
        print(f"{words}: {manifest.id[:8]}  {manifest.name}, {nbytes(manifest.nbytes)}.", flush=True)
        print("".join(f"  {plain(line)}\n" for line in manifest.note.splitlines()), end="", flush=True)
    is_result = find_result(path) is not None
    found = score_import(store, manifest, arguments) if is_result else ImportScore()
    if arguments.json:
        content = {**as_json(store.get(manifest.id)), "new": manifest.id not in known, **score_as_json(found)}
        return _print(arguments, content, [])
    show_score(found, manifest, arguments.path)
    return 0


def _convert(store, arguments: argparse.Namespace) -> int:
    from app.command_line.checkpoint_measuring import convert_checkpoint

    known = {one.id for one in store.list()}
    manifest = convert_checkpoint(store, arguments)
    new = manifest.id not in known
    loss = f", held-out loss {manifest.metrics[LOSS]:.4f}" if LOSS in manifest.metrics else ""
    words = f"{manifest.id[:8]}  {manifest.name}: {manifest.precision}, {nbytes(manifest.nbytes)}{loss}."
    return _print(arguments, {**as_json(manifest), "new": new}, [f"{'Saved' if new else 'Already there'}: {words}"])


def _rename(store, arguments: argparse.Namespace) -> int:
    manifest = store.rename(arguments.id, arguments.name)
    return _print(arguments, as_json(manifest), [f"{manifest.id[:8]} is now called {manifest.name}."])


def _note(store, arguments: argparse.Namespace) -> int:
    manifest = store.annotate(arguments.id, note=arguments.text, tags=arguments.tag)
    return _print(arguments, as_json(manifest), [f"{manifest.name}: note saved."])


def _pin(store, arguments: argparse.Namespace) -> int:
    manifest = store.annotate(arguments.id, pinned=not arguments.off)
    return _print(arguments, as_json(manifest), [f"{manifest.name} is {'not ' * arguments.off}pinned."])


def _delete(store, arguments: argparse.Namespace) -> int:
    from engine.errors import CheckpointError

    try:
        gone, words = store.delete(arguments.id, arguments.force), "was moved to the trash"
    except CheckpointError:
        gone = _in_trash(store, arguments.id)
        if gone is None:
            raise
        words = "is already in the trash"
    content = {"id": gone.id, "name": gone.name, "key": gone.key, "deleted": gone.deleted}
    return _print(arguments, content, [f"{plain(gone.name)} {words}."])


def _in_trash(store, which: str):
    """The deleted checkpoint with exactly this id or name, if no other has it."""
    here = {word for one in store.list() for word in (one.id, one.name)}
    return next((one for one in store.trash() if which in (one.id, one.name) and which not in here), None)


def _trash(store, arguments: argparse.Namespace) -> int:
    freed = store.empty_trash(force=arguments.force) if arguments.empty else None
    left = store.trash()
    content = {
        "trash": [{"key": one.key, "id": one.id, "name": one.name, "deleted": one.deleted} for one in left],
        "bytes": store.disk_use().trash,
        "freed": freed or 0,
    }
    return _print(arguments, content, trash_lines(left, content["bytes"], freed))


def _restore(store, arguments: argparse.Namespace) -> int:
    from engine.errors import CheckpointError

    try:
        manifest, words = store.restore(arguments.id), "was restored"
    except CheckpointError:
        here = {word: one for one in store.list() for word in (one.id, one.name)}
        if arguments.id not in here or any(arguments.id in (one.id, one.name) for one in store.trash()):
            raise
        manifest, words = here[arguments.id], "is not in the trash"
    return _print(arguments, as_json(manifest), [f"{manifest.name} {words}."])


def _gc(store, arguments: argparse.Namespace) -> int:
    from engine.checkpoints.store.store import Retention

    moved = []
    if arguments.newest is not None:
        if arguments.newest < 0 or arguments.best < 0:
            print("codecoil: --newest and --best cannot be negative", file=sys.stderr)
            return 2
        rule = Retention(newest=arguments.newest, best=arguments.best)
        moved = store.apply_retention(rule, arguments.run, arguments.dry_run)
    freed = 0 if arguments.dry_run else store.gc()
    content = {"to_trash": [as_json(one) for one in moved], "freed": freed, "dry_run": arguments.dry_run}
    would = "Would move" if arguments.dry_run else "Moved"
    lines = [f"{would} to the trash: {one.id[:8]}  {one.name}" for one in moved]
    return _print(arguments, content, [*lines, f"Freed {nbytes(freed)} of leftovers."])


VERBS = {
    "list": _list,
    "show": _show,
    "verify": _verify,
    "compare": _compare,
    "merge": _merge,
    "export": _export,
    "audit": _audit,
    "import": _import,
    "convert": _convert,
    "rename": _rename,
    "note": _note,
    "pin": _pin,
    "delete": _delete,
    "trash": _trash,
    "restore": _restore,
    "gc": _gc,
}
