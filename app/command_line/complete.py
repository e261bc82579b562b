"""`codecoil complete`: complete a text at its end, or at a cursor in a file.

Without options the answer is a whole line (or several, if the model is confident), as the editor suggests it. With a
sampling or stop option, or --stream, text is written until it stops. Either way the memory of the file's repository is
used. The text goes to standard output (with --stream, as it is written), everything else to standard error; --json
prints one object, and with --stream one line for each piece before it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.command_line.chosen_device import open_chosen_device
from app.command_line.model_choice import add_precision, open_chosen
from app.command_line.repository_memory import memory_of, scan_folder, source_words
from app.command_line.scan import ProgressBar, plain
from app.data.data_folder import data_folder
from engine.generate.decode_losses import DecodeLoss, DecodeLosses
from engine.generate.options import AUTO, OPTIONS, SAMPLING, STOPS, Sampling, Stops
from engine.option_info import OptionInfo

ALTERNATIVES = 3  # other lines, in the JSON
LARGEST_FILE = 64 << 20  # bytes
GROUP_HELP = "With any of these, text is written until it stops; without, the answer is a whole line or nothing."


def add_parser(commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("complete", help="complete a text, or a file at a cursor")
    parser.add_argument("text", nargs="?", choices=["-"], metavar="-", help="read the text from standard input")
    parser.add_argument("--prompt", metavar="TEXT", help="the text to complete")
    parser.add_argument("--file", metavar="FILE", help="the file the cursor is in")
    parser.add_argument("--line", type=int, metavar="N", help="line of the cursor, counted from 1 (default: the last)")
    parser.add_argument(
        "--column", type=int, metavar="M", help="column of the cursor, counted from 1 (default: end of the line)"
    )
    parser.add_argument(
        "--context", metavar="FILE", action="append", default=[], help="another file to take context from; repeatable"
    )
    parser.add_argument(
        "--checkpoint", metavar="ID", help="checkpoint by name, id or start of an id (default: the newest)"
    )
    parser.add_argument(
        "--base", metavar="FOLDER", help="a model folder in Hugging Face format, instead of a checkpoint"
    )
    parser.add_argument("--no-memory", action="store_true", help="do not use the memory of the repository")
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="as listed by `codecoil devices` (default: auto)"
    )
    add_precision(parser)
    add_options(parser.add_argument_group("sampling and stopping", GROUP_HELP))
    parser.add_argument("--stream", action="store_true", help="print the text as it is written")
    parser.add_argument("--json", action="store_true", help="as JSON, with speeds and latency")
    parser.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="the data folder to use")
    parser.set_defaults(handler="app.command_line.complete")


def add_options(group) -> None:
    """The engine's sampling and stop options; absent from the namespace where they are not given."""
    for name, info in OPTIONS.items():
        flag, words = f"--{name.replace('_', '-')}", (info.help[0].lower() + info.help[1:]).rstrip(".")
        if info.kind is bool:
            group.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=words)
        elif info.kind is tuple:
            group.add_argument(
                flag, action="append", metavar="TEXT", default=argparse.SUPPRESS, help=f"{words}; repeatable"
            )
        else:
            zero = f"; 0: {info.zero}" if info.zero else ""
            group.add_argument(
                flag,
                type=info.kind,
                metavar="N" if info.whole else "X",
                default=argparse.SUPPRESS,
                help=f"{words}{zero} (default: {info.default})",
            )


@dataclass(frozen=True)
class Place:
    """A cursor: the text on both sides, and its file."""

    prefix: str
    suffix: str = ""
    file: Path | None = None


