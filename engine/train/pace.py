"""How fast a run is and how long it will still take, including evaluations.

Seconds are those of work: pauses do not count. Nothing here reads a clock, so that a test can supply the times.
"""

from __future__ import annotations

from collections import deque

from engine.train.options import TrainingOptions

AVERAGED_STEPS = 20
AVERAGED_EVALUATIONS = 3


class Pace:
    """The seconds of the last steps and evaluations.  `worked`: all work so far, including the time between them."""

    def __init__(self, options: TrainingOptions) -> None:
        self._options = options
        self._steps: deque[float] = deque(maxlen=AVERAGED_STEPS)
        self._evaluations: deque[float] = deque(maxlen=AVERAGED_EVALUATIONS)
        self._first = True
        self.worked = 0.0

    def note_step(self, seconds: float) -> None:
        """The first step of a process also prepares kernels, so it counts only until there is another."""
        if len(self._steps) == 1 and self._first:
            self._steps.clear()
            self._first = False
        self._steps.append(seconds)

    def note_evaluation(self, seconds: float) -> None:
        self._evaluations.append(seconds)

    def restore(self, worked: float, evaluation_seconds: float) -> None:
        """Continue from what an earlier process measured; its steps may have been on another machine."""
        self.worked = worked
        if evaluation_seconds:
            self.note_evaluation(evaluation_seconds)

    @property
    def step_seconds(self) -> float:
        """Average of the last steps."""
        return sum(self._steps) / len(self._steps) if self._steps else 0.0

    @property
    def evaluation_seconds(self) -> float:
        """Average of the last evaluations."""
        return sum(self._evaluations) / len(self._evaluations) if self._evaluations else 0.0

    @property
    def tokens_per_second(self) -> float:
        tokens = self._options.batch_size * self._options.sequence_length
        return tokens / self.step_seconds if self.step_seconds else 0.0

    @property
    def time_share(self) -> float:
        """The part of the run's minutes that is over, including the final evaluation; 0 without a time limit."""
        limit = self._options.minutes * 60
        return min(1.0, (self.worked + self.evaluation_seconds) / limit) if limit else 0.0

    def progress(self, step: int) -> float:
        """The share of the run that is done at `step`."""
        by_steps = step / self._options.steps if self._options.steps else 0.0
        return min(1.0, max(by_steps, self.time_share))

    def seconds_left(self, step: int) -> float:
        """For the steps after `step` and the evaluations from there on, or what the time limit leaves."""
        o, left = self._options, []
        if o.steps:
            left.append((o.steps - step) * self.step_seconds + o.evaluations_from(step) * self.evaluation_seconds)
        if o.minutes:
            left.append(o.minutes * 60 - self.worked)
        return max(0.0, min(left))
