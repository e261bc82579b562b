"""The lines that the newest commits added, completed one by one: what the model would really have had to write.

Each line is completed in its file as that commit left it. Only lines of code count, and only in files that no scored
model has learned: a line that was learned proves nothing.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator

import numpy as np

from engine.corpus.corpus import Corpus
from engine.corpus.reading.git import ask_git
from engine.corpus.reading.kinds import Kind
from engine.corpus.reading.text import Decoded, decode
from engine.errors import CorpusError
from engine.scorecard.material import Cursor, HeldOutText, Material, candidate_lines, capped, fair_choice

HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
SHOW = (
    *("show", "--format=", "--unified=0", "--relative", "--no-renames", "--no-color"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
NEW_FILE = re.compile(rb'^\+\+\+ "?b/(.*?)"?\t?$')


def replay_material(corpus: Corpus, commits: int, cursors: int, seed: int, learned: Collection[str]) -> Material:
    """Lines that the newest `commits` added to files that are not in `learned`."""
    names = _commits(corpus, commits)
    texts: list[HeldOutText] = []
    found: list[Cursor] = []
    known = {v.path for v in corpus.files if v.learn and v.kind is Kind.CODE and not v.masked_lines}
    unseen = known - set(learned)
    touched = set()
    for commit in names:
        for path, lines in _added(corpus, commit):
            touched.add(path)
            if path not in unseen or not lines:
                continue
            text = _text_at(corpus, commit, path)
            if text is None:
                continue
            breaks = [place for place, letter in enumerate(text) if letter == "\n"]
            chosen = [c for c in candidate_lines(len(texts), text) if bisect_left(breaks, c.start) + 1 in lines]
            if chosen:
                texts.append(HeldOutText(path, text, corpus.by_path[path].language))
                found += chosen
    if not found:
        seen = len(touched & known & set(learned))
        raise CorpusError(
            f"The newest {len(names)} commits added no lines that the models have not learned"
            + (f"; {seen} of the files they changed were learned." if seen else "."),
            "Use more commits, or score on the held-out files (without --replay).",
        )
    chosen = fair_choice(found, cursors, np.random.default_rng([seed, 3]))
    return Material(capped(texts), chosen, seed, left_out=frozenset(text.path for text in texts))


def _commits(corpus: Corpus, count: int) -> list[str]:
    """Newest first."""
    printed = ask_git(corpus.root, ["log", f"--max-count={count}", "--no-merges", "--format=%H", "--", "."])
    if not printed:
        raise CorpusError(f"git finds no commits in {corpus.root}.", "Score on the held-out files instead.")
    return printed.decode("ascii").split()


def _added(corpus: Corpus, commit: str) -> Iterator[tuple[str, set[int]]]:
    """Each file of a commit with the numbers of the lines it added."""
    printed = ask_git(
        corpus.root,
        [*SHOW, commit, "--", "."],
    )
    path, lines = "", set()
    awaited = 0  # lines still to come in this hunk, which may look like headers
    for line in (printed or b"").split(b"\n"):
        if awaited and line[:1] in (b"+", b"-", b"\\"):
            awaited -= line[:1] == b"+"
            continue
        if line.startswith(b"diff --git "):
            if path:
                yield path, lines
            path, lines, awaited = "", set(), 0
        elif match := NEW_FILE.match(line):
            path = os.fsdecode(match[1])
        elif match := HUNK.match(line):
            first, awaited = int(match[1]), int(match[2] or 1)
            lines.update(range(first, first + awaited))
    if path:
        yield path, lines


def _text_at(corpus: Corpus, commit: str, path: str) -> str | None:
    """The file as that commit left it, if it is text."""
    data = ask_git(corpus.root, ["show", f"{commit}:./{path}"])
    decoded = decode(data) if data else None
    return decoded.text if isinstance(decoded, Decoded) else None
