"""A benchmark as text to paste into an issue, as the rows of a table, and as JSON.  No Qt, no engine.

The text has what computes, its versions and its figures; nothing in it says whose machine it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from app import VERSION
from app.values.words import counted, duration, kind_words, percent

if TYPE_CHECKING:
    from engine.benchmark.results import Benchmark, KernelTime
    from engine.devices.interface import Peaks

NOTHING = "–"
OTHERS = "Kernels that none of these models uses, on samples"
CACHES = "More than 100 % of the limit: what a kernel reads was still in a cache."
HEADINGS = ("share", "kernel", "size", "calls", "time", "GFLOP/s", "GB/s", "of limit")
LEFT = ("kernel", "size")


@dataclass(frozen=True)
class BenchmarkProgress:
    """How far a benchmark is: parts, what is being measured, and seconds since its start."""

    done: int
    total: int
    what: str
    seconds: float


@dataclass(frozen=True)
class BenchmarkEnded:
    """`result` is what was measured until the end or until it was cancelled; None if there is nothing."""

    device: str
    result: Benchmark | None
    cancelled: bool = False


# ---- words


def figure(value: float) -> str:
    """Three digits: 12,300, 456, 7.89, 0.012."""
    if value >= 999.5:
        unit = 10 ** (len(str(round(value))) - 3)
        return f"{round(value / unit) * unit:,}"
    for least, digits in ((99.95, 0), (9.995, 1), (0.0995, 2)):
        if value >= least:
            return f"{value:.{digits}f}"
    return f"{value:.2g}" if value else "0"


def brief(seconds: float) -> str:
    """The time of a call: 0.12 µs, 12.3 µs, 4.56 ms, 1.2 s."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{figure(seconds * factor)} {unit}"
    return f"{figure(seconds)} s"


def cells(row: KernelTime, peaks: Peaks | None) -> tuple[str, ...]:
    """What HEADINGS name."""
    return (
        percent(row.share) if row.share is not None else NOTHING,
        row.kernel,
        row.shape,
        f"{row.count:,}" if row.count else NOTHING,
        brief(row.seconds),
        figure(row.flops_per_second / 1e9) if row.operations else NOTHING,
        figure(row.bytes_per_second / 1e9),
        percent(row.of_limit(peaks)) if peaks is not None else NOTHING,
    )


def limit_words(peaks: Peaks | None) -> str:
    if peaks is None:
        return "not measured"
    return f"{figure(peaks.flops_per_second / 1e9)} GFLOP/s, {figure(peaks.bytes_per_second / 1e9)} GB/s"


def groups(result: Benchmark) -> list[tuple[str, list[KernelTime]]]:
    """The kernels by what runs them, each group the largest share first."""
    found: dict[str, list[KernelTime]] = {}
    for row in result.kernels:
        found.setdefault(row.workload, []).append(row)
    return [(workload or OTHERS, rows) for workload, rows in found.items()]


def group_words(name: str, rows: list[KernelTime]) -> str:
    """A group with the time of all its kernels together, where that is known."""
    complete = all(row.share is not None for row in rows)
    return f"{name}: {brief(sum(row.count * row.seconds for row in rows))} in kernels" if complete else name


def speed_rows(result: Benchmark) -> list[tuple[str, str, str]]:
    """Model and task, tokens per second on the device, and on the CPU beside it."""

    def words(speed: float | None) -> str:
        return NOTHING if speed is None else figure(speed)

    return [(f"{each.model}, {each.task}", words(each.device), words(each.cpu)) for each in result.speeds]


def left_out_lines(result: Benchmark) -> list[str]:
    """What was not measured, a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for each in result.omitted:
        by_reason.setdefault(each.why, []).append(each.what)
    return [f"Not measured ({why}): {'; '.join(names)}" for why, names in by_reason.items()]


# ---- the text


def benchmark_text(result: Benchmark) -> str:
    """For an issue: fenced, so that columns stay columns."""
    return "\n".join(["```text", *_lines(result), "```"])


def _lines(result: Benchmark) -> Iterator[str]:
    machine, on_card = result.machine, result.machine.kind != "cpu"
    yield f"Codecoil {VERSION}, benchmark of {machine.device}, {duration(result.seconds)}" + (
        "" if result.finished else ", cancelled"
    )
    yield ""
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions)
    facts = [
        ("device", f"{machine.name}, {kind_words(machine.kind)}, {machine.backend}" if on_card else machine.backend),
        ("driver", machine.driver),
        ("features", ", ".join(machine.features)),
        ("processor", f"{machine.processor}, {counted(machine.threads, 'thread')}"),
        ("system", machine.system),
        ("versions", versions),
        ("limit", f"{limit_words(result.peaks)} ({'loop of FMAs' if on_card else 'BLAS product'} and copy)"),
        ("CPU limit", f"{limit_words(result.cpu_peaks)} (BLAS product and copy)" if on_card else ""),
    ]
    yield from (f"{name:<10} {value}" for name, value in facts if value)
    if result.speeds:
        yield ""
        heading = ("tokens per second", "device", "CPU")
        rows = speed_rows(result)
        yield from _aligned([heading, *rows] if on_card else [row[:2] for row in [heading, *rows]], 1)
    for name, rows in groups(result):
        yield from ("", group_words(name, rows))
        yield from _aligned([HEADINGS, *(cells(row, result.peaks) for row in rows)], 0)
    if result.omitted:
        yield ""
        yield from left_out_lines(result)
    if any(result.peaks is not None and row.of_limit(result.peaks) > 1 for row in result.kernels):
        yield from ("", CACHES)


def _aligned(rows: list[tuple[str, ...]], left_columns: int) -> Iterator[str]:
    """Rows under their headings; numbers end, words begin where the heading does."""
    left = {i for i, heading in enumerate(rows[0]) if i < left_columns or heading in LEFT}
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        padded = (f"{word:<{widths[i]}}" if i in left else f"{word:>{widths[i]}}" for i, word in enumerate(row))
        yield "  ".join(padded).rstrip()


# ---- JSON


def as_json(result: Benchmark) -> dict[str, Any]:
    """Everything, in seconds, operations and bytes."""
    whole = asdict(result)
    whole["machine"]["versions"] = {"codecoil": VERSION, **dict(result.machine.versions)}
    return whole
