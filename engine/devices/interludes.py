"""Other work in the middle of a long program: whoever owns the device says what, and the device says when.

    owner ──during(work)──▶ step: kernel ▸ kernel ▸ │work│ ▸ kernel ▸ … ▸ kernel that writes a weight ▸ … ▸ end

A training step of a larger model takes seconds, and a completion should not wait for it. Between two kernels nothing is
half written, and what a program works in is its own: other programs of the device may run there, and change none of its
bits. From a program's first write to a weight on nothing comes in between: nobody sees a model of two steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Kind

EVERY = 0.005  # seconds between two looks for work: small programs are over before


class Interludes:
    """Of one device, in its thread."""

    def __init__(self) -> None:
        self._work: Callable[[], object] | None = None
        self._looked = 0.0

    @property
    def wanted(self) -> bool:
        """Whether anybody has work to do in between."""
        return self._work is not None

    @contextmanager
    def during(self, work: Callable[[], object]) -> Iterator[None]:
        """Inside, programs are interrupted for `work`, which returns soon if there is none, and raises nothing."""
        before, self._work = self._work, work
        try:
            yield
        finally:
            self._work = before

    def take(self) -> None:
        """Where a program can be interrupted: do the work if it is time.  What it runs is not interrupted itself."""
        if self._work is None or time.perf_counter() - self._looked < EVERY:
            return
        work, self._work = self._work, None
        try:
            work()
        finally:
            self._work, self._looked = work, time.perf_counter()


def calls_before_weights(calls: Sequence[KernelCall]) -> int:
    """How many calls there are before the first one that changes a model: the last place for other work."""
    return next((number for number, call in enumerate(calls) if _writes_weights(call)), len(calls))


def _writes_weights(call: KernelCall) -> bool:
    return any(
        spec.writes and view is not None and view.tensor.slab is not None and view.tensor.slab.kind is Kind.WEIGHTS
        for view, spec in zip(call.operands, KERNELS[call.kernel].operands, strict=True)
    )
