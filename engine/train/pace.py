"""How fast a run goes and how long it still takes, evaluations included.

Seconds are those of work: a pause counts for nothing. Nothing here looks at a clock, so that a test can play one.
"""

from __future__ import annotations

from collections import deque

from engine.train.options import TrainingOptions

AVERAGED_STEPS = 20
AVERAGED_EVALUATIONS = 3


class Pace:
    """The seconds of the last steps and evaluations.  `worked` is all of them, and what lies between."""

    def __init__(self, options: TrainingOptions) -> None:
        self._options = options
        self._steps: deque[float] = deque(maxlen=AVERAGED_STEPS)
        self._evaluations: deque[float] = deque(maxlen=AVERAGED_EVALUATIONS)
        self._first = True
        self.worked = 0.0

    def note_step(self, seconds: float) -> None:
        """The first step of a process also prepares kernels: it stands for the others only until they are there."""
        if len(self._steps) == 1 and self._first:
            self._steps.clear()
            self._first = False
        self._steps.append(seconds)

    def note_evaluation(self, seconds: float) -> None:
        self._evaluations.append(seconds)

    @property
    def step_seconds(self) -> float:
        """Of one step, on average over the last ones."""
        return sum(self._steps) / len(self._steps) if self._steps else 0.0

    @property
    def evaluation_seconds(self) -> float:
        """Of one evaluation, on average over the last ones."""
        return sum(self._evaluations) / len(self._evaluations) if self._evaluations else 0.0

    @property
    def tokens_per_second(self) -> float:
        tokens = self._options.batch_size * self._options.sequence_length
        return tokens / self.step_seconds if self.step_seconds else 0.0

    @property
    def time_share(self) -> float:
        """The part of the run's minutes that is over, the last evaluation counted in; 0 without such a limit."""
        limit = self._options.minutes * 60
        return min(1.0, (self.worked + self.evaluation_seconds) / limit) if limit else 0.0

    def progress(self, step: int) -> float:
        """The share of the run that is done at `step`."""
        by_steps = step / self._options.steps if self._options.steps else 0.0
        return min(1.0, max(by_steps, self.time_share))

    def seconds_left(self, step: int) -> float:
        """What the steps after `step` and the evaluations from it on take, or the time limit leaves."""
        o, left = self._options, []
        if o.steps:
            left.append((o.steps - step) * self.step_seconds + o.evaluations_from(step) * self.evaluation_seconds)
        if o.minutes:
            left.append(o.minutes * 60 - self.worked)
        return max(0.0, min(left))
