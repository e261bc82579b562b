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
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from measure import report
from memory_fit import OBSERVED, bits_per_byte, do_fit, observed
from memory_lines import Bench, summary

from engine.corpus.repository import Repository
from engine.corpus.tokenizer import Tokenizer
from engine.generate.fits import built_in_fit
from engine.memory.evidence import ORDERS, Counter, Source
from engine.memory.files import open_segment, save_segment, size_on_disk
from engine.memory.fitting import losses
from engine.memory.segment import build_segment
from engine.model.model import Model, load_model
from engine.model.starter import starter_place

CURSORS = 200
PARTS_LEFT_OUT = ("repository", "before", "after", "near", "neighbours", "healing", "filter")


def benches(work: Path, role: str, model: Model, tokenizer: Tokenizer) -> Iterator[tuple[str, Bench]]:
    for folder in sorted(path for path in (work / "packages" / role).iterdir() if path.is_dir()):
        repository = Repository(folder, work / "memory-data", tokenizer)
        yield folder.name.rpartition("-")[0], Bench(model, repository, repository.scan(), role == "evaluation")


def do_lines(arguments: argparse.Namespace, model: Model, tokenizer: Tokenizer, role: str) -> None:
    chosen, columns, names = built_in_fit(), {}, []
    for name, bench in benches(arguments.work, role, model, tokenizer):
        found = {}
        for label, memory in (("model", False), ("memory", True)):
            lines = bench.lines(chosen, arguments.cursors, typing=True, memory=memory)
            found |= {(label, key): value for key, value in summary(lines, chosen.judge.least).items()}
        for label, see_after in (("before", False), ("around", True)):
            seen = observed(model, bench.corpus, arguments.tokens, see_after=see_after)
            alone, mixed = -np.log(seen.chance), losses(seen, chosen.mixing)
            found["model", "bits_per_byte"] = bits_per_byte(alone, seen)
            found["memory", f"bits_per_byte_{label}"] = bits_per_byte(mixed, seen)
            found["memory", f"bits_ratio_{label}"] = mixed.sum() / alone.sum()
        right, invented = bench.words(chosen, arguments.cursors)
        found |= {("memory", "words_from_three_letters"): right, ("memory", "invented_words"): invented}
        for (label, key), value in found.items():
            report(f"{name}.{label}.{key}", value)
            columns.setdefault((label, key), []).append(value)
        names.append(name)
    print("| measure | " + " | ".join(names) + " | mean ± deviation |\n|" + "---|" * (len(names) + 2))
    for (label, key), values in columns.items():
        cells = " | ".join(f"{value:.3f}" for value in values)
        spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
        print(f"| {label}: {key} | {cells} | {np.mean(values):.3f} ± {spread:.3f} |")


def do_ablate(arguments: argparse.Namespace, model: Model, tokenizer: Tokenizer) -> None:
    chosen = built_in_fit()
    measures = ("next_line_exact", "keystrokes_saved_by_line", "keystrokes_saved_by_word", "repeated_lines")
    print("| left out | next line exact | keystrokes by line | by word | repeated lines |\n|---|---|---|---|---|")
    for part in ("nothing", *PARTS_LEFT_OUT):
        every = []
        for _, bench in benches(arguments.work, "tuning", model, tokenizer):
            every += bench.lines(chosen, arguments.cursors, typing=True, without=frozenset({part}))
        found = summary(every, chosen.judge.least)
        print(f"| {part} | " + " | ".join(f"{found[each]:.3f}" for each in measures) + " |", flush=True)


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
            do_fit(dict(benches(arguments.work, "tuning", model, tokenizer)))
        elif arguments.part in ("tuning", "evaluate"):
            role = "tuning" if arguments.part == "tuning" else "evaluation"
            do_lines(arguments, model, tokenizer, role)
        else:
            {"ablate": do_ablate, "index": do_index}[arguments.part](arguments, model, tokenizer)
    finally:
        model.close()


if __name__ == "__main__":
    main()
