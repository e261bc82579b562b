"""How a command makes itself known."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidewater.guards import BrokenRecord
from tidewater.ledgers.ledger import MissingRecord
from tidewater.outcome import Outcome, refused

if TYPE_CHECKING:
    from tidewater.harbour import Harbour

Handler = Callable[[argparse.Namespace, "Harbour"], Outcome]


@dataclass(frozen=True)
class Argument:
    """One argument as argparse takes it."""

    names: tuple[str, ...]
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Command:
    name: str
    help: str
    handler: Handler
    arguments: tuple[Argument, ...] = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        for argument in self.arguments:
            parser.add_argument(*argument.names, **argument.options)

    def run(self, arguments: argparse.Namespace, harbour: Harbour) -> Outcome:
        """Broken and missing records are refusals, not crashes."""
        try:
            return self.handler(arguments, harbour)
        except (BrokenRecord, MissingRecord) as error:
            return refused(str(error))


_known: dict[str, Command] = {}


def argument(*names: str, **options) -> Argument:
    return Argument(names, options)


def command(name: str, *arguments: Argument, help: str) -> Callable[[Handler], Handler]:
    """Registers a handler under a name."""

    def register(handler: Handler) -> Handler:
        if name in _known:
            raise ValueError(f"two commands are called {name}")
        _known[name] = Command(name, help, handler, arguments)
        return handler

    return register


def all_commands() -> list[Command]:
    """By name."""
    return [_known[name] for name in sorted(_known)]
