"""`codecoil base`: larger base models: list and download them, find and import those on this computer."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from app.command_line import FAILED
from app.command_line.base_speeds import HOW, BaseSpeeds, add_options, base_speeds, speed_facts, speed_words
from app.network.base_models import BaseModel, available, base_model
from app.values.words import nbytes, thousands


def add_parser(commands) -> None:
    parser = commands.add_parser("base", help="list, download, find and import larger base models")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    listing = verbs.add_parser(
        "list", help="list what can be downloaded, with licence, size, memory and speed; works offline"
    )
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(verb="list")
    get = verbs.add_parser("get", help="download one, after confirmation")
    get.add_argument("name", metavar="NAME", help="a name from `codecoil base list`")
    get.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    get.set_defaults(verb="get")
    bring = verbs.add_parser("import", help="import a GGUF file or a folder in Hugging Face format")
    bring.add_argument("path", metavar="PATH", help="the file or folder")
    bring.add_argument("--name", metavar="NAME", help="name of the checkpoint (default: that of the file or folder)")
    bring.set_defaults(verb="import")
    find = verbs.add_parser("find", help="look for models of LM Studio, Ollama, llama.cpp and Hugging Face here")
    find.add_argument("folders", metavar="FOLDER", nargs="*", help="look through these folders instead")
    find.set_defaults(verb="find")
    for verb in (bring, find):
        verb.add_argument("--json", action="store_true", help="print JSON")
    for verb in (listing, bring, find):
        add_options(verb)
    for verb in (listing, get, bring, find):
        verb.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="data folder")
        verb.set_defaults(handler="app.command_line.base")


def run(arguments: argparse.Namespace) -> int:
    if arguments.verb in ("import", "find"):
        from app.command_line import base_importing

        return base_importing.run(arguments)
    return show_list(arguments) if arguments.verb == "list" else get(arguments.name, arguments.yes)


def show_list(arguments: argparse.Namespace) -> int:
    """Each entry as soon as its memory is estimated, which takes about a second, and its speed is measured."""
    import engine
    from engine.session.inspection import batch_words

    device, models, unknown = engine.open_device("cpu"), available(), False
    try:
        with base_speeds(arguments) as speeds:
            if arguments.json:
                print(json.dumps([facts(model, device, speeds) for model in models], indent=2))
                return 0
            for model in models:
                speed = speed_facts(speeds.of(model.config))
                unknown = unknown or speed is None
                print(*lines(model, device, speed), sep="\n", end="\n\n", flush=True)
    finally:
        device.close()
    print(f"`codecoil base get NAME` downloads one. Memory is for training with {batch_words()}.")
    if unknown and not arguments.measure:
        print(HOW)
    return 0


def lines(model: BaseModel, device, speed: dict[str, Any] | None) -> list[str]:
    """One entry of the list."""
    from app.network.agreement import agreement_for

    fim = ", fills in the middle" if model.has_fim else ""
    source = f"{model.package.package} ({model.repository})" if model.package else model.repository
    rows = {
        "from": f"{source} on {' and '.join(agreement_for(model).hosts)}",
        "size": f"{nbytes(model.nbytes)}, {thousands(model.parameters)} parameters{fim}",
        "licence": model.licence,
        "memory": ", ".join(f"{mode} {nbytes(amount)}" for mode, amount in model.memory_by_mode(device).items()),
    }
    if speed is not None:
        rows["speed"] = speed_words(speed)
    return [f"{model.name}  {model.words}", *(f"    {name:<9}{value}" for name, value in rows.items())]


def facts(model: BaseModel, device, speeds: BaseSpeeds) -> dict:
    return {
        "name": model.name,
        "repository": model.repository,
        "licence": model.licence,
        "bytes": model.nbytes,
        "parameters": model.parameters,
        "fill_in_the_middle": model.has_fim,
        "memory": model.memory_by_mode(device),
        "speed": speed_facts(speeds.of(model.config)),
    }


def get(name: str, agreed: bool) -> int:
    from app.data.data_folder import data_folder
    from app.network.agreement import agreement_for
    from app.network.base_model_fetching import fetch

    agreement = agreement_for(base_model(name))
    if not agreed:
        print(agreement.question, "[y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("Nothing was downloaded.")
            return FAILED
    line = ProgressWords()
    manifest = fetch(agreement, data_folder(), line.report)
    line.end()
    print(f"{manifest.name} is in the store; train from it with `codecoil train PATH --base {manifest.name}`.")
    return 0


class ProgressWords:
    """One line on standard error that is overwritten; nothing unless that is a terminal."""

    def __init__(self) -> None:
        self._shown = ""

    def report(self, done: int, total: int, words: str) -> None:
        text = f"{words}: {nbytes(done)} of {nbytes(total)}"
        if text != self._shown and sys.stderr.isatty():
            print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)
            self._shown = text

    def end(self) -> None:
        if self._shown:
            print(file=sys.stderr)
