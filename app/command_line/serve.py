"""`codecoil serve`: completions of a folder for editors, without a window.

Reads the folder, opens its memory, loads the newest checkpoint trained on it (else the built-in model), watches the
folder, and answers on this machine only until Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from app.command_line.scan import ProgressBar, counted, plain
from app.data.data_folder import data_folder
from app.server.editor_snippets import snippets


def add_parser(commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("serve", help="answer editors (Vim, VS Code, Zed, …) on this machine")
    parser.add_argument("path", metavar="PATH", nargs="?", default=".", help="the folder of source code (default: .)")
    parser.add_argument("--port", type=int, metavar="N", help="the port (default: 8012, or the next free one)")
    parser.add_argument(
        "--checkpoint",
        metavar="ID",
        help="checkpoint by name, id or start of an id (default: the newest of this folder, else the built-in model)",
    )
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="as listed by `codecoil devices` (default: auto)"
    )
    parser.add_argument(
        "--editor",
        choices=[each.key for each in snippets("", "")],
        help="print what to paste into this editor's settings",
    )
    parser.add_argument("--json", action="store_true", help="print events as JSON lines; the first says when and where")
    parser.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="the data folder to use")
    parser.set_defaults(handler="app.command_line.serve")


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    from app.data.settings_file import setting
    from app.server.folder import ServedFolder
    from app.server.listening import LoopbackServer
    from app.server.routes import Served
    from engine.corpus.reading.walk import source_folder
    from engine.errors import InputError

    if arguments.port is not None and not 1024 <= arguments.port <= 65535:
        raise InputError(f"{arguments.port} is no port for a program like this.", "Choose one from 1024 to 65535.")
    root, folder = source_folder(arguments.path), data_folder()
    progress = ProgressBar()
    served_folder = ServedFolder(root, folder, lambda: open_model(arguments.checkpoint, root, arguments.device))
    least_chance, memory_on = setting(folder, "least_chance"), setting(folder, "memory_on")
    served = Served(
        served_folder.service,
        lambda: least_chance,
        lambda: served_folder.chosen.name,
        lambda: memory_on,
        status=served_folder.status,
    )
    server = LoopbackServer(folder, served, arguments.port)
    stop_on(signal.SIGTERM, served_folder)
    try:
        served_folder.start(progress)
        server.start()
        progress.clear()
        stop_on(signal.SIGINT, served_folder)  # before it is ready, Ctrl-C interrupts the command
        say_ready(arguments.json, arguments.editor, server, served_folder)
        served_folder.follow(lambda words: print(f"codecoil: {plain(words)}", file=sys.stderr))
    finally:
        progress.clear()
        server.stop()
        served_folder.stop()
    if not arguments.json:
        print("Stopped.")
    return 0


def stop_on(number: int, folder) -> None:
    """A signal ends the server the usual way.  It raises nothing: that could leave a lock taken for ever."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, lambda *_: folder.end_soon())


def open_model(checkpoint: str | None, root: Path | None, device_name: str):
    """The checkpoint, else the newest of the folder or of a related one, else the built-in model; ready to complete."""
    from app.command_line.chosen_device import open_chosen_device
    from app.command_line.model_choice import STORE, newest_of, open_chosen, open_starter, trained_among
    from app.server.folder import Chosen
    from engine.checkpoints.store.store import CheckpointStore
    from engine.generate.completer import Completer
    from engine.generate.options import AUTO
    from engine.generate.precision import decode_precision

    device = open_chosen_device(device_name)
    try:
        if checkpoint is None and root is not None:
            own = newest_of(trained_among(CheckpointStore(data_folder() / STORE).list()), root)
            checkpoint = own.id if own is not None else None
        found = open_starter(device) if checkpoint is None else open_chosen(checkpoint, None, None, device)
        completer = Completer(found.model, found.tokenizer, precision=decode_precision(AUTO, found.model))
    except BaseException:
        device.close()
        raise
    return Chosen(found.model, found.tokenizer, found.name, completer, device)


def say_ready(as_json: bool, editor: str | None, server, folder) -> None:
    """The first line: where, and by which token."""
    if as_json:
        about = {"model": folder.chosen.name, "tokens": folder.memory_tokens, "files": folder.memory_files}
        ready = {"event": "ready", "url": server.url, "token": server.token, "path": str(folder.root), **about}
        print(json.dumps(ready), flush=True)
        return
    print(
        f"{plain(str(folder.root))}: {counted(folder.memory_tokens, 'token')} in"
        f" {counted(folder.memory_files, 'file')}, with {plain(folder.chosen.name)}\n"
        f"Listening on {server.url}, token {server.token}"
    )
    for snippet in snippets(server.url, server.token):
        if snippet.key == editor:
            print(f"\n{snippet.where}:\n\n{snippet.text}\n")
    print("" if editor else "Add --editor NAME to see what to paste into an editor. ", end="")
    print("Ctrl-C stops.", flush=True)
