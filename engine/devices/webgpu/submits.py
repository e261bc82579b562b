"""Which dispatches are submitted together: no more than a GPU that also draws the desktop may be busy with at a time.

A window does not move while the GPU computes, and a driver resets a GPU that does not answer (Windows after two
seconds). So each dispatch of a program is first taken to last as long as on a slow GPU, by its operations and bytes. A
long program's second run is timed submit by submit (the first one may also compile and clear memory), and from then on
measured times decide. Where the cuts are changes no bit.  No wgpu here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.devices.webgpu.launch import Launch
from engine.graph.cost import moved_bytes, named_views, operations
from engine.graph.tensor import KernelCall

LONGEST_SUBMIT = 0.1  # seconds
AIM = 0.5  # of that, since neither an estimate nor a measurement is exact
WORTH_TIMING = 0.1  # of it: a program that is estimated to take less is never waited for
# What a slow integrated GPU does in a second, and what one dispatch costs it.
SLOW_FLOPS, SLOW_BYTES, SLOW_LAUNCH = 0.25e12, 15e9, 10e-6


def estimated_seconds(call: KernelCall, launches: Sequence[Launch]) -> list[float]:
    """Of each launch of a call, by its share of the workgroups."""
    views = named_views(call)
    keys = call.numbers.get("length") or (views["k"].shape[0] if "k" in views else 0)
    seconds = max(operations(call, keys) / SLOW_FLOPS, moved_bytes(call, keys) / SLOW_BYTES)
    groups = [math.prod(launch.groups) for launch in launches]
    return [SLOW_LAUNCH + seconds * count / sum(groups) for count in groups]


class Submits:
    """The cuts of one program."""

    def __init__(self, estimates: Sequence[float], is_software: bool) -> None:
        """`estimates`: seconds of each launch. A software adapter draws no desktop: it is divided only by what was
        measured, for work that comes in between."""
        self._estimates = np.asarray(estimates, float)
        self._seconds = np.zeros_like(self._estimates) if is_software else self._estimates.copy()
        self._runs = 0
        self._may_be_long = not is_software and self._estimates.sum() > WORTH_TIMING * LONGEST_SUBMIT
        self.parts = self._cut()

    @property
    def wants_timing(self) -> bool:
        """Whether the next run is to be timed, part by part."""
        return self._may_be_long and self._runs == 1

    def measured(self, start: int, stop: int, seconds: float) -> None:
        """The launches from `start` up to `stop` took so long."""
        if stop > start:
            estimates = self._estimates[start:stop]
            self._seconds[start:stop] = estimates * (seconds / estimates.sum())

    def ran(self, measured: bool) -> None:
        """A run is over; the next one is cut by what was measured."""
        self._runs += 1
        if measured:
            self.parts = self._cut()

    def _cut(self) -> list[tuple[int, int]]:
        """As many launches as fit, at least one, and at least one part."""
        parts, start, taken, most = [], 0, 0.0, AIM * LONGEST_SUBMIT
        for number, seconds in enumerate(self._seconds.tolist()):
            if number > start and taken + seconds > most:
                parts.append((start, number))
                start, taken = number, 0.0
            taken += seconds
        return [*parts, (start, len(self._seconds))]
