"""The log: what the program did and what went wrong, in two small files of the data folder, for a report.

It may be sent to others, so it contains nothing of the user's work: an error is written with its kind and the places in
our own code it went through, and of its words only those that name no file and quote nothing.  A repository is named,
its files are not.
"""

from __future__ import annotations

import contextlib
import io
import logging
import logging.handlers
import re
import sys
import traceback
from pathlib import Path

NAME = "codecoil.log"
MOST_BYTES = 256 * 1024  # of each of two files
LONGEST = 200  # characters of an error's words
LINE = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”")
_PATH = re.compile(r"\S*[/\\]\S*")
_FILE = re.compile(r"\b[\w-]+\.[A-Za-z]\w{0,7}\b")


class DiscreetFormatter(logging.Formatter):
    """Tracebacks without text that may contain a path or a line of the user's code."""

    def formatException(self, ei) -> str:
        return "\n".join(_lines_of(ei[1])) if ei[1] is not None else ""


def discreet(words: str) -> str:
    """Words without quotations, paths and file names."""
    words = words.splitlines()[0] if words else ""
    for pattern in (_QUOTED, _PATH, _FILE):
        words = pattern.sub("…", words)
    return words[:LONGEST]


def open_log(folder: Path) -> logging.Handler | None:
    """Start logging; None if the folder is not writable: the program works without."""
    try:
        handler = logging.handlers.RotatingFileHandler(
            folder / NAME, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8"
        )
    except OSError:
        return None
    handler.setFormatter(DiscreetFormatter(LINE))
    logger = logging.getLogger("app")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # a library's own logging goes elsewhere
    return handler


def close_log(handler: logging.Handler | None) -> None:
    """The last line was written."""
    if handler is not None:
        logger = logging.getLogger("app")
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()


class LogStream(io.TextIOBase):
    """Stands in for a missing console: whole lines become lines of the log."""

    def __init__(self) -> None:
        super().__init__()
        self._rest = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in filter(None, lines):
            logging.getLogger("app.console").info("%s", discreet(line))
        return len(text)


def need_console() -> None:
    """A windowed build on Windows has neither stdout nor stderr: print to the log instead."""
    if sys.stderr is None:
        sys.stderr = sys.stdout = LogStream()


def _lines_of(error: BaseException | None) -> list[str]:
    """An error and what caused it, the first cause first; of each the frames and the discreet words."""
    lines: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        words = "(message not available)"
        with contextlib.suppress(Exception):
            words = discreet(str(error))
        frames = "".join(traceback.format_tb(error.__traceback__)).rstrip().splitlines()
        later = ["which led to:", *lines] if lines else []
        lines = [*frames, f"{type(error).__qualname__}: {words}", *later]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return lines
