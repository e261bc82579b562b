"""Small repositories for the tests: distinct files, near-copies of them, and a tokenizer."""

from __future__ import annotations

import random
import sys
from functools import cache
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # last: it has an engine.py of its own

from synthetic_repository import Writer

from engine.corpus.reading.rules import ScanSettings
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer


@cache
def source(name: str, lines: int = 60) -> str:
    """Python code that resembles no other code."""
    return "\n".join(Writer(f"test {name}").python(lines)) + "\n"


def nearly(text: str, seed: int = 0) -> str:
    """The same with one line changed."""
    lines = text.splitlines() or [""]
    draw = random.Random(seed)
    lines[draw.randrange(len(lines) // 2, len(lines))] = f"    changed_{seed} = {draw.randrange(1000)}"
    return "\n".join(lines) + "\n"


def fill(root: Path, names: list[str] | int) -> list[str]:
    """Write files; a number makes so many names.  Returns the paths."""
    if isinstance(names, int):
        names = [f"part_{number % 5}/module_{number}.py" for number in range(names)]
    for name in names:
        write(root, name, source(name))
    return names


def write(root: Path, name: str, text: str | bytes) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train([source(f"training {number}") for number in range(40)], 600)


def opened(root: Path, data: Path, **settings) -> Repository:
    return Repository(root, data, tokenizer(), ScanSettings(**settings))
