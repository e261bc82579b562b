"""The training loop, one thing at a time.

`advance` does one thing (a step, a part of an evaluation, a rest) and gives the events that it caused, so that whoever
calls it decides what happens in between: a worker thread answers completion requests there, a command line looks for
Ctrl-C. `run` is the plain loop.

Held-out loss is measured at step 0 and regularly; the best weights are kept on the host, and the run ends with them,
or, where nothing was better than the start, with the starting weights, and says so. In an incremental run the changed
files are measured as well: better is then what predicts them better while held-out loss on the rest is no higher than
at the start.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from engine.errors import InputError
from engine.model.model import Model
from engine.model.modes import ADAPTER_MODES
from engine.model.step import AdamW, StepResult
from engine.train.evaluation import Evaluation, Measured, TokenBatch
from engine.train.events import EvaluationEvent, Event, FinishedEvent, LayerEvent, NoteEvent, PlanEvent, StepEvent
from engine.train.fitted_step import OUT_OF_MEMORY, FittedStep
from engine.train.health import Finding, Health
from engine.train.options import EARLY_EVALUATION, TrainingOptions
from engine.train.pace import Pace
from engine.train.trainer_state import KEPT_NUMBERS, OTHER_NUMBERS, TrainerState

TIME_IS_UP = "time is up"  # the reason of a run that the clock has ended
MOST_FAILURES = 3  # skipped steps in a row after which a run rolls back
STOP_SECONDS = 0.5  # after a stop, in which another batch may still be measured
REST = 0.05  # seconds asleep at a time, between two looks at what other threads want


class Trainer:
    """Trains `model` on batches by `options`.  `close` gives the training memory back; the model stays."""

    def __init__(
        self,
        model: Model,
        take_batch: Callable[[], TokenBatch],
        held_out: Iterable[TokenBatch],
        options: TrainingOptions,
        *,
        changed: Iterable[TokenBatch] | None = None,
        token_ids: np.ndarray | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`take_batch` gives (batch_size, sequence_length + 1) tokens; `held_out` is read at each evaluation, and so is
        `changed`, which makes the run an incremental one.  `token_ids`: those that mode "vocabulary" trains rows of."""
        if not (options.steps or options.minutes):
            raise InputError("A trainer cannot count epochs.", "Give it steps or minutes.")
        self.model, self.options = model, options
        self._take_batch, self._clock = take_batch, clock
        self._sources = [held_out] if changed is None else [held_out, changed]
        if options.mode in ADAPTER_MODES and not model.adapters:
            model.attach_adapters(options.rank, seed=options.seed)
        for source in self._sources:  # so that the memory of an evaluation is taken before the batch is fitted
            for batch in source:
                model.losses(batch.tokens, batch.counted)
                break
        self._bench = FittedStep(model, options, token_ids)
        self.step = 0
        self.finished: FinishedEvent | None = None
        self._rate_factor = 1.0
        self._failures = 0
        self._pace, self._health = Pace(options), Health()
        self._evaluation: Evaluation | None = None
        self._evaluated_at = -1
        self._evaluated_share = 0.0
        self._begin_loss = self._best_loss = math.inf
        self._begin_changed = self._best_changed = math.inf
        self._best_measured: list[Measured] = []
        self._best_step = 0
        self._not_better = 0
        self._best = self._bench.read_weights()
        self._batch: TokenBatch | None = None  # one that is to be tried again
        self._rest = 0.0  # seconds that the duty cycle still wants
        self._stopped_at: float | None = None  # when somebody asked for the end
        self._reason = ""  # why the run ends, once it does
        self._pause, self._stop, self._wake = threading.Event(), threading.Event(), threading.Event()
        self._planned = False

    # ---- from other threads

    def pause(self) -> None:
        """Do nothing further until `resume`; what is running ends."""
        self._pause.set()
        self._wake.set()

    def resume(self) -> None:
        """Go on."""
        self._pause.clear()

    def stop(self) -> None:
        """End the run after the step that is running, with the best weights so far."""
        if self._stopped_at is None:
            self._stopped_at = self._clock()
        self._stop.set()
        self._wake.set()

    def end(self, reason: str) -> None:
        """Take no further step; measure what has not been measured, and finish with these words."""
        self._reason = reason

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        return self._pause.is_set() and not self._stop.is_set()

    @property
    def between_steps(self) -> bool:
        """Whether `state` tells all: not where a batch that was taken is still to be learned."""
        return self._batch is None

    @property
    def progress(self) -> float:
        """The share of the run that is done."""
        return self._pace.progress(self.step)

    # ---- running

    def run(self) -> Iterator[Event]:
        """All events of the run; waits while paused."""
        while self.finished is None:
            yield from self.advance()

    def advance(self) -> list[Event]:
        """Do the next thing: plan, measure a batch, take a step, rest, or finish.  Sleeps a little while paused."""
        if self.finished is not None:
            return []
        if self.paused:
            time.sleep(REST / 2)
            return []
        began = self._clock()
        try:
            return self._next()
        except OUT_OF_MEMORY as error:
            return [NoteEvent(self.step, self._bench.shrink(error), "memory")]  # and the same thing once more
        finally:
            self._pace.worked += self._clock() - began

    def _next(self) -> list[Event]:
        if not self._planned:
            self._planned = True
            return [self._plan()]
        if self._rest > 0 and not self.stopping:
            return self._take_rest()
        if self._evaluation is None:
            self._reason = self._reason or self._why_end()
            if self._evaluation_due():
                self._evaluation = Evaluation(self.model, self._sources)
        if self._evaluation is not None:
            return self._measure(self._evaluation)
        return self._finish() if self._reason else self._take_step()

    def _why_end(self) -> str:
        if self.stopping:
            return "stopped"
        if self.options.steps and self.step >= self.options.steps:
            return "all steps done"
        return TIME_IS_UP if self._pace.time_share >= 1.0 else ""

    # ---- going on after an interruption

    def state(self) -> TrainerState:
        """All that is needed to go on exactly: weights, moments, and where the run is."""
        arrays = {f"now.{name}": array for name, array in self._bench.read_weights().items()}
        arrays |= {f"best.{name}": array for name, array in self._best.items()}
        arrays |= {f"moment.{name}": array for name, array in self._bench.read_moments().items()}
        numbers: dict[str, Any] = {name: getattr(self, attribute) for name, attribute in KEPT_NUMBERS.items()}
        numbers = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        numbers["elapsed"], numbers["evaluation_seconds"] = self._pace.worked, self._pace.evaluation_seconds
        numbers["micro_batch"], numbers["recompute"] = self._bench.fit.micro_batch, self._bench.fit.recompute
        numbers["best_measured"] = [[list(each.sums), list(each.counts)] for each in self._best_measured]
        numbers["health"] = self._health.state()
        return TrainerState(arrays, numbers)

    def restore(self, state: TrainerState) -> None:
        """Go on from `state`, made by a trainer of the same model and options."""
        names, moments = list(self._best), self._bench.moment_names()
        wanted = {f"{part}.{name}" for part in ("now", "best") for name in names}
        wanted |= {f"moment.{name}" for name in moments}
        odd = sorted(wanted ^ set(state.arrays)) or sorted({*KEPT_NUMBERS, *OTHER_NUMBERS} ^ set(state.numbers))
        odd = odd or [f"best.{name}" for name in names if state.arrays[f"best.{name}"].shape != self._best[name].shape]
        if odd:
            raise InputError(
                f"The saved run does not fit this model and mode: {', '.join(odd[:3])}.", "Start a new run."
            )
        numbers = state.numbers
        self._bench.cut_as(numbers["micro_batch"], numbers["recompute"])
        self._best = {name: state.arrays[f"best.{name}"] for name in names}
        self._bench.write_weights({name: state.arrays[f"now.{name}"] for name in names})
        self._bench.write_moments({name: state.arrays[f"moment.{name}"] for name in moments})
        for name, attribute in KEPT_NUMBERS.items():
            setattr(self, attribute, math.inf if numbers[name] is None else numbers[name])
        self._best_measured = [Measured(tuple(sums), tuple(counts)) for sums, counts in numbers["best_measured"]]
        self._health.restore(numbers["health"])
        self._pace.worked = numbers["elapsed"]
        if numbers["evaluation_seconds"]:
            self._pace.note_evaluation(numbers["evaluation_seconds"])
        self._planned = False

    def close(self) -> None:
        """Give the gradients, moments and working memory back."""
        self._bench.close()

    # ---- one thing at a time

    def _plan(self) -> PlanEvent:
        o, fit = self.options, self._bench.fit
        return PlanEvent(
            o.mode,
            o.steps,
            o.batch_size * o.sequence_length,
            fit.micro_batches,
            self._bench.trained_parameters,
            self._memory(),
            self.model.device.description,
            step=self.step,
            minutes=o.minutes,
            micro_batch=fit.micro_batch,
            recompute=fit.recompute,
            ceiling=self.model.device.ledger.ceiling,
        )

    def _evaluation_due(self) -> bool:
        if self._evaluated_at == self.step:
            return False
        if self._reason or self.step == 0:
            return self._failures < MOST_FAILURES and not (self.stopping and self.step == 0)
        if self.options.evaluate_every or not self.options.minutes:
            return self.options.evaluates_at(self.step)
        early = self.step == EARLY_EVALUATION and self._evaluated_at == 0
        return early or self._pace.progress(self.step) >= self._evaluated_share + 1 / self.options.evaluations

    def _measure(self, evaluation: Evaluation) -> list[Event]:
        """Measure one batch; at the end of the evaluation, or when a stopped run has waited enough, judge."""
        began = self._clock()
        if not self._in_a_hurry(evaluation, began):
            done = evaluation.advance()
            took = self._clock() - began
            self._rest = took * (1.0 / self.options.duty_cycle - 1.0)
            evaluation.seconds += took + self._rest
            if not done:
                return []
            self._pace.note_evaluation(evaluation.seconds)
            losses = [measured.loss for measured in evaluation.measured]
        elif self._best_measured:
            pairs = zip(evaluation.measured, self._best_measured, strict=True)
            losses, done = [measured.loss_as_continued(best) for measured, best in pairs], False
        else:  # stopped before there was a first measurement
            self._evaluation, self._evaluated_at = None, self.step
            return []
        self._evaluation, self._evaluated_at = None, self.step
        self._evaluated_share = math.floor(self._pace.progress(self.step) * self.options.evaluations + 1e-9)
        self._evaluated_share /= self.options.evaluations
        return self._judge(evaluation, losses, partial=not done)

    def _in_a_hurry(self, evaluation: Evaluation, now: float) -> bool:
        """Whether a stopped run measures no further: one batch at least, unless nothing can be held against it."""
        if self._stopped_at is None:
            return False
        if not self._best_measured:
            return True
        return now >= self._stopped_at + STOP_SECONDS and evaluation.has_begun

    def _judge(self, evaluation: Evaluation, losses: list[float], partial: bool) -> list[Event]:
        """Keep the weights if they are the best so far."""
        loss, changed = losses[0], losses[1] if len(losses) > 1 else None
        if self.step == 0:
            self._begin_loss = self._best_loss = loss
            self._begin_changed = self._best_changed = math.inf if changed is None else changed
            self._best_measured = evaluation.measured
            return [EvaluationEvent(0, loss, True, changed)]
        best = loss < self._best_loss
        if changed is not None:
            best = loss <= self._begin_loss and changed < self._best_changed
        if best:
            self._best_loss, self._best_step, self._best = loss, self.step, self._bench.read_weights()
            self._best_changed = math.inf if changed is None else changed
            self._best_measured = self._best_measured if partial else evaluation.measured
        self._not_better = 0 if best else self._not_better + 1
        events: list[Event] = [EvaluationEvent(self.step, loss, best, changed, partial)]
        events += self._told(self._health.after_evaluation(self._not_better, self.options.patience))
        if self.options.patience and self._not_better >= self.options.patience and not self._reason:
            self._reason = "no longer improving"
        return events

    def held_out_loss(self) -> float:
        """The mean loss of every held-out token."""
        evaluation = Evaluation(self.model, self._sources[:1])
        while not evaluation.advance():
            pass
        return evaluation.measured[0].loss

    def _take_step(self) -> list[Event]:
        o = self.options
        rate = o.rate_at(self.step + 1, self._pace.time_share) * self._rate_factor
        optimiser = AdamW(rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.max_gradient_norm, o.trust_region)
        began = self._clock()
        self._batch = self._batch or self._take_batch()
        insight = bool(o.insight_interval) and (self.step + 1) % o.insight_interval == 0
        result = self._bench.run(self._batch, optimiser, self.step + 1, insight)()
        self._batch = None
        took = self._clock() - began
        self.step += 1
        self._rest = took * (1.0 / o.duty_cycle - 1.0)
        self._pace.note_step(took + self._rest)
        events: list[Event] = [self._step_event(result, rate)]
        speed = o.batch_size * o.sequence_length / max(took, 1e-9)
        events += self._told(self._health.after_step(result.loss, result.gradient_norm, speed))
        if result.layers:
            events.append(LayerEvent(self.step, result.layers))
            events += self._told(self._health.after_insight(result.layers))
        return events + self._guard(result)

    def _take_rest(self) -> list[Event]:
        """Leave the machine to others for a moment."""
        self._wake.clear()
        nap = min(self._rest, REST)
        self._wake.wait(nap)
        self._rest -= nap
        return []

    def _guard(self, result: StepResult) -> list[Event]:
        """A step with a number that is not finite was skipped: halve the rate, and after three in a row roll back."""
        if result.applied:
            self._failures = 0
            return []
        self._failures += 1
        self._rate_factor *= 0.5
        text = "A number was not finite: the step was skipped and the learning rate halved."
        if self._failures >= MOST_FAILURES:
            self._reason = "numbers were not finite three times in a row"
        return [NoteEvent(self.step, text, "not finite")]

    def _finish(self) -> list[Event]:
        """End with the best weights, or with the starting ones if nothing was better."""
        rolled_back = self._best_step == 0 and self.step > 0
        self._bench.write_weights(self._best)
        text = "Nothing was better than the start on held-out code: the starting weights are back."
        events: list[Event] = [NoteEvent(self.step, text, "rolled back")] if rolled_back else []
        incremental = len(self._sources) > 1
        self.finished = FinishedEvent(
            self.step,
            self._reason,
            self._begin_loss,
            self._best_loss,
            self._best_step,
            rolled_back,
            self._pace.worked,
            self._begin_changed if incremental else None,
            self._best_changed if incremental else None,
        )
        return [*events, self.finished]

    @property
    def trained_bytes(self) -> int:
        """Of one copy of everything that is trained."""
        return sum(array.nbytes for array in self._best.values())

    # ---- inside

    def _memory(self) -> dict[str, int]:
        return {str(kind): nbytes for kind, nbytes in self.model.device.ledger.snapshot().by_kind.items()}

    def _told(self, findings: list[Finding]) -> list[NoteEvent]:
        return [NoteEvent(self.step, finding.text, finding.cause) for finding in findings]

    def _step_event(self, result: StepResult, rate: float) -> StepEvent:
        return StepEvent(
            self.step,
            result.loss,
            rate,
            result.gradient_norm,
            self._pace.tokens_per_second,
            self._pace.seconds_left(self.step),
            self._memory(),
            result.applied,
            self._pace.progress(self.step),
        )
