"""The learning rate over a run."""

from __future__ import annotations

import math

from engine.train.options import TrainingOptions

LAST_SHARE = 0.05  # of the peak rate, at the end of a decaying schedule


def learning_rate(options: TrainingOptions, step: int, time_share: float = 0.0) -> float:
    """The rate of step number `step` (from 1): a straight rise over `warm_up` steps, then the schedule.

    `time_share` is the part of the run's minutes that is over; where it is ahead of the steps, the rate follows it, so
    that a run which ends by the clock has fallen to the last rate as well.
    """
    if step <= options.warm_up:
        return options.peak_rate * step / options.warm_up
    if options.schedule == "constant":
        return options.peak_rate
    by_steps = (step - options.warm_up) / max(1, options.steps - options.warm_up) if options.steps else 0.0
    passed = min(1.0, max(by_steps, time_share))
    falling = 1.0 - passed if options.schedule == "linear" else 0.5 * (1.0 + math.cos(math.pi * passed))
    return options.peak_rate * (LAST_SHARE + (1.0 - LAST_SHARE) * falling)