def run(arguments: argparse.Namespace) -> int:
    place = read_place(arguments)
    sampling, stops = Sampling(**given(arguments, SAMPLING)), Stops(**given(arguments, STOPS))
    others = {name: read_text(name) for name in arguments.context}

    from engine.generate.completer import Completer, CompletionRequest
    from engine.generate.precision import decode_precision
    from engine.generate.requests import Offer
    from engine.generate.service.asking import Asking
    from engine.generate.service.service import CompletionService, Opened

    offer = Offer(0.0, ALTERNATIVES) if is_offer(arguments) else None
    progress = ProgressBar()
    device = open_chosen_device(arguments.device, progress)
    chosen = completer = None
    try:
        progress(0, 0, "Loading the model")
        chosen = open_chosen(arguments.checkpoint, arguments.base, place.file, device, arguments.precision)
        precision = decode_precision(arguments.precision, chosen.model)
        completer = Completer(chosen.model, chosen.tokenizer, precision=precision)
        losses = DecodeLosses(data_folder()).of(chosen.key)
        if arguments.precision != AUTO and not arguments.json:
            progress.clear()
            print(f"codecoil: {losses_in_words(chosen.name, precision, losses)}", file=sys.stderr)
        loss = losses[precision].loss if precision in losses else None
        about = {"model": chosen.name, "device": device.description, "precision": precision, "held_out_loss": loss}
        path, context = path_in(chosen.root, place.file), context_of(others, chosen.root, place)
        memory = not arguments.no_memory
        if memory and place.file is not None:
            completer.memory = remembered(root_of(chosen.root, place.file), chosen.tokenizer, progress)
        request = CompletionRequest(place.prefix, place.suffix, path, sampling, stops, context, memory, offer)
        opened = Opened(completer, chosen.name, progress=lambda done, total: progress(done, total, "Reading"))
        service = CompletionService(lambda _: opened)

        problems: list[Exception] = []

        def heard(item) -> None:
            try:
                progress.clear()
                show(arguments, item, about)
            except Exception as error:  # raised below: the service has others to tell
                problems.append(error)

        service.ask(Asking("command line", request), heard)
        service.answer_waiting()
        if problems:
            raise problems[0]
    finally:
        progress.clear()
        if completer is not None:
            completer.close()
        if chosen is not None:
            chosen.model.close()
        device.close()
    return 0


def losses_in_words(model: str, precision: str, losses: dict[str, DecodeLoss]) -> str:
    """What was measured at a precision, and at full precision beside it."""
    if precision not in losses:
        return (
            f"The held-out loss of {model} at {precision} has not been measured yet;"
            f" `codecoil score PATH --precision {precision}` measures it."
        )
    found = losses[precision]
    words = f"Held-out loss of {model} at {precision}: {found.loss:.4f}"
    if precision != "float32" and "float32" in losses:
        words += f" ({losses['float32'].loss:.4f} at float32)"
    return f"{words}, measured on {Path(found.repository).name}."


def is_offer(arguments: argparse.Namespace) -> bool:
    """Whether the answer is a whole line, as the editor suggests it."""
    return not arguments.stream and not any(hasattr(arguments, name) for name in OPTIONS)


def remembered(root: Path, tokenizer, progress: ProgressBar):
    """The memory of a folder; None, with a message, where it cannot be read: the model then answers alone."""
    from engine.errors import CorpusError

    try:
        return memory_of(scan_folder(root, tokenizer, progress), progress)[1]
    except CorpusError as error:
        progress.clear()
        print(f"codecoil: No memory of {plain(str(root))} is used: {error.message}", file=sys.stderr)
        return None


def show(arguments: argparse.Namespace, item, about: dict[str, Any]) -> None:
    """Print a piece, or the whole answer."""
    from engine.generate.requests import Piece

    if isinstance(item, Piece):
        if arguments.stream:
            print(json.dumps({"piece": item.text}) if arguments.json else item.text, flush=True, end=_end(arguments))
        return
    if item.error is not None:
        raise item.error
    completion = item.completion
    if arguments.json:
        content = completion.to_json()
        content["fim"] = content.pop("fim_used")
        print(json.dumps(content | about), flush=True)
    else:
        print("" if arguments.stream else completion.text, flush=True)
        if words := source_words(completion):
            print(words, file=sys.stderr)
        for note in filter(None, (completion.silence, completion.note)):
            print(f"codecoil: {note}", file=sys.stderr)


def _end(arguments: argparse.Namespace) -> str:
    return "\n" if arguments.json else ""


