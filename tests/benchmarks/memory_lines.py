"""Lines and words as they are offered with a memory, at cursors of packages: what `memory.py` measures and fits on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from engine.corpus.corpus import Corpus
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.completer import Completer, CompletionRequest
from engine.generate.fits import Fit
from engine.generate.fitting_in import Surroundings
from engine.generate.offering import WHOLE
from engine.generate.options import AUTO
from engine.generate.precision import decode_precision
from engine.generate.requests import Completion, Offer
from engine.memory.names import NAME, names_in
from engine.memory.repository_memory import RepositoryMemory
from engine.model.model import Model, load_model
from engine.scorecard.line_measures import edit_similarity, keys_pressed
from engine.scorecard.material import Cursor, HeldOutText, Material, choose_cursors


@dataclass(frozen=True, eq=False)
class Line:
    """What happened at one cursor.  `wanted`: the line from there on; candidates: those that were ranked."""

    wanted: str
    around: Surroundings
    answer: Completion
    keys_by_line: int
    keys_by_word: int
    above: str
    below: str
    later_ms: tuple[float, ...]  # of every answer after a key
    is_new_code: bool = False  # asked as if the rest of its block were not written yet

    @property
    def offered(self) -> str:
        return first_line(self.answer)

    @property
    def exact(self) -> bool:
        return self.offered == self.wanted

    @property
    def chance(self) -> float:
        return self.answer.chance or 0.0

    @property
    def ranked(self) -> tuple[np.ndarray, int]:
        """The features of the candidates, and which of them is the line."""
        texts = [candidate.text for candidate in self.answer.candidates]
        rows = np.array([candidate.ranked_by for candidate in self.answer.candidates])
        return rows, texts.index(self.wanted) if self.wanted in texts else -1


def behind_the_block(text: str, cursor: Cursor) -> str:
    """What follows the block that a cursor is in, behind an empty line."""
    depth = cursor.start - (text.rfind("\n", 0, cursor.start) + 1)
    lines = text[cursor.end :].split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line.strip() and len(line) - len(line.lstrip()) < depth:
            return "\n\n" + "\n".join(lines[number:])
    return "\n"


def first_line(answer: Completion) -> str:
    return answer.text.split("\n", 1)[0].rstrip()


def packages(work: Path, role: str) -> dict[str, Path]:
    """The folders of a list, by name."""
    return {
        path.name.rpartition("-")[0]: path for path in sorted((work / "packages" / role).iterdir()) if path.is_dir()
    }


def in_processes(function: Callable, *arguments: Sequence) -> list:
    """As `map`, two at a time, each on one core: the threads of one process would wait for each other."""
    for name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        return list(pool.map(function, *arguments))


@contextmanager
def open_bench(work: Path, role: str, folder: Path, base: Path) -> Iterator[Bench]:
    tokenizer, model = Tokenizer.load(base), load_model(base, "cpu")
    try:
        repository = Repository(folder, work / "memory-data", tokenizer)
        yield Bench(model, repository, repository.scan(), role == "evaluation")
    finally:
        model.close()


@dataclass(frozen=True, eq=False)
class Bench:
    """A package with its memory, without what it is measured on, and a model."""

    model: Model
    repository: Repository
    corpus: Corpus
    held_out: bool  # only held-out files are measured on, and none of them is remembered
    scoring: bool = False  # of these only the ones on which no training chose anything

    def completer(self, chosen: Fit) -> Completer:
        completer = Completer(self.model, self.corpus.tokenizer, precision=decode_precision(AUTO, self.model))
        snapshot = RepositoryMemory(self.repository.folder, self.corpus.tokenizer).update(self.corpus)
        if self.held_out:
            snapshot = snapshot.without({document.path for document in self.corpus.held_out_documents})
        completer.memory, completer.fit = snapshot, chosen
        return completer

    def material(self, cursors: int) -> Material:
        """Code of held-out files, or of any file (each left out of its own memory)."""
        corpus = self.corpus
        everything = [*corpus.learned_documents, *corpus.held_out_documents]
        unseen = corpus.scoring_documents if self.scoring else corpus.held_out_documents
        documents = corpus.code_among(unseen if self.held_out else everything)
        texts = [
            HeldOutText(document.path, corpus.tokenizer.decode(corpus.document_tokens(document)))
            for document in documents
            if document.tokens > 50
        ]
        return Material(tuple(texts), choose_cursors(texts, cursors, 0), 0)

    def lines(self, chosen: Fit, cursors: int, *, memory: bool = True, **how) -> list[Line]:
        """Every cursor's line as it is offered; `how`: see `lines_by`."""
        return self.lines_by({"": (chosen, memory)}, cursors, **how)[""]

    def lines_by(
        self,
        ways: Mapping[str, tuple[Fit, bool]],
        cursors: int,
        *,
        typing: bool = False,
        inside: bool = False,
        new_code: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> dict[str, list[Line]]:
        """The same in several ways: with which fit, and whether with the memory.

        With `typing`, also the keys until the line is written; with `inside`, asked after some of the line; with
        `new_code`, as if nothing of the rest of its block were written yet.
        """
        completer, material = self.completer(next(iter(ways.values()))[0]), self.material(cursors)
        completer.without = without
        rng = np.random.default_rng(0)
        found: dict[str, list[Line]] = {name: [] for name in ways}
        try:
            for cursor in material.cursors:
                text = material.texts[cursor.file]
                begin = int(rng.integers(cursor.start + 1, cursor.end)) if inside else cursor.start
                prefix, suffix = text.text[:begin], text.text[cursor.end :]
                suffix = behind_the_block(text.text, cursor) if new_code else suffix
                wanted = text.text[begin : cursor.end]
                above = text.text[: cursor.start].rstrip().rpartition("\n")[2].strip()
                below = suffix.lstrip().partition("\n")[0].strip()
                around = Surroundings(prefix, suffix, text.path)
                for name, (fit, memory) in ways.items():
                    completer.fit = fit
                    asked = CompletionRequest(prefix, suffix, text.path, memory=memory, offer=Offer(0.0))
                    first, by_line, by_word, later = typed_line(completer, asked, wanted, typing)
                    found[name].append(Line(wanted, around, first, by_line, by_word, above, below, later, new_code))
        finally:
            completer.close()
        return found

    def words(self, chosen: Fit, cursors: int) -> tuple[float, int]:
        """How many identifiers are completed right from their first three letters, and how many became a name that
        exists nowhere though one that exists would have fitted.
        """
        completer, material = self.completer(chosen), self.material(10**6)
        places = []
        for cursor in material.cursors:
            line = material.line(cursor)
            if line.isascii() and not line.startswith(("#", '"', "'")):
                places += [(cursor, m.start(), m[0]) for m in NAME.finditer(line.encode()) if len(m[0]) >= 5]
        picked = np.random.default_rng(0).choice(len(places), min(cursors, len(places)), replace=False)
        right = invented = 0
        for cursor, start, name in (places[number] for number in np.sort(picked)):
            text, path = material.texts[cursor.file].text, material.texts[cursor.file].path
            at = cursor.start + start + 3
            answer = completer.complete(CompletionRequest(text[:at], text[cursor.end :], path, offer=Offer(0.0)))
            found = NAME.match(name[:3] + answer.text.encode())
            right += bool(answer.text) and found[0] == name
            names = set(names_in((text[: at - 3] + " " + text[cursor.end :]).encode()))
            others = completer.memory.names_beside(path)
            exists = found[0] in names or found[0] in others
            would_fit = others.fits(name[:3]) or any(each.startswith(name[:3]) for each in names)
            invented += bool(answer.text) and len(found[0]) > 3 and not exists and would_fit
        completer.close()
        return right / len(picked), invented


def typed_line(
    completer: Completer, asked: CompletionRequest, wanted: str, typing: bool
) -> tuple[Completion, int, int, tuple[float, ...]]:
    """The first answer and, with `typing`, the keys until `wanted` is written, by line and by word, and the
    milliseconds of every answer after the first.
    """
    at = by_line = by_word = 0
    first, later = None, []
    while at < len(wanted):
        answer = completer.complete(replace(asked, prefix=asked.prefix + wanted[:at]))
        later += [answer.total_ms] if first is not None else []
        first = first or answer
        if not typing:
            break
        carried, line_keys, word_keys = keys_pressed(first_line(answer), wanted[at:])
        at, by_line, by_word = at + carried, by_line + line_keys, by_word + word_keys
    return first, by_line, by_word, tuple(later)


def summary(found: list[Line], least: float) -> dict[str, float]:
    exact = np.array([line.exact for line in found])
    chance = np.array([line.chance for line in found])
    shown = np.array([bool(line.offered) and line.chance >= least for line in found])
    characters = sum(len(line.wanted) for line in found)
    surest = np.argsort(-chance)[: max(1, len(found) // 10)]
    later = [milliseconds for line in found for milliseconds in line.later_ms] or [float("nan")]
    return {
        "cursors": len(found),
        "next_line_exact": exact.mean(),
        "likeness": float(np.mean([edit_similarity(line.offered, line.wanted) for line in found])),
        "keystrokes_saved_by_line": 1 - sum(line.keys_by_line for line in found) / characters,
        "keystrokes_saved_by_word": 1 - sum(line.keys_by_word for line in found) / characters,
        "shown": shown.mean(),
        "taken_of_shown": exact[shown].mean() if shown.any() else float("nan"),
        "surest_tenth": exact[surest].mean(),
        "among_candidates": float(np.mean([line.ranked[1] >= 0 for line in found])),
        "repeated_lines": sum(bool(line.offered) and line.offered in (line.above, line.below) for line in found),
        "half_lines": sum(bool(line.offered) and line.answer.reason not in WHOLE for line in found),
        "new_cursor_p50_ms": float(np.median([line.answer.total_ms for line in found])),
        "new_cursor_p95_ms": float(np.percentile([line.answer.total_ms for line in found], 95)),
        "after_a_key_p50_ms": float(np.median(later)),
        "after_a_key_p95_ms": float(np.percentile(later, 95)),
    }
