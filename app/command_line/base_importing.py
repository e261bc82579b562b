"""`codecoil base import` and `codecoil base find`: models that are on this computer already."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from app.command_line.base_speeds import BaseSpeeds, base_speeds, speed_facts, speed_words
from app.command_line.checkpoint_words import plain
from app.data.data_folder import data_folder
from app.data.model_folders import FoundModel, find_models
from app.values.words import nbytes, thousands


def run(arguments: argparse.Namespace) -> int:
    with base_speeds(arguments) as speeds:
        if arguments.verb == "find":
            return find([Path(folder) for folder in arguments.folders], arguments.json, speeds)
        return bring(Path(arguments.path).expanduser(), arguments.name, arguments.json, speeds)


# ---- import


def bring(path: Path, name: str | None, as_json: bool, speeds: BaseSpeeds) -> int:
    """Say what the model is and takes, then import it."""
    from engine.checkpoints.formats.importing import import_checkpoint
    from engine.checkpoints.store.store import CheckpointStore
    from engine.session.inspection import inspect_model

    facts = facts_of(inspect_model(path), speeds)
    if not as_json:
        print("\n".join(fact_lines(facts)), flush=True)
    store = CheckpointStore(data_folder() / "checkpoints")
    known = {one.id for one in store.list()}
    manifest = import_checkpoint(store, path, name)
    is_new = manifest.id not in known
    if as_json:
        print(json.dumps({**facts, "id": manifest.id, "name": manifest.name, "new": is_new}, indent=2))
    else:
        words = "Imported" if is_new else "Already imported"
        print(f"{words} as {manifest.name}; train from it with `codecoil train PATH --base {manifest.name}`.")
    return 0


def facts_of(found, speeds: BaseSpeeds) -> dict[str, Any]:
    """Facts of the inspection, with the memory that each mode takes on the CPU device, and the speed."""
    import engine
    from engine.session.inspection import memory_by_mode

    device = engine.open_device("cpu")
    try:
        memory = memory_by_mode(found.config, device)
    finally:
        device.close()
    return {
        "architecture": found.config.model_type,
        "parameters": found.config.parameter_count,
        "stored": found.stored,
        "precision": found.precision,
        "bytes": found.nbytes,
        "memory": memory,
        "speed": speed_facts(speeds.of(found.config)),
        "fill_in_the_middle": found.has_fim,
        "can_be_taught_fim": found.can_be_taught_fim,
        "tokenizer": found.has_tokenizer,
    }


def fact_lines(facts: dict[str, Any]) -> list[str]:
    from engine.session.inspection import batch_words

    kept = "" if facts["stored"] == facts["precision"] else f", kept as {facts['precision']}"
    fim = "yes" if facts["fill_in_the_middle"] else "no: it completes from the text before the cursor"
    fim += "; adapting it teaches it" if facts["can_be_taught_fim"] else ""
    rows = {
        "architecture": facts["architecture"],
        "weights": f"{facts['parameters']:,}",
        "precision": f"{facts['stored']}{kept}",
        "on disk": f"{nbytes(facts['bytes'])} in the store",
        "memory": ", ".join(f"{mode} {nbytes(amount)}" for mode, amount in facts["memory"].items()),
        "": f"to train with {batch_words()}; smaller batches and a base in fewer bits take less",
        **({"speed": speed_words(facts["speed"])} if facts["speed"] else {}),
        "fill in the middle": fim if facts["tokenizer"] else "no: the model comes without a tokenizer",
    }
    return [f"{name:<20}{value}" for name, value in rows.items()]


# ---- find


def find(folders: list[Path], as_json: bool, speeds: BaseSpeeds) -> int:
    """List what is on this computer, each as soon as it is found and measured."""
    found = []
    for model in find_models(folders or None):
        speed = speed_of(model, speeds)
        found.append(found_facts(model, speed))
        if not as_json:
            print("\n".join(found_lines(model, speed)), flush=True)
    if as_json:
        print(json.dumps(found, indent=2))
    elif not found:
        print("No models were found.")
    elif any(model["importable"] for model in found):
        print("\n`codecoil base import PATH --name NAME` imports one.")
    return 0


def speed_of(model: FoundModel, speeds: BaseSpeeds) -> dict[str, Any] | None:
    """Only if it is to be measured: the file is read again for it."""
    from engine.session.inspection import inspect_model

    if model.problem or not speeds.measures:
        return None
    return speed_facts(speeds.of(inspect_model(model.path).config))


def found_facts(model: FoundModel, speed: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "program": model.program,
        "name": model.name,
        "path": str(model.path),
        "architecture": model.architecture,
        "parameters": model.parameters,
        "stored": model.stored,
        "bytes": model.nbytes,
        "speed": speed,
        "importable": not model.problem,
        "problem": model.problem,
    }


def found_lines(model: FoundModel, speed: dict[str, Any] | None) -> list[str]:
    what = f"{model.architecture}, {thousands(model.parameters)} weights, {model.stored}, " if model.stored else ""
    lines = [f"{plain(model.name)}  ({model.program}; {what}{nbytes(model.nbytes)})", f"    {plain(str(model.path))}"]
    if speed:
        lines.append(f"    {speed_words(speed)}")
    return [*lines, f"    cannot be imported: {plain(model.problem)}"] if model.problem else lines
