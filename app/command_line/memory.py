"""`codecoil memory`: what the memory of a folder contains; with --ask, what is suggested at a cursor and why."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.command_line.chosen_device import open_chosen_device
from app.command_line.complete import ALTERNATIVES, offset_of, read_text
from app.command_line.model_choice import STARTER, STORE, open_chosen, open_starter, starter_tokenizer
from app.command_line.repository_memory import memory_of, scan_folder, source_words
from app.command_line.scan import ProgressBar, counted, plain
from app.data.data_folder import data_folder
from app.values.words import about, nbytes

if TYPE_CHECKING:
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.generate.requests import Completion, CompletionRequest
    from engine.memory import MemorySnapshot

JUST_NOW = 5.0  # seconds


def add_parser(commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("memory", help="show what the memory of a folder contains and what it would suggest")
    parser.add_argument("path", metavar="PATH", help="the folder of source code")
    parser.add_argument(
        "--checkpoint", metavar="ID", help="use the tokenizer of this checkpoint (default: the built-in model)"
    )
    parser.add_argument(
        "--ask", metavar="FILE", help="show what would be suggested in this file of the folder, and its source"
    )
    parser.add_argument("--line", type=int, metavar="N", help="line of the cursor, counted from 1 (default: the last)")
    parser.add_argument(
        "--column", type=int, metavar="M", help="column of the cursor, counted from 1 (default: end of the line)"
    )
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="for --ask; as listed by `codecoil devices` (default: auto)"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="the data folder to use")
    parser.set_defaults(handler="app.command_line.memory")


def run(arguments: argparse.Namespace) -> int:
    """Update the memory and print what it contains."""
    from engine.corpus.reading.walk import source_folder
    from engine.errors import InputError

    root = source_folder(arguments.path)
    if arguments.ask is None and (arguments.line is not None or arguments.column is not None):
        raise InputError("--line and --column need a file.", "Add --ask FILE.")
    request = request_at(root, arguments) if arguments.ask is not None else None
    name, tokenizer = chosen_tokenizer(arguments.checkpoint)
    progress = ProgressBar()
    answer = None
    try:
        memory, snapshot = memory_of(scan_folder(root, tokenizer, progress), progress)
        if request is not None:
            answer = ask(request, snapshot, arguments.checkpoint, arguments.device, progress)
    finally:
        progress.clear()
    content = {
        "path": str(root),
        "tokens": snapshot.tokens,
        "files": len({entry.path for entry in snapshot.entries}),
        "names": len(snapshot.names.counts),
        "bytes": memory.nbytes,
        "age": memory.age,
        "tokenizer": tokenizer.digest,
        "model": name,
    }
    if arguments.json:
        if answer is not None:
            content["suggestion"] = {"file": request.path, **answer.to_json()}
        print(json.dumps(content))
        return 0
    print("\n".join([*lines(content), *(suggestion_lines(answer) if answer is not None else ())]))
    return 0


def chosen_tokenizer(checkpoint: str | None) -> tuple[str, Tokenizer]:
    """The name of the model, and its tokenizer."""
    if checkpoint is None:
        return STARTER, starter_tokenizer()
    from engine.checkpoints.store.store import CheckpointStore
    from engine.session.bases import tokenizer_of

    store = CheckpointStore(data_folder() / STORE)
    manifest = store.get(checkpoint)
    return manifest.name, tokenizer_of(store, manifest)


def request_at(root: Path, arguments: argparse.Namespace) -> CompletionRequest:
    """The cursor given by --ask, --line and --column."""
    from engine.errors import InputError
    from engine.generate.requests import CompletionRequest, Offer

    named = arguments.ask
    if not Path(named).exists() and (root / named).is_file():
        named = str(root / named)  # as the window and a suggestion's source name it
    file = Path(named).resolve()
    text = read_text(named)
    if root not in file.parents:
        raise InputError(f"{named} is not in {root}.", "Choose a file in that folder.")
    cursor = offset_of(text, arguments.line, arguments.column, named)
    path = file.relative_to(root).as_posix()
    return CompletionRequest(text[:cursor], text[cursor:], path, offer=Offer(0.0, ALTERNATIVES))


def ask(
    request: CompletionRequest,
    snapshot: MemorySnapshot,
    checkpoint: str | None,
    device_name: str,
    progress: ProgressBar,
) -> Completion:
    """What model and memory suggest together."""
    from engine.generate.completer import Completer
    from engine.generate.options import AUTO
    from engine.generate.precision import decode_precision

    device = open_chosen_device(device_name)
    chosen = completer = None
    try:
        progress(0, 0, "Loading the model")
        chosen = open_starter(device) if checkpoint is None else open_chosen(checkpoint, None, None, device, AUTO)
        completer = Completer(chosen.model, chosen.tokenizer, precision=decode_precision(AUTO, chosen.model))
        completer.memory = snapshot
        return completer.complete(request)
    finally:
        if completer is not None:
            completer.close()
        if chosen is not None:
            chosen.model.close()
        device.close()


def lines(content: dict[str, Any]) -> list[str]:
    """What the memory contains, for people."""
    age = content["age"]
    built = "not saved" if age is None else "built just now" if age < JUST_NOW else f"built {about(age)} ago"
    return [
        plain(content["path"]),
        f"{counted(content['tokens'], 'token')} in {counted(content['files'], 'file')},"
        f" {counted(content['names'], 'name')}",
        f"{nbytes(content['bytes'])} on disk, {built}",
        f"Tokenizer of {content['model']}: {content['tokenizer'][:12]}",
    ]


def suggestion_lines(answer: Completion) -> list[str]:
    """The probability, the text and its source; then the alternatives."""
    if not answer.text:
        return ["", f"No suggestion: {answer.silence or 'Nothing fits here.'}"]
    first, *more = answer.text.split("\n")
    chance = f"{answer.chance:.0%}".replace("%", " %") if answer.chance is not None else ""
    text = ["", f"{chance:>6}  {plain(first)}", *(f"{'':8}{plain(line)}" for line in more)]
    words = source_words(answer)
    text.append(f"{'':8}({words})" if words else f"{'':8}(this line is in no other file)")
    return text + [f"{'or':>6}  {plain(other)}" for other in answer.alternatives]
