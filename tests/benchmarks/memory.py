"""What the repository memory is worth: fitted on the tuning packages, reported on the evaluation packages.

    python tests/benchmarks/memory.py fit      --work FOLDER    the numbers of the mixture and of the chance, written
                                                                to resources/memory/
    python tests/benchmarks/memory.py tuning   --work FOLDER    lines and words on the tuning packages, for choosing
    python tests/benchmarks/memory.py evaluate --work FOLDER    the reported packages, once, with what was chosen
    python tests/benchmarks/memory.py ablate   --work FOLDER    each part of the memory left out once (tuning packages)
    python tests/benchmarks/memory.py index                     building, opening, changing and asking a large index

FOLDER is the work folder of `packaging/starter_model.py`, which fetches the packages of both lists. `fit` and `tuning`
see the tuning list only. Every file is left out of its own memory, and so is every held-out file while something is
reported. Cursors stand in code. Prints name=value lines and tables in Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from measure import report

from engine.corpus.corpus import Corpus
from engine.corpus.framing import Framing
from engine.corpus.repository import Repository
from engine.corpus.tokenizer import Tokenizer
from engine.generate.chance import Judge, fit_judge
from engine.generate.completer import Completer, CompletionRequest
from engine.generate.fits import BUILT_IN, Fit, built_in_fit, fits_place
from engine.generate.requests import Offer
from engine.memory.evidence import ORDERS, Counter, Source
from engine.memory.fitting import Observations, fit, losses, observe
from engine.memory.names import NAME
from engine.memory.repository_memory import RepositoryMemory
from engine.memory.segment import build_segment
from engine.model.model import Model, load_model
from engine.model.starter import starter_place
from engine.scorecard.line_measures import edit_similarity, keys_pressed
from engine.scorecard.material import HeldOutText, Material, choose_cursors

OBSERVED = 24_000  # tokens of each tuning package that the mixture is fitted on
LONGEST_DOCUMENT = 3_000  # tokens of one document among these
CURSORS = 200
COST = 5.0  # keys of attention that a wrong suggestion takes
LEAST_TAKEN = 0.55  # of what is shown
PARTS_LEFT_OUT = ("repository", "before", "after", "near", "healing")
WINDOW = 1024


# ---- material


def corpora(work: Path, role: str, tokenizer: Tokenizer) -> Iterator[tuple[str, Repository, Corpus]]:
    for folder in sorted(path for path in (work / "packages" / role).iterdir() if path.is_dir()):
        repository = Repository(folder, work / "memory-data", tokenizer)
        yield folder.name.rpartition("-")[0], repository, repository.scan()


def material_of(corpus: Corpus, held_out: bool, cursors: int, seed: int = 0) -> Material:
    """Code of the files that only score, or of any file (each left out of its own memory)."""
    everything = [*corpus.learned_documents, *corpus.held_out_documents]
    documents = corpus.code_among(corpus.scoring_documents if held_out else everything)
    texts = [
        HeldOutText(document.path, corpus.tokenizer.decode(corpus.document_tokens(document)))
        for document in documents
        if document.tokens > 50
    ]
    return Material(tuple(texts), choose_cursors(texts, cursors, seed), seed)


# ---- fitting


def observed(model: Model, corpus: Corpus, most: int, *, see_after: bool = True) -> Observations:
    """Tokens of a package's code, as if each were to be written now."""
    tokenizer = corpus.tokenizer
    documents = [*corpus.learned_documents, *corpus.held_out_documents]
    content = [(each.path, each.digest, corpus.document_tokens(each)) for each in documents]
    segment = build_segment(content, tokenizer.vocab_size)
    code = {document.path for document in corpus.code_among(documents)}
    entries = [entry for entry in segment.entries if entry.path in code and entry.count > 50]
    np.random.default_rng(0).shuffle(entries)
    counter, framing = Counter(tokenizer.vocab_size, tokenizer.special.end_of_text), Framing(tokenizer)
    newline = np.array([b"\n" in data for data in tokenizer.token_bytes])
    parts, size = [], 0
    for entry in entries:
        if size >= most:
            break
        ids = segment.tokens[entry.start : entry.start + min(entry.count, LONGEST_DOCUMENT)]
        chance, best = model_chances(model, framing, entry.path, ids)
        source = Source(segment, own=(entry.start, entry.start + entry.count + 1))
        ends, lengths = np.flatnonzero(newline[ids]), tokenizer.byte_lengths[ids]
        parts.append(observe(counter, (source,), ids, ends, chance, best, lengths, see_after=see_after))
        size += len(ids)
    return Observations.join(parts)


