"""The height of the water between two turns of the tide, and the windows in which a hull can pass the bar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidewater.clock import write_stamp
from tidewater.outcome import Outcome, refused, settled
from tidewater.records.tide import Tide

BAR_DEPTH = 5.2  # metres over the bar at chart datum
BAR_CLEARANCE = 0.8
STEP = timedelta(minutes=10)


@dataclass(frozen=True)
class Window:
    """From one minute to another there is water enough."""

    begins: datetime
    ends: datetime

    def holds(self, moment: datetime) -> bool:
        return self.begins <= moment <= self.ends

    def __str__(self) -> str:
        return f"{write_stamp(self.begins)} to {write_stamp(self.ends)}"


def height_at(tides: Sequence[Tide], moment: datetime) -> Outcome:
    """The water rises and falls between two turns as a cosine does."""
    before = [tide for tide in tides if tide.moment <= moment]
    after = [tide for tide in tides if tide.moment > moment]
    if not before or not after:
        return refused(f"no tide is known around {write_stamp(moment)}")
    last, coming = before[-1], after[0]
    share = (moment - last.moment) / (coming.moment - last.moment)
    middle = (last.height + coming.height) / 2
    swing = (last.height - coming.height) / 2
    return settled(middle + swing * math.cos(math.pi * share))


def plan_windows(tides: Sequence[Tide], draught: float, begins: datetime, ends: datetime) -> Outcome:
    """Every window in which that draught can pass the bar."""
    needed = draught + BAR_CLEARANCE - BAR_DEPTH
    windows: list[Window] = []
    opened: datetime | None = None
    moment = begins
    while moment <= ends:
        height = height_at(tides, moment)
        if height.is_refused:
            return height
        if height.value >= needed:
            opened = opened or moment
        elif opened is not None:
            windows.append(Window(opened, moment - STEP))
            opened = None
        moment += STEP
    if opened is not None:
        windows.append(Window(opened, ends))
    if not windows:
        return refused(f"a draught of {draught:g} m cannot pass the bar before {write_stamp(ends)}")
    return settled(windows)


def first_passage(tides: Sequence[Tide], draught: float, wanted: datetime, patience: timedelta) -> Outcome:
    """The first minute at or after the one wanted at which the bar can be passed."""
    found = plan_windows(tides, draught, wanted, wanted + patience)
    if found.is_refused:
        return found
    first = found.value[0]
    moment = max(first.begins, wanted)
    if moment == wanted:
        return settled(moment)
    return settled(moment).with_note(f"waits for the tide until {write_stamp(moment)}")