def read_place(arguments: argparse.Namespace) -> Place:
    """The cursor given by the arguments."""
    from engine.errors import InputError

    given = [arguments.text is not None, arguments.prompt is not None, arguments.file is not None]
    if sum(given) != 1:
        raise InputError(
            "Give exactly one text to complete.", "Use --file FILE, --prompt TEXT, or - for standard input."
        )
    if arguments.file is None and (arguments.line is not None or arguments.column is not None):
        raise InputError("--line and --column need a file.", "Add --file FILE.")
    if arguments.prompt is not None:
        return Place(arguments.prompt)
    if arguments.file is None:
        return Place(text_of(sys.stdin.buffer.read(), "Standard input"))
    text = read_text(arguments.file)
    cursor = offset_of(text, arguments.line, arguments.column, arguments.file)
    return Place(text[:cursor], text[cursor:], Path(arguments.file).resolve())


def offset_of(text: str, line: int | None, column: int | None, name: str) -> int:
    """The offset of a line and column, both counted from 1; raises if they are past the end."""
    from engine.errors import InputError

    lines = text.split("\n")
    if line is None and column is None:
        return len(text)
    line = len(lines) if line is None else line
    if not 1 <= line <= len(lines):
        raise InputError(f"{name} has no line {line}; it has {len(lines)}.")
    own = lines[line - 1].removesuffix("\r")
    column = len(own) + 1 if column is None else column
    if not 1 <= column <= len(own) + 1:
        raise InputError(f"Line {line} of {name} has no column {column}; it has {len(own) + 1}.")
    return sum(len(before) + 1 for before in lines[: line - 1]) + column - 1


def read_text(name: str) -> str:
    """The text of a file, decoded as the corpus decodes it.  A pipe is refused: reading it might never end."""
    from engine.corpus.reading.safe_opening import read_file
    from engine.errors import InputError

    if os.path.exists(name) and not os.path.isfile(name):
        raise InputError(f"{name} is not a regular file.", "Name a file, or pipe the text into `codecoil complete -`.")
    try:
        data = read_file(os.path.realpath(name), LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(
            f"{name} cannot be read: {error.strerror or error}.",
            "Check the path; `-` reads standard input.",
        ) from error
    if len(data) > LARGEST_FILE:
        raise InputError(f"{name} is larger than {LARGEST_FILE >> 20} MiB.", "Choose a smaller file.")
    return text_of(data, name)


def text_of(data: bytes, name: str) -> str:
    from engine.corpus.reading.text import Decoded, decode
    from engine.errors import InputError

    decoded = decode(data) if data else Decoded("", "utf-8")
    if not isinstance(decoded, Decoded):
        raise InputError(f"{name} is not text: {decoded.words}.", "Choose a text file.")
    return decoded.text


def path_in(root: Path | None, file: Path | None) -> str:
    """The path as in training: relative to the repository of the file; "" without a file."""
    if file is None:
        return ""
    return file.relative_to(root_of(root, file)).as_posix()


def root_of(root: Path | None, file: Path) -> Path:
    """The repository of a file: `root` if the file is in it, else the folder with .git, else the one around the file
    that was read last (a release that was unpacked has no .git), else the file's own."""
    from engine.corpus.reading.known_folders import known_folders

    if root is not None and root in file.parents:
        return root
    git = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    if git is not None:
        return git
    read = (Path(known.root) for known, _ in known_folders(data_folder()))
    return next((folder for folder in read if folder in file.parents), file.parent)


def context_of(others: dict[str, str], root: Path | None, place: Place):
    """The pieces of other files, given by name, that are most similar to the code around the cursor."""
    from engine.generate.context import RecentFiles

    recent = RecentFiles()
    for name, text in others.items():
        recent.note(path_in(root, Path(name).resolve()), text)
    return recent.choose(path_in(root, place.file), place.prefix)


def given(arguments: argparse.Namespace, table: dict[str, OptionInfo]) -> dict[str, Any]:
    """The options of a table that were given."""
    values = {name: getattr(arguments, name) for name in table if hasattr(arguments, name)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
