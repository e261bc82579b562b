"""What adapting to a repository gains, and what it costs: `python tests/benchmarks/adaptation.py [FOLDER_OR_PACKAGE …]`

By default every mode trains for the same time (`--minutes`) on each folder (the sample project and an installed package
that the starter has not seen): held-out loss before and after, tokens/s, peak memory, size of the checkpoint.  With
`--preset quick` it is a preset instead of a time, and `seconds` tells how long that took.

With `--compare`, modes x learning rates x repositories x seeds at the same number of steps (`--steps`): the rate of
each mode is chosen on the repositories that `--tune` names, and what is reported are the others, with their spread:
gain on held-out code, forgetting (loss on other code, `--other`), size of the delta.

A repository is a folder or the name of an installed package. `--base`: `starter`, a Hugging Face folder, or `tiny`, a
model that is first trained on a part of Python's standard library (kept in `--work`, so that it is trained once).
Prints name=value lines, and tables in Markdown at the end.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # last: it has an engine.py of its own
sys.path.insert(0, str(Path(__file__).parents[2]))

from adapting import MODES, Bench, Run, spread, table
from measure import report

from engine.train.options import PRESETS, TrainingOptions, preset

SAMPLE = Path(__file__).parents[2] / "resources" / "sample_repository"
UNSEEN_PACKAGE = "pyqtgraph"  # installed with the program, and not among what the starter was trained on


def main() -> None:
    arguments = parsed()
    work = Path(arguments.work or tempfile.mkdtemp(prefix="codecoil-adaptation-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        bench = Bench(work, arguments.base, arguments.other, arguments.device, arguments.base_minutes)
        (compare if arguments.compare else equal_time)(bench, arguments)
    finally:
        if not arguments.work:
            shutil.rmtree(work, ignore_errors=True)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="*", default=[str(SAMPLE), UNSEEN_PACKAGE], help="folders, or packages")
    parser.add_argument("--base", default="starter", help="starter, tiny, or a folder (default: starter)")
    parser.add_argument("--base-minutes", type=float, default=3.0, help="how long `tiny` is trained")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--minutes", type=float, default=1.0, help="of each run at equal time")
    parser.add_argument("--preset", choices=tuple(PRESETS), help="instead of minutes")
    parser.add_argument("--rate", type=float, default=0.0, help="learning rate at equal time (default: the preset's)")
    parser.add_argument("--compare", action="store_true", help="modes x rates x repositories x seeds")
    parser.add_argument("--tune", nargs="+", default=[], help="repositories that the rates are chosen on")
    parser.add_argument("--rates", nargs="+", type=float, default=[3e-4, 1e-3, 3e-3, 1e-2])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--sequence-length", type=int, default=256)
    parser.add_argument("--other", default="", help="other code, to see what is forgotten (default: standard library)")
    parser.add_argument("--work", default="", help="where the base and finished runs are kept")
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


# ---- at equal time


def equal_time(bench: Bench, arguments: argparse.Namespace) -> None:
    """Every mode for the same minutes, or by the same preset, folder by folder."""
    rows = []
    for repository in arguments.repositories:
        for mode in arguments.modes:
            run = bench.run(repository, one_run(arguments, mode))
            name = f"{Path(repository).name}.{mode}"
            report(f"{name}.held_out_before", run.before)
            report(f"{name}.held_out_after", run.after)
            report(f"{name}.forgotten", run.forgotten)
            report(f"{name}.tokens_per_second", run.tokens_per_second)
            report(f"{name}.steps", run.steps)
            report(f"{name}.seconds", run.seconds)
            report(f"{name}.peak_memory", run.peak / 2**20, "MiB")
            report(f"{name}.checkpoint", run.nbytes / 2**20, "MiB")
            rows.append(
                [
                    Path(repository).name,
                    mode,
                    f"{run.before:.3f}",
                    f"{run.after:.3f}",
                    f"{run.gain:+.3f}",
                    f"{run.forgotten:+.3f}",
                    f"{run.tokens_per_second:,.0f}",
                    f"{run.peak / 2**20:.0f} MiB",
                    f"{run.nbytes / 2**20:.2f} MiB",
                ]
            )
    heads = ["repository", "mode", "before", "after", "gain", "forgotten", "tokens/s", "peak memory", "checkpoint"]
    print("\n".join(table(heads, rows)))


def one_run(arguments: argparse.Namespace, mode: str) -> TrainingOptions:
    """A preset, or the same minutes for every mode."""
    if arguments.preset:
        return preset(arguments.preset).changed(mode=mode, learning_rate=arguments.rate)
    shape = {"batch_size": arguments.batch_size, "sequence_length": arguments.sequence_length}
    return TrainingOptions(mode, arguments.rate, steps=0, minutes=arguments.minutes, **shape)


# ---- the comparison


def compare(bench: Bench, arguments: argparse.Namespace) -> None:
    """Choose a rate for each mode on the tuning repositories, and report the others with it."""
    if not arguments.tune or set(arguments.tune) & set(arguments.repositories):
        sys.exit("--compare needs --tune with repositories that are not those reported.")
    began, rows, full = time.monotonic(), [], None
    chosen = {mode: chosen_rate(bench, arguments, mode) for mode in arguments.modes}
    for mode in sorted(arguments.modes, key=lambda mode: mode != "full"):
        runs = list(reported(bench, arguments, mode, chosen[mode]))
        gains, forgotten = [run.gain for run in runs], [run.forgotten for run in runs]
        full = statistics.mean(gains) if mode == "full" else full
        share = f"{statistics.mean(gains) / full:.0%}" if full else ""
        sizes = [run.nbytes / 2**20 for run in runs]
        report(f"{mode}.rate", chosen[mode])
        for name, values in (("gain", gains), ("forgotten", forgotten), ("checkpoint_mib", sizes)):
            report(f"{mode}.{name}", statistics.mean(values))
            report(f"{mode}.{name}_spread", spread(values))
        report(f"{mode}.tokens_per_second", statistics.median(run.tokens_per_second for run in runs))
        cells = [f"{statistics.mean(v):+.3f} ± {spread(v):.3f}" for v in (gains, forgotten)]
        size = f"{statistics.mean(sizes):.2f} ± {spread(sizes):.2f} MiB"
        worst = f"{min(gains):+.3f} to {max(gains):+.3f}"
        rows.append([mode, f"{chosen[mode]:g}", cells[0], worst, share, cells[1], size, str(len(runs))])
    report("seconds", time.monotonic() - began)
    heads = ["mode", "rate", "gain", "from, to", "of full", "forgotten", "checkpoint", "runs"]
    print("\n".join(table(heads, rows)))


def chosen_rate(bench: Bench, arguments: argparse.Namespace, mode: str) -> float:
    """The rate with the highest mean gain on the tuning repositories."""
    gains: dict[float, float] = {}
    for rate in arguments.rates:
        runs = [bench.run(name, options_of(arguments, mode, rate, arguments.seeds[0])) for name in arguments.tune]
        gains[rate] = statistics.mean(run.gain for run in runs)
        report(f"{mode}.tuning.{rate:g}.gain", gains[rate])
    best = max(gains, key=gains.get)
    if best in (min(gains), max(gains)) and len(gains) > 1:
        report(f"{mode}.note", "the best rate lies at the end of the grid")
    return best


def reported(bench: Bench, arguments: argparse.Namespace, mode: str, rate: float) -> Iterator[Run]:
    for repository, seed in product(arguments.repositories, arguments.seeds):
        run = bench.run(repository, options_of(arguments, mode, rate, seed))
        name = f"{mode}.{Path(repository).name}.{seed}"
        report(f"{name}.gain", run.gain)
        report(f"{name}.forgotten", run.forgotten)
        yield run


def options_of(arguments: argparse.Namespace, mode: str, rate: float, seed: int) -> TrainingOptions:
    options = TrainingOptions(mode, rate, arguments.steps, seed=seed)
    return replace(options, batch_size=arguments.batch_size, sequence_length=arguments.sequence_length)


if __name__ == "__main__":
    main()
