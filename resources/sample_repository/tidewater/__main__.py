"""The way in from the shell."""

from __future__ import annotations

import argparse
import sys

from tidewater import VERSION
from tidewater.commands import all_commands
from tidewater.harbour import open_harbour


def build_parser() -> argparse.ArgumentParser:
    """One sub-command for everything that registered itself."""
    parser = argparse.ArgumentParser(prog="tidewater", description="Plans a small harbour.")
    parser.add_argument("--version", action="version", version=f"tidewater {VERSION}")
    parser.add_argument("--harbour", default="harbour.sqlite3", help="the file that the harbour is kept in")
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")
    for entry in all_commands():
        sub = commands.add_parser(entry.name, help=entry.help)
        entry.add_arguments(sub)
        sub.set_defaults(entry=entry)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Runs one command and prints its outcome; 1 where it was refused."""
    arguments = build_parser().parse_args(argv)
    with open_harbour(arguments.harbour) as harbour:
        outcome = arguments.entry.run(arguments, harbour)
    stream = sys.stdout if outcome.is_settled else sys.stderr
    for line in outcome.lines():
        print(line, file=stream)
    return 0 if outcome.is_settled else 1


if __name__ == "__main__":
    sys.exit(main())
