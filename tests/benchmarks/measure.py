"""What the benchmarks share: config S and M, timing that survives a busy machine, and `name=value` lines.

Times are the shortest of several, and what is compared is measured in turns, so that a neighbour's load falls on both
sides.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.graph.cost import product_operations
from engine.graph.tensor import Program

CONFIG_S = {"hidden_size": 256, "num_hidden_layers": 6, "state_size": 16, "vocab_size": 8192}
CONFIG_M = {"hidden_size": 768, "num_hidden_layers": 24, "vocab_size": 50280}  # the shape of mamba-130m
BATCH, LENGTH = 4, 256


def report(name: str, value: float | int | str, unit: str = "") -> None:
    """Print one result."""
    shown = value if isinstance(value, str | int) else f"{value:.4g}"
    print(f"{name}={shown}" + (f" {unit}" if unit else ""), flush=True)


def seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def peak_bytes() -> int:
    """The largest resident size of this process (Linux's getrusage also counts the parent that it was forked from)."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_turns(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest time of each, over `rounds` rounds in which each has a turn; one round before does not count."""
    for run in runs.values():
        run()
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            best[name] = min(best[name], seconds(run))
    return best


def step_flops(program: Program) -> int:
    return sum(map(product_operations, program.calls))


def token_ids(batch: int, length: int, vocabulary: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, vocabulary, (batch, length + 1))
