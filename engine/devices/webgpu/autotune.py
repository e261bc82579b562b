"""What is fastest on this adapter: measured once, kept in a JSON file.  No wgpu here.

Four things have no best choice for all adapters: the tile of a matrix product, for each class of shapes; up to how
many channels the chunks of the scan run at once; how many logits are computed at a time; how many lanes share out a
line where a few rows are multiplied.  Candidates run on the real device, through a bench that the device supplies: long
enough to mean something, in turns, on the shapes of a real model, with the sums that are shared out among workgroups.
The file's name is a hash of the adapter, its driver, wgpu's version and the text of the shaders, so whatever could
change the result leads to a new measurement.  Only speed depends on it: a damaged file or a folder that cannot be
written to is never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from engine.atomic_file import replace_file
from engine.devices.webgpu.launch import AdapterTraits, Launch
from engine.devices.webgpu.launches import fused, matmul, scan
from engine.devices.webgpu.launches.matmul import LAYOUTS, VARIANTS, default_variant, sample_launches, shape_class
from engine.devices.webgpu.shaders import shader_source
from engine.graph.fused_kernels import FORMATS
from engine.graph.kernels import STATE_INTERVAL
from engine.graph.tensor import Tensor

Progress = Callable[[int, int, str], None]  # done, total, of what; may raise, and then nothing is kept
MEASURING = "Measuring the graphics card"

# Most promising first.  A GPU does not run the register-blocked variants: 8 lanes per workgroup with hundreds of
# registers each could trigger the driver's watchdog.
CANDIDATES = {True: ("registers_32", "registers_16", "tiled_32"), False: ("tiled_64", "tiled_32")}
# (m, n, k) of c (m, n), one for each class.  A CPU driver does not need a thousand tiles to be busy; a GPU gets the
# products of a model of 130 M parameters, with a part of its vocabulary.
_SMALL = ((256, 512, 96), (512, 48, 96), (512, 256, 32), (96, 4096, 72))
SAMPLES = {
    True: dict.fromkeys(LAYOUTS, _SMALL),
    False: {
        "nt": ((1024, 3072, 768), (1024, 48, 512), (1024, 1536, 48), (512, 12288, 768), (128, 768, 4096)),
        "nn": ((1024, 768, 3072), (1024, 48, 768), (1024, 1536, 48), (1024, 4096, 768), (512, 768, 12288)),
        "tn": ((3072, 768, 1024), (1536, 48, 1024), (768, 1536, 64), (12288, 768, 512), (768, 1536, 4096)),
    },
}
LOGITS_BYTES = (112 << 20, 56 << 20, 28 << 20)  # of logits at a time, on a GPU; the first without tuning
HEAD = (768, 8192)  # width, and a part of the vocabulary
VOCABULARY = 50_280
SCAN_LANES = (2048, 4096, 8192, 16384)  # channels of all sequences, of which each is a lane where chunks do not help
SCAN_WIDTH, SCAN_LENGTH, SCAN_STATES = 1024, 512, 16
# Format, lines and their length, and whether the row is normed first, of a token of a model of 130 M parameters: the
# inputs of a step's size (keys and values of a dense one), the projections, a part of the vocabulary.
ROWS = (
    *(("", 80, 1536, False), ("_float16", 192, 576, True), ("_int8", 192, 576, True)),
    *((end, *shape) for shape in ((768, 1536, False), (3072, 768, True), (16_384, 768, True)) for end in FORMATS),
)
COLD = 64 << 20  # bytes of matrices that are gone through

ENOUGH = {True: 0.0, False: 0.005}  # seconds of a run: a shorter one would measure the submit
WARM = {True: 0.0, False: 0.05}  # seconds of work before the first one, for a GPU that has saved power until now
MOST_REPEATS, MOST_DISPATCHES = 1024, 4096  # of a run: also where a clock says that it took no time
RUNS = 3  # timed runs, in turns; the shortest counts
GIVE_UP, HOPELESS = 3.0, 10.0  # times slower than the best: not run again for this sample; for any
WORTH = 0.03  # of the time, by which more logits at a time have to be faster
BUDGET = 12.0  # seconds; what has not been measured by then keeps its rule of thumb


class Bench(Protocol):
    """Where candidates run; operands are unplaced tensors, whose content does not matter."""

    def computes(self) -> bool:
        """Whether kernels run at all: a driver without hardware accepts everything, in no time."""

    def seconds(self, launches: list[Launch]) -> float:
        """Of one run of all launches, with their end waited for; the first one also compiles."""

    def clear(self) -> None:
        """Free the operands of what was run so far."""


@dataclass(frozen=True)
class Tuning:
    """What was measured, and rules of thumb for the rest."""

    matmul_variants: dict[str, str] = field(default_factory=dict)  # by class of shapes
    few_lanes: int = scan.FEW_LANES
    logits_bytes: int = LOGITS_BYTES[0]
    row_lanes: dict[str, int] = field(default_factory=dict)  # by class of matrices


def tuned(
    folder: Path | None,
    identity: tuple[str, str, str],
    software: bool,
    bench: Bench,
    progress: Progress = lambda *_: None,
) -> Tuning:
    """From the file in `folder`, else measured and written there (None: not kept).

    `identity`: the adapter, its driver, and wgpu's version.
    """
    path = None if folder is None else folder / cache_name(*identity)
    known = None if path is None else read_tuning(path)
    if known is not None:
        return known
    if not bench.computes():
        return Tuning()
    found = measure(software, bench, progress)
    if path is not None:
        write_tuning(path, found)
    return found


def measure(
    software: bool,
    bench: Bench,
    progress: Progress = lambda *_: None,
    budget: float = BUDGET,
    clock: Callable[[], float] = time.perf_counter,
) -> Tuning:
    """The fastest of everything, as far as `budget` seconds reach."""
    found, race, end = Tuning(), _Race(software, bench), clock() + budget
    parts = [partial(_with_product, race, layout, shape) for layout in LAYOUTS for shape in SAMPLES[software][layout]]
    if not software:
        parts += [partial(_with_logits, race), *(partial(_with_rows, race, sample) for sample in ROWS)]
        parts += [partial(_with_scan, race, lanes) for lanes in SCAN_LANES]
    for done, part in enumerate(parts):
        progress(done, len(parts), MEASURING)
        if clock() > end:
            break
        found = part(found)
        bench.clear()
    progress(len(parts), len(parts), MEASURING)
    return found


def _with_product(race: _Race, layout: str, shape: tuple[int, int, int], found: Tuning) -> Tuning:
    candidates = CANDIDATES[race.software]
    seconds = race.run({name: sample_launches(layout, *shape, name, race.software) for name in candidates})
    best = {shape_class(layout, *shape): min(seconds, key=seconds.__getitem__)}
    return replace(found, matmul_variants=found.matmul_variants | best)


def _with_logits(race: _Race, found: Tuning) -> Tuning:
    """The fewest bytes that cost hardly more for each token."""
    rows = {nbytes: nbytes // 4 // VOCABULARY for nbytes in LOGITS_BYTES}
    seconds = race.run({str(nbytes): _head(count, found.matmul_variants) for nbytes, count in rows.items()})
    of_row = {int(name): taken / rows[int(name)] for name, taken in seconds.items()}
    enough = min(nbytes for nbytes, taken in of_row.items() if taken <= (1 + WORTH) * min(of_row.values()))
    return replace(found, logits_bytes=enough)


def _with_rows(race: _Race, sample: tuple[str, int, int, bool], found: Tuning) -> Tuning:
    name = fused.row_class(*sample[:2])
    # The names are of this class alone: what is hopeless here need not be elsewhere.
    candidates = {f"{name} {lanes}": lanes for lanes in row_candidates(*sample)}
    seconds = race.run({each: fused.sample_rows(*sample, lanes, COLD) for each, lanes in candidates.items()})
    best = min(seconds, key=seconds.__getitem__)
    return replace(found, row_lanes=found.row_lanes | {name: candidates[best]})


def row_candidates(end: str, n: int, k: int, normed: bool) -> list[int]:
    """Lanes of a workgroup, but not so many that some have nothing to do."""
    return [
        lanes for lanes in fused.LANES if fused.sample_rows(end, n, k, normed, lanes, 0)[0].constants["lanes"] == lanes
    ]


def _with_scan(race: _Race, lanes: int, found: Tuning) -> Tuning:
    """So many lanes are few if chunks are faster; asked of ever more, as long as they are."""
    if lanes > SCAN_LANES[0] and found.few_lanes < lanes:
        return found
    seconds = race.run({name: _scan(lanes, name) for name in ("chunked", "lanes")})
    return replace(found, few_lanes=2 * lanes if seconds["chunked"] < seconds["lanes"] else lanes)


class _Race:
    """Candidates against each other."""

    def __init__(self, software: bool, bench: Bench) -> None:
        self.software, self._bench = software, bench
        self._hopeless: set[str] = set()
        self._is_warm = False

    def run(self, candidates: dict[str, list[Launch]]) -> dict[str, float]:
        """Seconds of each candidate that was worth running, for one repetition."""
        seconds = self._bench.seconds
        names = [name for name in candidates if name not in self._hopeless]
        for name in names:
            seconds(candidates[name])  # compiles
        self._warm_up(candidates[names[0]])
        quickest = min(names, key=lambda name: seconds(candidates[name])) if ENOUGH[self.software] else names[0]
        repeats = self._repeats(candidates[quickest])
        best: dict[str, float] = {}
        for turn in range(RUNS):
            for name in names if turn % 2 == 0 else names[::-1]:
                if best.get(name, 0.0) <= GIVE_UP * min(best.values(), default=math.inf):
                    best[name] = min(best.get(name, math.inf), seconds(candidates[name] * repeats) / repeats)
        self._hopeless |= {name for name, taken in best.items() if taken > HOPELESS * min(best.values())}
        return best

    def _warm_up(self, launches: list[Launch]) -> None:
        """Once: a GPU that has saved power until now gets up to speed."""
        warmed = WARM[self.software] if self._is_warm else 0.0
        while warmed < WARM[self.software]:
            warmed += max(self._bench.seconds(launches), 1e-3)
        self._is_warm = True

    def _repeats(self, launches: list[Launch]) -> int:
        """How often it is done in a run that means something."""
        repeats, enough = 1, ENOUGH[self.software]
        most = min(MOST_REPEATS, max(1, MOST_DISPATCHES // len(launches)))
        while repeats < most and enough:
            taken = self._bench.seconds(launches * repeats)
            if taken >= enough:
                break
            repeats = min(most, max(2 * repeats, math.ceil(1.2 * repeats * enough / max(taken, 1e-9))))
        return repeats


def _head(rows: int, variants: dict[str, str]) -> list[Launch]:
    """Logits, and the gradients of the hidden state and of the embedding."""
    width, vocabulary = HEAD
    shapes = {"nt": (rows, vocabulary, width), "nn": (rows, width, vocabulary), "tn": (vocabulary, width, rows)}
    launches = []
    for layout, shape in shapes.items():
        variant = variants.get(shape_class(layout, *shape)) or default_variant(*shape, software=False)
        launches += sample_launches(layout, *shape, variant)
    return launches


def _scan(lanes: int, variant: str) -> list[Launch]:
    """The forward scan of so many channels in all."""
    d, n, length = SCAN_WIDTH, SCAN_STATES, SCAN_LENGTH
    batch = lanes // d
    tokens, chunks = batch * length, math.ceil(length / STATE_INTERVAL)
    shapes = [(tokens, d), (tokens, d), (tokens, 2 * n), (n + 2, d), (batch, chunks + 1, n, d), (tokens, d)]
    views = [Tensor(str(number), shape).view() for number, shape in enumerate(shapes)]
    views.append(Tensor("workspace", (batch * chunks * d,)).view())
    numbers = {"length": length, "rank": 0, "carry": 0}
    return scan.selective_scan(tuple(views), numbers, AdapterTraits(), variant)


def cache_name(adapter: str, driver: str, wgpu_version: str) -> str:
    """The file's name: another adapter, driver, wgpu, shader text or list of what is kept is another file."""
    products = [
        launch
        for variant in VARIANTS
        for pad in (0, 1)
        for launch in [matmul.sample_product("nt", 64, 64, 64, variant, pad)]
    ]
    scans = [launch for variant in ("chunked", "lanes") for launch in _scan(SCAN_LANES[0], variant)]
    rows = [fused.sample_rows(*sample, fused.LANES[0], 0)[0] for sample in ROWS]
    shaders = sorted({(launch.shader, tuple(sorted(launch.header.items()))) for launch in (*products, *scans, *rows)})
    kept = [each.name for each in fields(Tuning)]
    identity = json.dumps([adapter, driver, wgpu_version, kept, [shader_source(*shader) for shader in shaders]])
    return f"tuning_{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def read_tuning(path: Path) -> Tuning | None:
    """What is kept in a file; None where it is missing, damaged or names a variant that no longer exists."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = Tuning(**content)
    except (OSError, ValueError, TypeError):
        return None
    variants, lanes = found.matmul_variants, found.row_lanes
    whole = (
        isinstance(found.few_lanes, int) and found.logits_bytes in LOGITS_BYTES and len(content) == len(fields(Tuning))
    )
    if not whole or not isinstance(variants, dict) or not isinstance(lanes, dict):
        return None
    known = all(name in VARIANTS for name in variants.values()) and all(each in fused.LANES for each in lanes.values())
    return found if known else None


def write_tuning(path: Path, tuning: Tuning) -> None:
    """Not kept where the folder cannot be written to."""
    with contextlib.suppress(OSError):
        replace_file(path, json.dumps(asdict(tuning), indent=1, sort_keys=True), durable=False)
