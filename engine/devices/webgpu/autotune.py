"""Which variant of the matrix product is fastest on this adapter: measured once, kept in a JSON file.  No wgpu here.

Products fall into a few classes (`shape_class`: layout and kind of shape).  For each class every candidate runs a
sample product on the real device through `measure`, which the device supplies; the winner's name goes into
`AdapterTraits.matmul_variants`.  The file's name is a hash of the adapter, its driver, wgpu's version and the text of
the shaders, so whatever could change the result leads to a new measurement.  Only speed depends on it: every variant
gives a correct product, so a damaged file or a folder that cannot be written to is never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from engine.atomic_file import replace_file
from engine.devices.webgpu.launch import Launch
from engine.devices.webgpu.launches.matmul import LAYOUTS, VARIANTS, sample_product, shape_class
from engine.devices.webgpu.shaders import shader_source

Measure = Callable[[list[Launch]], float]

# Most promising first: the others are dropped early where they are far behind.  A GPU does not run the
# register-blocked variants: 8 lanes per workgroup with hundreds of registers each could trigger the driver's watchdog.
CANDIDATES = {True: ("registers_32", "registers_16", "tiled_32"), False: ("tiled_32", "tiled_64")}
# (m, n, k), one a kind of shape: square, narrow, short, head.  A CPU driver does not need a thousand tiles to be busy.
SAMPLES = {
    True: ((256, 512, 96), (512, 48, 96), (512, 256, 32), (96, 4096, 72)),
    False: ((1024, 1024, 512), (1024, 48, 1024), (1024, 1024, 32), (256, 8192, 256)),
}
REPEATS = {True: 1, False: 8}  # products a run: on a GPU one alone would measure the submit
RUNS = 3  # timed runs, the shortest counts
GIVE_UP = 3.0  # a candidate this many times slower than the best is not tried again, in any class


def tuned_variants(
    folder: Path | None,
    adapter: str,
    driver: str,
    wgpu_version: str,
    software: bool,
    measure: Measure,
    budget: float = 5.0,
) -> dict[str, str]:
    """Class of shapes -> variant: from its file in `folder`, else measured and written there (None: not kept)."""
    if folder is None:
        return measured_variants(software, measure, budget)
    path = folder / cache_name(adapter, driver, wgpu_version)
    variants = read_variants(path)
    if variants is None:
        variants = measured_variants(software, measure, budget)
        write_variants(path, variants)
    return variants


def measured_variants(
    software: bool, measure: Measure, budget: float = 5.0, clock: Callable[[], float] = time.perf_counter
) -> dict[str, str]:
    """The fastest candidate of each class; after `budget` seconds the remaining classes keep the rule of thumb.

    `measure` runs a list of launches once, submit and wait included, and returns the seconds.  It is called several
    times with the same list, the first time to compile; operands are unplaced tensors, whose content does not matter.
    """
    end = clock() + budget
    candidates = list(CANDIDATES[software])
    variants: dict[str, str] = {}
    for m, n, k in SAMPLES[software]:
        for layout in LAYOUTS:
            if clock() > end:
                return variants
            seconds: dict[str, float] = {}
            for variant in list(candidates):
                seconds[variant] = _seconds(measure, [sample_product(layout, m, n, k, variant)] * REPEATS[software])
                if seconds[variant] > GIVE_UP * min(seconds.values()):
                    candidates.remove(variant)
            variants[shape_class(layout, m, n, k)] = min(seconds, key=seconds.__getitem__)
    return variants


def _seconds(measure: Measure, launches: list[Launch]) -> float:
    measure(launches)  # compiles
    return min(measure(launches) for _ in range(RUNS))


def cache_name(adapter: str, driver: str, wgpu_version: str) -> str:
    """The file's name: another adapter, driver, wgpu or shader text is another file."""
    shaders = sorted({sample_product("nt", 64, 64, 64, variant, pad).shader for variant in VARIANTS for pad in (0, 1)})
    identity = json.dumps([adapter, driver, wgpu_version, [shader_source(shader) for shader in shaders]])
    return f"matmul_variants_{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def read_variants(path: Path) -> dict[str, str] | None:
    """The variants kept in a file; None where it is missing, damaged or names a variant that no longer exists."""
    try:
        variants = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(variants, dict) or not all(variant in VARIANTS for variant in variants.values()):
        return None
    return variants


def write_variants(path: Path, variants: dict[str, str]) -> None:
    """Not kept where the folder cannot be written to."""
    with contextlib.suppress(OSError):
        replace_file(path, json.dumps(variants, indent=1, sort_keys=True), durable=False)
