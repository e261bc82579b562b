"""`codecoil lsp`: a language server for editors that start one themselves (Neovim, Emacs, coc.nvim, VS Code).

Speaks over standard input and output. If the program runs and has the folder open, it is asked; otherwise the folder is
read, watched and completed for here, as by `codecoil serve`.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from app.data.data_folder import data_folder
from app.data.log_file import close_log, open_log
from app.server.editor_snippets import language_server_snippets


def add_parser(commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("lsp", help="complete as a language server, for editors that start one")
    parser.add_argument(
        "--checkpoint",
        metavar="ID",
        help="checkpoint by name, id or start of an id (default: the newest of the folder, else the built-in model)",
    )
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="as listed by `codecoil devices` (default: auto)"
    )
    parser.add_argument("--stdio", action="store_true", help="accepted for editors that pass it: there is no other way")
    parser.add_argument(
        "--editor",
        choices=[each.key for each in language_server_snippets()],
        help="print what to paste into this editor's settings, and exit",
    )
    parser.add_argument("--data-dir", metavar="FOLDER", default=argparse.SUPPRESS, help="the data folder to use")
    parser.set_defaults(handler="app.command_line.lsp")


def run(arguments: argparse.Namespace) -> int:
    """Serve the editor at the other end of the pipes until it leaves."""
    if arguments.editor is not None:
        snippet = next(each for each in language_server_snippets() if each.key == arguments.editor)
        print(f"{snippet.editor}. {snippet.where}:\n\n{snippet.text}")
        return 0

    from app.language_server.serving import LanguageServer, pipes

    if sys.stdin is not None and sys.stdin.isatty():
        print("codecoil: This command is started by an editor. Help, In your editor, says how.", file=sys.stderr)
        return 2
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    log = open_log(folder)
    try:
        with pipes() as (read, write):
            server = LanguageServer(read, write, sources(folder, arguments))
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, lambda *_: server.end(0))
            return server.run()
    finally:
        close_log(log)


def sources(folder, arguments: argparse.Namespace):
    """How a source is opened for a folder."""
    from app.command_line.serve import open_model
    from app.data.settings_file import setting
    from app.language_server.own_folder import OwnFolder
    from app.language_server.running_program import RunningProgram, find_program

    def open_source(root, changed, lost):
        found = find_program(folder, root)
        if found is not None:
            return RunningProgram(*found, lost)
        return OwnFolder(
            root,
            folder,
            lambda: open_model(arguments.checkpoint, root, arguments.device),
            setting(folder, "least_chance"),
            setting(folder, "memory_on"),
            changed,
        )

    return open_source
