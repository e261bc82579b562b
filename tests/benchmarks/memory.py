"""What the repository memory is worth: fitted on the tuning packages, reported on the evaluation packages.

    python tests/benchmarks/memory.py fit      --work FOLDER    the numbers of the mixture and of the chance, written
                                                                to resources/memory/
    python tests/benchmarks/memory.py tuning   --work FOLDER    lines and words on the tuning packages, for choosing
    python tests/benchmarks/memory.py evaluate --work FOLDER    the reported packages, once, with what was chosen
    python tests/benchmarks/memory.py quick    --work FOLDER    packages before and after a Quick adaptation to each
    python tests/benchmarks/memory.py refit    --work FOLDER    the mixture fitted again to a package's own files
    python tests/benchmarks/memory.py ablate   --work FOLDER    each part of the memory left out once (tuning packages)
    python tests/benchmarks/memory.py index                     building, opening, changing and asking a large index
    python tests/benchmarks/memory.py repository                the same for a folder of a million lines

FOLDER is the work folder of `packaging/starter_model.py`, which fetches the packages of both lists. `fit` and `tuning`
see the tuning list only. Every file is left out of its own memory, and so is every held-out file while something is
reported. Cursors stand in code. Prints name=value lines and tables in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

sys.path.append(str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from measure import report
from memory_fit import OBSERVED, bits_per_byte, do_fit, observed
from memory_lines import Line, in_processes, open_bench, packages, summary
from synthetic_repository import make

from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.devices import open_device
from engine.generate.fits import built_in_fit, fit_for
from engine.generate.fitting_in import Surroundings
from engine.memory.evidence import ORDERS, Counter, Source
from engine.memory.files import open_segment, save_segment, size_on_disk
from engine.memory.fitting import Observations, fit, losses
from engine.memory.repository_memory import RepositoryMemory
from engine.memory.segment import build_segment
from engine.model.starter import starter_place
from engine.session import Session, SessionPlan
from engine.shipped import BUILT_IN
from engine.train.options import preset

CURSORS, FITTED_CURSORS = 200, 300
PARTS_LEFT_OUT = ("repository", "before", "after", "near", "neighbours", "healing", "filter")


def of_package(work: Path, role: str, folder: Path, base: Path, cursors: int, tokens: int) -> dict[tuple, float]:
    """All measures of one package, by whose they are and what."""
    chosen, found = built_in_fit(), {}
    with open_bench(work, role, folder, base) as bench:
        for label, memory in (("model", False), ("memory", True)):
            lines = bench.lines(chosen, cursors, typing=True, memory=memory)
            found |= {(label, key): value for key, value in summary(lines, chosen.least).items()}
        written = summary(bench.lines(chosen, cursors, new_code=True), chosen.least)
        found |= {("memory, new code", key): written[key] for key in ("next_line_exact", "shown", "taken_of_shown")}
        for label, see_after in (("before", False), ("around", True)):
            seen = observed(bench.model, bench.corpus, tokens, see_after=see_after)
            alone, mixed = -np.log(seen.chance), losses(seen, chosen.mixing)
            found["model", "bits_per_byte"] = bits_per_byte(alone, seen)
            found["memory", f"bits_per_byte_{label}"] = bits_per_byte(mixed, seen)
            found["memory", f"bits_ratio_{label}"] = mixed.sum() / alone.sum()
        right, invented = bench.words(chosen, cursors)
        return found | {("memory", "words_from_three_letters"): right, ("memory", "invented_words"): invented}


def after_quick(
    work: Path, role: str, folder: Path, base: Path, cursors: int, tokens: int, mode: str = "full"
) -> dict[tuple, float]:
    """Before and after *Quick* on a package: the model alone and with the memory, on held-out files."""
    found: dict[tuple, float] = {}
    device = open_device("cpu")
    plan = SessionPlan(folder, work / "memory-data", preset("quick").changed(mode=mode), str(base))
    session = Session(plan, device)
    try:
        began = time.perf_counter()
        for _ in session.run():
            pass
        found["adapted", "seconds"] = time.perf_counter() - began
        with open_bench(work, role, folder, base) as bench:
            for label, model in (("base", bench.model), ("adapted", session.model)):
                chosen = fit_for(model)
                ways = {label: (chosen, False), f"{label} and memory": (chosen, True)}
                held_out = replace(bench, model=model, held_out=True, scoring=role == "evaluation")
                for way, lines in held_out.lines_by(ways, cursors).items():
                    measures = summary(lines, chosen.least)
                    found |= {(way, key): measures[key] for key in ("next_line_exact", "shown", "taken_of_shown")}
                seen = observed(model, bench.corpus, tokens, see_after=False, learned=False)
                found[label, "bits_per_byte"] = bits_per_byte(-np.log(seen.chance), seen)
                found[f"{label} and memory", "bits_per_byte"] = bits_per_byte(losses(seen, chosen.mixing), seen)
        return found
    finally:
        session.close()
        device.close()


def do_packages(arguments: argparse.Namespace, role: str, measure: Callable) -> None:
    places = packages(arguments.work, role)
    places = {name: place for name, place in places.items() if name in (arguments.package or places)}
    count = len(places)
    given = [arguments.work] * count, [role] * count, list(places.values()), [arguments.model] * count
    columns: dict[tuple, list[float]] = {}
    for name, found in zip(
        places, in_processes(measure, *given, [arguments.cursors] * count, [arguments.tokens] * count), strict=True
    ):
        for key, value in found.items():
            report(f"{name}.{'.'.join(key)}", value)
            columns.setdefault(key, []).append(value)
    print("| measure | " + " | ".join(places) + " | mean ± deviation |\n|" + "---|" * (count + 2))
    for (label, key), values in columns.items():
        cells = " | ".join(f"{value:.3f}" for value in values)
        spread = np.std(values, ddof=1) if count > 1 else 0.0
        print(f"| {label}: {key} | {cells} | {np.mean(values):.3f} ± {spread:.3f} |")


def do_refit(arguments: argparse.Namespace) -> None:
    """Bits on held-out files with the numbers of the other packages, and with those fitted on to the learned files."""
    learned, held_out = {}, {}
    for name, folder in packages(arguments.work, "tuning").items():
        with open_bench(arguments.work, "tuning", folder, arguments.model) as bench:
            learned[name] = observed(bench.model, bench.corpus, arguments.tokens, learned=True)
            held_out[name] = observed(bench.model, bench.corpus, arguments.tokens, learned=False)
    for name, own in learned.items():
        others = fit(Observations.join([each for other, each in learned.items() if other != name]))
        began = time.perf_counter()
        fitted = fit(own, others, steps=60)
        report(f"{name}.refit_seconds", time.perf_counter() - began)
        for label, mixing in (("others", others), ("own", fitted)):
            report(f"{name}.bits_per_byte.{label}", bits_per_byte(losses(held_out[name], mixing), held_out[name]))


def lines_without(work: Path, role: str, folder: Path, base: Path, cursors: int, part: str) -> list[Line]:
    unfiltered = {"problem": lambda self, text, *, joined: "" if text else "empty", "parses": lambda self, text: True}
    with open_bench(work, role, folder, base) as bench, ExitStack() as stack:
        if part == "filter":
            stack.enter_context(patch.multiple(Surroundings, **unfiltered))
        return bench.lines(built_in_fit(), cursors, typing=True, without=frozenset({part}))


def do_ablate(arguments: argparse.Namespace) -> None:
    measures = ("next_line_exact", "keystrokes_saved_by_line", "keystrokes_saved_by_word", "repeated_lines")
    print("| left out | next line exact | keystrokes by line | by word | repeated lines |\n|---|---|---|---|---|")
    folders = list(packages(arguments.work, "tuning").values())
    parts = ("nothing", *PARTS_LEFT_OUT)
    jobs = [
        (arguments.work, "tuning", folder, arguments.model, arguments.cursors, part)
        for part in parts
        for folder in folders
    ]
    every = in_processes(lines_without, *zip(*jobs, strict=True))
    for number, part in enumerate(parts):
        own = every[number * len(folders) : (number + 1) * len(folders)]
        found = summary([line for lines in own for line in lines], built_in_fit().least)
        print(f"| {part} | " + " | ".join(f"{found[each]:.3f}" for each in measures) + " |", flush=True)


def do_index(arguments: argparse.Namespace) -> None:
    """A synthetic text that repeats itself as code does: the same documents, changed here and there."""
    rng, tokenizer = np.random.default_rng(0), Tokenizer.load(arguments.model)
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


def do_repository(arguments: argparse.Namespace) -> None:
    """A repository of 1,000,000 lines: its memory built, opened again and after one file has changed."""
    with tempfile.TemporaryDirectory() as folder:
        root, data = Path(folder) / "repository", Path(folder) / "data"
        root.mkdir()
        make(root)
        tokenizer = Tokenizer.load(arguments.model)
        repository = Repository(root, data, tokenizer)
        corpus = repository.scan()
        for name in ("cold", "opened_again"):
            memory, began = RepositoryMemory(repository.folder, tokenizer), time.perf_counter()
            snapshot = memory.update(corpus)
            report(f"repository.{name}_ms", (time.perf_counter() - began) * 1000)
        report("repository.tokens", snapshot.tokens)
        report("repository.bytes_a_token", memory.nbytes / snapshot.tokens)
        changed = root / snapshot.entries[0].path
        changed.write_text(changed.read_text("utf-8") + "\nx = 1\n", "utf-8")
        corpus = repository.scan()
        began = time.perf_counter()
        memory.update(corpus)
        report("repository.one_file_changed_ms", (time.perf_counter() - began) * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"refit": do_refit, "ablate": do_ablate, "index": do_index, "repository": do_repository}
    parser.add_argument("part", choices=("fit", "tuning", "evaluate", "quick", *parts))
    parser.add_argument("--work", type=Path, default=Path())
    parser.add_argument("--model", type=Path, default=starter_place())
    parser.add_argument("--name", default=Path(BUILT_IN).stem, help="of the fit that is written")
    parser.add_argument("--cursors", type=int, help=f"of each package, {CURSORS}, or {FITTED_CURSORS} for `fit`")
    parser.add_argument("--tokens", type=int, default=OBSERVED, help="of each package, for bits per byte")
    parser.add_argument("--list", choices=("tuning", "evaluation"), default="evaluation", help="for `quick`")
    parser.add_argument("--mode", default="full", help="for `quick`: how it adapts")
    parser.add_argument("--package", nargs="+", help="only these packages")
    parser.add_argument("--index-tokens", type=int, default=20_000_000)
    arguments = parser.parse_args()
    arguments.cursors = arguments.cursors or (FITTED_CURSORS if arguments.part == "fit" else CURSORS)
    if arguments.part == "fit":
        do_fit(arguments.work, arguments.model, arguments.name, arguments.cursors)
    elif arguments.part in ("tuning", "evaluate"):
        do_packages(arguments, "tuning" if arguments.part == "tuning" else "evaluation", of_package)
    elif arguments.part == "quick":
        do_packages(arguments, arguments.list, partial(after_quick, mode=arguments.mode))
    else:
        parts[arguments.part](arguments)


if __name__ == "__main__":
    main()