def model_chances(model: Model, framing: Framing, path: str, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The model's probability (n,) of each token of a document, and of its best one there."""
    head = framing.header(path).astype(np.int64)
    whole = np.concatenate([head, ids.astype(np.int64)])
    chance, best = np.ones(len(whole)), np.ones(len(whole))
    for begin in range(0, len(whole) - 1, WINDOW):
        part = whole[begin : begin + WINDOW + 1]
        padded = np.zeros((1, WINDOW), np.int32)
        padded[0, : len(part) - 1] = part[:-1]
        scores = model.logits(padded)[0][: len(part) - 1].astype(np.float64)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        sums = shares.sum(axis=1)
        chance[begin + 1 : begin + len(part)] = shares[np.arange(len(part) - 1), part[1:]] / sums
        best[begin + 1 : begin + len(part)] = 1 / sums
    return chance[len(head) :], best[len(head) :]


def bits_per_byte(nats: np.ndarray, observations: Observations) -> float:
    return float(nats.sum() / np.log(2) / observations.lengths.sum())


def do_fit(arguments: argparse.Namespace, model: Model, tokenizer: Tokenizer) -> None:
    """Mixture first, then the chance with that mixture; each also fitted without one package and tried on it."""
    packages = {name: (repository, corpus) for name, repository, corpus in corpora(arguments.work, "tuning", tokenizer)}
    seen = {name: observed(model, corpus, OBSERVED) for name, (_, corpus) in packages.items()}
    for name in packages:
        others = fit(Observations.join([each for other, each in seen.items() if other != name]))
        alone, mixed = -np.log(seen[name].chance), losses(seen[name], others)
        report(f"{name}.bits_per_byte.model", bits_per_byte(alone, seen[name]))
        report(f"{name}.bits_per_byte.mixed", bits_per_byte(mixed, seen[name]))
    mixing = fit(Observations.join(list(seen.values())))
    weights = sum(int(np.prod(parameter.shape)) for parameter in model.network.parameters.values())
    begun = Fit(mixing, Judge(np.array([1.0] + [0.0] * 12)), False, weights)
    results = {
        name: lines(model, tokenizer, *pair, begun, held_out=False, cursors=300) for name, pair in packages.items()
    }
    offered = [result for found in results.values() for result in found if result.features is not None]
    rows = np.array([astuple(result.features) for result in offered])
    taken = np.array([result.exact for result in offered], np.float64)
    owner = np.array([name for name, found in results.items() for result in found if result.features is not None])
    crossed = np.zeros(len(taken))
    for name in results:
        judge = Judge(fit_judge(rows[owner != name], taken[owner != name]))
        crossed[owner == name] = [judge.chance(result.features) for result in np.array(offered, object)[owner == name]]
    saved = np.array([max(0, len(result.wanted) - 1) for result in offered])
    least = best_threshold(crossed, taken, saved)
    judge = Judge(fit_judge(rows, taken), least)
    print_reliability(crossed, taken)
    shown = crossed >= least
    report("least", least)
    report("shown", shown.mean())
    report("taken_of_shown", taken[shown].mean())
    for share in (10, 5, 3):
        order = np.argsort(-crossed)[: len(crossed) // share]
        report(f"surest_1_of_{share}", taken[order].mean())
    content = json.dumps(replace(begun, judge=judge).to_json(), indent=1)
    (fits_place() / BUILT_IN).write_text(content + "\n", "utf-8")


def best_threshold(chance: np.ndarray, taken: np.ndarray, saved: np.ndarray) -> float:
    """The one that saves most keys if a wrong suggestion costs COST of them, in steps of a hundredth; higher where
    fewer than LEAST_TAKEN of what it shows would be taken.
    """
    steps = np.arange(5, 96) / 100
    worth = [float(np.where(taken > 0, saved, -COST)[chance >= step].sum()) for step in steps]
    best = int(np.argmax(worth))
    report("least_by_keys", float(steps[best]))
    return float(next((step for step in steps[best:] if taken[chance >= step].mean() >= LEAST_TAKEN), steps[best]))


def print_reliability(chance: np.ndarray, taken: np.ndarray) -> None:
    print("| said | cursors | taken |\n|---|---|---|")
    for low in np.arange(0, 1, 0.1):
        among = (chance >= low) & (chance < low + 0.1)
        if among.any():
            print(f"| {low:.1f} to {low + 0.1:.1f} | {among.sum()} | {taken[among].mean():.0%} |")


# ---- lines and words


@dataclass(frozen=True, eq=False)
class Line:
    """What happened at one cursor."""

    wanted: str
    offered: str
    chance: float
    features: object
    keys_by_line: int
    keys_by_word: int
    first_ms: float
    above: str
    below: str

    @property
    def exact(self) -> bool:
        return self.offered == self.wanted


def lines(
    model: Model,
    tokenizer: Tokenizer,
    repository: Repository,
    corpus: Corpus,
    chosen: Fit,
    *,
    held_out: bool,
    cursors: int,
    typing: bool = False,
    memory: bool = True,
    without: frozenset[str] = frozenset(),
    fill_in: bool | None = None,
) -> list[Line]:
    """Every cursor's line as it is offered; with `typing`, also the keys until the line is written."""
    material = material_of(corpus, held_out, cursors)
    snapshot = RepositoryMemory(repository.folder, tokenizer).update(corpus)
    if held_out:
        snapshot = snapshot.without({document.path for document in corpus.held_out_documents})
    completer = Completer(model, tokenizer)
    completer.memory, completer.without = snapshot, without
    completer.fit = chosen if fill_in is None else replace(chosen, fill_in=fill_in)
    found = []
    try:
        for cursor in material.cursors:
            text = material.texts[cursor.file]
            prefix, suffix, wanted = text.text[: cursor.start], text.text[cursor.end :], material.line(cursor)
            at = by_line = by_word = 0
            first = None
            while at < len(wanted):
                request = CompletionRequest(prefix + wanted[:at], suffix, text.path, memory=memory, offer=Offer(0.0))
                answer = completer.complete(request)
                first = first or answer
                if not typing:
                    break
                offer = answer.text.split("\n", 1)[0].rstrip()
                carried, line_keys, word_keys = keys_pressed(offer, wanted[at:])
                at, by_line, by_word = at + carried, by_line + line_keys, by_word + word_keys
            offered = first.text.split("\n", 1)[0].rstrip()
            above, below = prefix.rstrip().rpartition("\n")[2].strip(), suffix.lstrip().partition("\n")[0].strip()
            found.append(
                Line(
                    wanted, offered, first.chance or 0.0, first.features, by_line, by_word, first.total_ms, above, below
                )
            )
    finally:
        completer.close()
    return found


def words(model, tokenizer, repository, corpus, chosen: Fit, cursors: int) -> float:
    """How many identifiers are completed right from their first three letters."""
    material = material_of(corpus, True, 10**6)
    snapshot = RepositoryMemory(repository.folder, tokenizer).update(corpus)
    snapshot = snapshot.without({document.path for document in corpus.held_out_documents})
    completer = Completer(model, tokenizer)
    completer.memory, completer.fit = snapshot, chosen
    places = []
    for cursor in material.cursors:
        line = material.line(cursor)
        if line.startswith(("#", '"', "'")):
            continue
        places += [(cursor, m.start(), m[0]) for m in NAME.finditer(line.encode()) if len(m[0]) >= 5 and line.isascii()]
    picked = np.random.default_rng(0).choice(len(places), min(cursors, len(places)), replace=False)
    right = 0
    for cursor, start, name in (places[number] for number in np.sort(picked)):
        text = material.texts[cursor.file].text
        at = cursor.start + start + 3
        answer = completer.complete(
            CompletionRequest(text[:at], text[cursor.end :], material.texts[cursor.file].path, offer=Offer(0.0))
        )
        found = NAME.match((name[:3].decode() + answer.text).encode())
        right += found is not None and found[0] == name
    completer.close()
    return right / len(picked)


def summary(found: list[Line], least: float) -> dict[str, float]:
    exact = np.array([line.exact for line in found])
    chance = np.array([line.chance for line in found])
    shown = np.array([bool(line.offered) and line.chance >= least for line in found])
    characters = sum(len(line.wanted) for line in found)
    surest = np.argsort(-chance)[: max(1, len(found) // 10)]
    return {
        "cursors": len(found),
        "next_line_exact": exact.mean(),
        "likeness": float(np.mean([edit_similarity(line.offered, line.wanted) for line in found])),
        "keystrokes_saved_by_line": 1 - sum(line.keys_by_line for line in found) / characters,
        "keystrokes_saved_by_word": 1 - sum(line.keys_by_word for line in found) / characters,
        "shown": shown.mean(),
        "taken_of_shown": exact[shown].mean() if shown.any() else float("nan"),
        "surest_tenth": exact[surest].mean(),
        "repeated_lines": sum(bool(line.offered) and line.offered in (line.above, line.below) for line in found),
        "p50_ms": float(np.median([line.first_ms for line in found])),
    }


def do_lines(arguments: argparse.Namespace, model: Model, tokenizer: Tokenizer, role: str) -> None:
    chosen, columns, names = built_in_fit(), {}, []
    for name, repository, corpus in corpora(arguments.work, role, tokenizer):
        held_out = role == "evaluation"
        for label, memory in (("model", False), ("memory", True)):
            found = lines(
                model, tokenizer, repository, corpus, chosen,
                held_out=held_out, cursors=arguments.cursors, typing=True, memory=memory,
            )  # fmt: skip
            measures = summary(found, chosen.judge.least)
            for key, value in measures.items():
                report(f"{name}.{label}.{key}", value)
                columns.setdefault((label, key), []).append(value)
        seen = observed(model, corpus, arguments.tokens, see_after=False)
        alone, mixed = -np.log(seen.chance), losses(seen, chosen.mixing)
        found = {
            "bits_alone": bits_per_byte(alone, seen),
            "bits_mixed": bits_per_byte(mixed, seen),
            "bits_ratio": mixed.sum() / alone.sum(),
            "words": words(model, tokenizer, repository, corpus, chosen, arguments.cursors),
        }
        for key, value in found.items():
            report(f"{name}.{key}", value)
            columns.setdefault(("memory", key), []).append(value)
        names.append(name)
    print("| measure | " + " | ".join(names) + " | mean ± deviation |\n|" + "---|" * (len(names) + 2))
    for (label, key), values in columns.items():
        cells = " | ".join(f"{value:.3f}" for value in values)
        spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
        print(f"| {label}: {key} | {cells} | {np.mean(values):.3f} ± {spread:.3f} |")


def do_ablate(arguments: argparse.Namespace, model: Model, tokenizer: Tokenizer) -> None:
    chosen = built_in_fit()
    cases = {
        "all": {},
        **{part: {"without": frozenset({part})} for part in PARTS_LEFT_OUT},
        "fill-in prompt": {"fill_in": True},
    }
    print("| left out | next line exact | keystrokes by line | by word |\n|---|---|---|---|")
    for label, options in cases.items():
        every = []
        for _, repository, corpus in corpora(arguments.work, "tuning", tokenizer):
            every += lines(
                model, tokenizer, repository, corpus, chosen,
                held_out=False, cursors=arguments.cursors, typing=True, **options,
            )  # fmt: skip
        found = summary(every, chosen.judge.least)
        measures = ("next_line_exact", "keystrokes_saved_by_line", "keystrokes_saved_by_word")
        print(f"| {label} | " + " | ".join(f"{found[each]:.3f}" for each in measures) + " |", flush=True)


def do_index(arguments: argparse.Namespace, model: Model, tokenizer: Tokenizer) -> None:
    """A synthetic text that repeats itself as code does: the same documents, changed here and there."""
    rng = np.random.default_rng(0)
    base = [
        tokenizer.encode(path.read_text("utf-8"))
        for path in sorted((Path(__file__).parents[2] / "engine").rglob("*.py"))
    ]
    documents, size = [], 0
    while size < arguments.index_tokens:
        ids = base[int(rng.integers(len(base)))].copy()
        changed = rng.random(len(ids)) < 0.05
        ids[changed] = rng.integers(6, tokenizer.vocab_size, changed.sum())
        documents.append((f"d{len(documents)}.py", f"{len(documents):032x}", ids))
        size += len(ids)
    began = time.perf_counter()
    segment = build_segment(documents, tokenizer.vocab_size)
    report("index.tokens", segment.count)
    report("index.build_seconds", time.perf_counter() - began)
    from engine.memory.files import open_segment, save_segment, size_on_disk

    with tempfile.TemporaryDirectory() as folder:
        save_segment(Path(folder), segment, {})
        report("index.bytes_a_token", size_on_disk(Path(folder)) / segment.count)
        began = time.perf_counter()
        opened, _ = open_segment(Path(folder))
        report("index.open_ms", (time.perf_counter() - began) * 1000)
        counter = Counter(tokenizer.vocab_size, tokenizer.special.end_of_text)
        source = (Source(opened),)
        places = rng.integers(100, len(opened.tokens), 5_000)
        counter.of_segments(source, opened.tokens[: ORDERS[-1]])
        began = time.perf_counter()
        for place in places.tolist():
            counter.of_segments(source, opened.tokens[place - ORDERS[-1] : place])
        report("index.ask_ms", (time.perf_counter() - began) / len(places) * 1000)
        del opened, source
    began = time.perf_counter()
    build_segment(documents[:8], tokenizer.vocab_size)
    report("index.small_segment_ms", (time.perf_counter() - began) * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("fit", "tuning", "evaluate", "ablate", "index"))
    parser.add_argument("--work", type=Path, default=Path())
    parser.add_argument("--model", type=Path, default=starter_place())
    parser.add_argument("--cursors", type=int, default=CURSORS)
    parser.add_argument("--tokens", type=int, default=OBSERVED, help="of each package, for bits per byte")
    parser.add_argument("--index-tokens", type=int, default=20_000_000)
    arguments = parser.parse_args()
    tokenizer, model = Tokenizer.load(arguments.model), load_model(arguments.model, "cpu")
    try:
        if arguments.part == "fit":
            do_fit(arguments, model, tokenizer)
        elif arguments.part in ("tuning", "evaluate"):
            role = "tuning" if arguments.part == "tuning" else "evaluation"
            do_lines(arguments, model, tokenizer, role)
        else:
            {"ablate": do_ablate, "index": do_index}[arguments.part](arguments, model, tokenizer)
    finally:
        model.close()


if __name__ == "__main__":
    main()
