"""Speed and memory of the corpus: `python tests/benchmarks/corpus.py [FOLDER]`.  Prints name=value lines.

Without a folder it makes a synthetic repository of 1,000,000 lines in 5,000 files in a temporary folder.  Every part
runs in a process of its own, as in the program's life: the first scan, the next start, changes.  A folder that is named
is only read, so there are no changes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # last: it has an engine.py of its own
sys.path.insert(0, str(Path(__file__).parents[2]))

ROUNDS = 3  # of what can be repeated; the shortest counts
UPDATES = 25


def peak_megabytes() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) / 1e3 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def opened(root: Path, data: Path):
    from engine.corpus.repository import Repository

    return Repository(root, data)


def warm_up() -> None:
    """Compile, or load from Numba's cache, what is compiled: that is paid once per installation."""
    from synthetic_repository import make

    from engine.corpus.tokens.own_tokenizer import own_tokenizer

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "small"
        root.mkdir()
        make(root, 40, 4000)
        repository = opened(root, Path(folder) / "data")
        repository.list_files()
        repository.use_tokenizer(own_tokenizer(repository))
        repository.scan()


def cold(root: Path, data: Path) -> None:
    """The first scan of a folder: list, tokenizer, tokens."""
    from measure import report, seconds

    from engine.corpus.tokens.own_tokenizer import own_tokenizer

    warm_up()
    repository = opened(root, data)
    began = time.process_time()
    listing = seconds(repository.list_files)
    report("corpus_list_cold_s", listing, "(target <= 2 for 5,000 files)")
    report("corpus_list_cold_cpu_s", time.process_time() - began)
    report("corpus_train_tokenizer_s", seconds(lambda: repository.use_tokenizer(own_tokenizer(repository))))
    tokens = seconds(repository.tokenise)
    report("corpus_tokenise_cold_s", tokens)
    report("corpus_scan_cold_s", listing + tokens, "(target <= 30 for 1 M lines)")
    report("corpus_peak_memory_cold_mb", peak_megabytes(), "(target <= 500)")
    totals = repository.tokenise().totals
    report("corpus_files", totals.all.files)
    report("corpus_files_learned", totals.learned.files)
    report("corpus_files_held_out", totals.held_out.files)
    report("corpus_bytes_learned", totals.learned.bytes)
    report("corpus_tokens", totals.learned.tokens)
    for reason, tally in totals.by_reason.items():
        report(f"corpus_left_out_{reason.value}", tally.files)


def warm(root: Path, data: Path) -> None:
    """The next start of the program, with nothing changed."""
    from measure import report

    from engine.corpus.repository import Repository
    from engine.corpus.tokens.own_tokenizer import own_tokenizer

    began = time.perf_counter()
    repository = opened(root, data)
    tokenizer = own_tokenizer(repository)
    repository = Repository(root, data, tokenizer)
    corpus = repository.scan()
    report("corpus_scan_unchanged_s", time.perf_counter() - began, "(target <= 2)")
    began = time.perf_counter()
    repository.scan()
    report("corpus_scan_unchanged_again_s", time.perf_counter() - began)
    report("corpus_peak_memory_warm_mb", peak_megabytes(), "(target <= 500)")
    report("corpus_secrets_found", len(corpus.secrets))


def changes(root: Path, data: Path) -> None:
    """One file changed, created and deleted, many times."""
    from measure import report, seconds

    from engine.corpus.repository import Repository
    from engine.corpus.tokens.own_tokenizer import own_tokenizer

    repository = Repository(root, data, own_tokenizer(opened(root, data)))
    learned = [each.path for each in repository.scan().files if each.learn and each.path != ".gitignore"]
    times: dict[str, list[float]] = {"changed": [], "created": [], "deleted": []}
    for number in range(UPDATES):
        path = learned[number * len(learned) // UPDATES]
        before = (root / path).read_bytes()
        (root / path).write_bytes(before + f"\nadded = {number}\n".encode())
        times["changed"].append(seconds(lambda path=path: repository.update([path])))
        (root / path).write_bytes(before)
        repository.update([path])
        new = root / "new" / f"file_{number}.py"
        new.parent.mkdir(exist_ok=True)
        new.write_bytes(before[::-1].decode(errors="replace").encode())
        times["created"].append(seconds(lambda new=new: repository.update([new])))
        new.unlink()
        times["deleted"].append(seconds(lambda new=new: repository.update([new])))
    for what, measured in times.items():
        measured.sort()
        report(f"corpus_update_{what}_ms", 1e3 * statistics.median(measured), "(target <= 100)")
        report(f"corpus_update_{what}_slowest_ms", 1e3 * measured[-1])
    write = root / ".gitignore"
    before = write.read_text() if write.exists() else ""
    write.write_text(before + "never_there/\n")
    report("corpus_update_gitignore_ms", 1e3 * seconds(lambda: repository.update([".gitignore"])))
    write.write_text(before)


def stops(root: Path, data: Path) -> None:
    """How long a first scan continues after it was cancelled, at several moments."""
    from measure import report

    from engine.corpus.reading.scan_progress import ScanCancelledError
    from engine.corpus.repository import Repository
    from engine.corpus.tokens.own_tokenizer import own_tokenizer

    tokenizer = own_tokenizer(opened(root, data))
    delays = []
    for moment in range(1, 9):
        with tempfile.TemporaryDirectory() as empty:
            deadline = time.perf_counter() + 0.3 * moment
            try:
                Repository(root, empty, tokenizer).scan(
                    cancelled=lambda deadline=deadline: time.perf_counter() > deadline
                )
            except ScanCancelledError:
                delays.append(time.perf_counter() - deadline)
    report("corpus_stop_ms", 1e3 * statistics.median(delays), "(target <= 100)")
    report("corpus_stop_slowest_ms", 1e3 * max(delays))


def command_line(root: Path, data: Path) -> None:
    """The whole command, from the shell's point of view, with nothing changed."""
    from measure import report

    command = [sys.executable, "-m", "app", "scan", str(root), "--json", "--data-dir", str(data)]
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, cwd=Path(__file__).parents[2], check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - began)
    report("corpus_command_unchanged_s", best)


def run(part: str, root: Path, data: Path) -> None:
    subprocess.run([sys.executable, __file__, part, str(root), str(data)], check=True, env={**os.environ})


def main(folder: str | None) -> None:
    from measure import report, seconds
    from synthetic_repository import make

    with tempfile.TemporaryDirectory(prefix="codecoil-corpus-") as temporary:
        data = Path(temporary) / "data"
        root = Path(folder) if folder else Path(temporary) / "repository"
        if folder is None:
            root.mkdir()
            report("corpus_make_s", seconds(lambda: make(root)))
        for part in ("cold", "warm", "stops", *(["changes"] if folder is None else [])):
            run(part, root, data)
        command_line(root, data)


PARTS = {"cold": cold, "warm": warm, "changes": changes, "stops": stops}

if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in PARTS:
        PARTS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else None)
