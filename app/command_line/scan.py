"""`codecoil scan`: which files of a folder are used, which are left out, and why."""

from __future__ import annotations

import argparse
import json
import sys
import time

from app.data.data_folder import data_folder
from app.values.words import duration, nbytes

LARGEST = 10  # learned files that are shown
MOST_SECRETS = 30  # that are shown; the JSON has them all
BAR = 24  # characters


class ProgressBar:
    """Scan progress, on standard error if that is a terminal."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()

    def __call__(self, done: int, total: int, what: str) -> None:
        if not self.live:
            return
        filled = round(BAR * done / total) if total else 0
        count = f"{done:,} of {total:,}" if total else f"{done:,}" if done else ""
        line = f"[{'#' * filled}{'-' * (BAR - filled)}] {what} {count}"
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the bar."""
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace) -> int:
    """Scan the folder and print the result, for people or as JSON."""
    from engine.corpus.repository import Repository
    from engine.corpus.tokens.own_tokenizer import own_tokenizer
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.model.starter import starter_folder

    began = time.monotonic()
    progress = ProgressBar()
    try:
        repository = Repository(arguments.path, data_folder())
        repository.list_files(progress)
        progress(0, 0, "Preparing the tokenizer")
        starter = starter_folder()  # its tokens are what training counts, and the window
        repository.use_tokenizer(Tokenizer.load(starter) if starter is not None else own_tokenizer(repository))
        corpus = repository.tokenise(progress)
    finally:
        progress.clear()
    if arguments.json:
        print(json.dumps(as_json(corpus)))
        return 0
    print("\n".join(lines(corpus)))
    print(f"\nScanned in {duration(time.monotonic() - began)}. The folder was not changed.")
    for note in corpus.notes:
        print(f"codecoil: {note}", file=sys.stderr)
    return 0


def as_json(corpus) -> dict:
    """The whole result.  Bytes of names that are not UTF-8 appear as lone surrogates, as in Python."""
    totals = corpus.totals

    def tally(counted) -> dict[str, int]:
        return {"files": counted.files, "bytes": counted.bytes, "tokens": counted.tokens}

    return {
        "files": [
            {
                "path": verdict.path,
                "verdict": "learn" if verdict.learn else "leave",
                "reason": None if verdict.learn or verdict.reason is None else verdict.reason.value,
                "language": verdict.language,
                "kind": verdict.kind,
                "bytes": verdict.size,
                "tokens": verdict.tokens,
                "held_out": verdict.held_out,
            }
            for verdict in corpus.files
        ],
        "totals": {
            **tally(totals.all),
            "learned": tally(totals.learned),
            "held_out": tally(totals.held_out),
            "by_language": {language: tally(counted) for language, counted in totals.by_language.items()},
            "by_reason": {reason.value: tally(counted) for reason, counted in totals.by_reason.items()},
        },
        "secrets": [{"path": finding.path, "line": finding.line, "kind": finding.kind} for finding in corpus.secrets],
    }


def lines(corpus) -> list[str]:
    """The result for people, line by line."""
    totals = corpus.totals
    learned, held_out = totals.learned, totals.held_out
    text = [
        plain(str(corpus.root)),
        f"{counted(learned.files, 'file')} used, {nbytes(learned.bytes)}, {counted(learned.tokens, 'token')}:"
        f" {counted(learned.files - held_out.files, 'file')} to learn and {counted(held_out.files, 'file')}"
        f" ({counted(held_out.tokens, 'token')}) held out for measuring.",
    ]
    text += table(
        "Used",
        [
            (language or "unknown", one.files, nbytes(one.bytes), one.tokens)
            for language, one in totals.by_language.items()
        ],
    )
    text += table(
        "Left out", [(reason.words, one.files, nbytes(one.bytes), "") for reason, one in totals.by_reason.items()]
    )
    largest = sorted((one for one in corpus.files if one.learn), key=lambda one: (-(one.tokens or 0), one.path))
    if largest:
        text += ["", "Largest files used"]
        text += [f"  {one.tokens or 0:>12,} tokens  {plain(one.path)}" for one in largest[:LARGEST]]
    if corpus.secrets:
        text += ["", "Secrets found (their values are never learned, stored or shown)"]
        text += [f"  {plain(one.path)}:{one.line}  {one.kind}" for one in corpus.secrets[:MOST_SECRETS]]
        if len(corpus.secrets) > MOST_SECRETS:
            text.append(f"  and {len(corpus.secrets) - MOST_SECRETS:,} more (--json lists all)")
    return text


def table(title: str, rows: list[tuple]) -> list[str]:
    """A heading and rows of name, files, size and tokens."""
    if not rows:
        return []
    tokens = f"{'tokens':>14}" if rows[0][3] != "" else ""
    text = ["", f"{title:<38}{'files':>8}{'size':>12}{tokens}"]
    for name, files, size, count in rows:
        text.append(f"  {name:<36}{files:>8,}{size:>12}" + (f"{count:>14,}" if count != "" else ""))
    return text


def counted(number: int, what: str) -> str:
    """1 file, 2,345 files."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def plain(path: str) -> str:
    """A name that is safe to print: unprintable characters are escaped, so that no name can control the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in path
    )
