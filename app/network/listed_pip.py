"""A program of its own, run by `package_fetching`: pip, with the guard listing every connection that it makes.

    python listed_pip.py LISTING pip's arguments…

The hosts are those of the user's own pip settings (an index, a mirror, a proxy), which nobody else knows beforehand: so
nothing is refused here, but each attempt is a line of JSON in LISTING, from where it gets into the list of the window.
Standard library only: it runs in the interpreter whose pip is used.
"""

from __future__ import annotations

import importlib.util
import json
import runpy
import sys
from dataclasses import asdict
from pathlib import Path


def main(listing: str, arguments: list[str]) -> None:
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]  # its names are not pip's
    list_connections(here / "connections.py", Path(listing))
    sys.argv = ["pip", *arguments]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


def list_connections(guard_file: Path, listing: Path) -> None:
    """Have a recording guard in this process write down what it sees, as it sees it."""
    spec = importlib.util.spec_from_file_location("codecoil_guard", guard_file)
    connections = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(connections)
    guard = connections.Guard(record=True)
    see = connections.hook_of(guard)

    def hook(event: str, arguments: tuple) -> None:
        before = guard.refused
        see(event, arguments)
        if guard.refused > before:
            with open(listing, "a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(guard.attempts[-1])) + "\n")

    sys.addaudithook(hook)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
