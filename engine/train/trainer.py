"""The training loop, one thing at a time.

`advance` does one thing (a step, a batch of an evaluation, a rest) and returns the events that it caused, so that the
caller decides what happens in between: a worker thread answers completion requests, the command line looks for Ctrl-C.
`run` is the plain loop.

Held-out loss is measured at step 0 and regularly. The best weights are kept on the host, and the run ends with them or,
if nothing improved, with the starting weights, and says so. An incremental run also measures the changed files: better
is then what predicts them better while the held-out loss of the rest is no higher than at the start.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from engine.errors import InputError
from engine.model.model import Model
from engine.model.modes import ADAPTER_MODES
from engine.model.step import AdamW, StepResult
from engine.train.evaluation import Evaluation, TokenBatch
from engine.train.events import EvaluationEvent, Event, FinishedEvent, LayerEvent, NoteEvent, PlanEvent, StepEvent
from engine.train.fitted_step import OUT_OF_MEMORY, FittedStep
from engine.train.health import Finding, Health
from engine.train.options import EARLY_EVALUATION, TrainingOptions
from engine.train.pace import Pace
from engine.train.trainer_state import RunNumbers, TrainerState

TIME_IS_UP = "time is up"  # why a run ended
MOST_FAILURES = 3  # skipped steps in a row after which a run rolls back
STOP_SECONDS = 0.5  # after a stop, during which further batches may be measured
REST = 0.05  # seconds of sleep between two checks for what other threads want


class Trainer:
    """Trains `model` on batches by `options`.  `close` frees the training memory; the model stays."""

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
        `changed`, which makes the run an incremental one.  `token_ids`: whose embedding rows are trained besides."""
        if not (options.steps or options.minutes):
            raise InputError("A trainer does not count epochs.", "Give it steps or minutes.")
        self.model, self.options = model, options
        self._take_batch, self._clock = take_batch, clock
        self._sources = [held_out] if changed is None else [held_out, changed]
        if options.mode in ADAPTER_MODES and not model.adapters:
            model.attach_adapters(options.rank, seed=options.seed)
        for source in self._sources:  # so that an evaluation's memory is allocated before the batch is fitted
            for batch in source:
                model.losses(batch.tokens, batch.counted)
                break
        self._fitted = FittedStep(model, options, token_ids)
        self._best = self._fitted.read_weights()
        self._numbers = RunNumbers()
        self._pace, self._health = Pace(options), Health()
        self._planned = False  # whether the plan was given
        self._evaluation: Evaluation | None = None  # the one that is under way
        self._batch: TokenBatch | None = None  # one that failed and is tried again
        self._rest = 0.0  # seconds that the duty cycle still wants
        self._reason = ""  # why the run ends, once it does
        self.finished: FinishedEvent | None = None
        self._stopped_at: float | None = None  # by the clock
        self._pause, self._stop, self._wake = threading.Event(), threading.Event(), threading.Event()

    # ---- from other threads

    def pause(self) -> None:
        """Do nothing more until `resume`; the running step finishes."""
        self._pause.set()
        self._wake.set()

    def resume(self) -> None:
        self._pause.clear()

    def stop(self) -> None:
        """End the run after the running step, with the best weights so far."""
        if self._stopped_at is None:
            self._stopped_at = self._clock()
        self._stop.set()
        self._wake.set()

    def do_as(self, other: Trainer) -> None:
        """Pause or stop if another trainer, whose place this one takes, was asked to."""
        if other.stopping:
            self.stop()
        elif other.paused:
            self.pause()

    def end(self, reason: str) -> None:
        """Take no more steps; measure what has not been measured, and finish for this reason."""
        self._reason = reason

    @property
    def step(self) -> int:
        """Steps that were taken."""
        return self._numbers.step

    @property
    def evaluated(self) -> bool:
        """Whether held-out code was measured at all."""
        return self._numbers.evaluated_at >= 0

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        return self._pause.is_set() and not self._stop.is_set()

    @property
    def between_steps(self) -> bool:
        """Whether `state` is complete: not while a batch that was taken is to be tried again."""
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
            return [NoteEvent(self.step, self._fitted.shrink(error), "memory")]  # the next call tries again
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

    # ---- resuming

    def state(self) -> TrainerState:
        """Everything needed to resume exactly: weights, moments and numbers."""
        arrays = {f"now.{name}": array for name, array in self._fitted.read_weights().items()}
        arrays |= {f"best.{name}": array for name, array in self._best.items()}
        arrays |= {f"moment.{name}": array for name, array in self._fitted.read_moments().items()}
        numbers = replace(
            self._numbers,
            elapsed=self._pace.worked,
            evaluation_seconds=self._pace.evaluation_seconds,
            micro_batch=self._fitted.fit.micro_batch,
            recompute=self._fitted.fit.recompute,
            health=self._health.state(),
        )
        return TrainerState(arrays, numbers)

    def restore(self, state: TrainerState) -> None:
        """Resume from `state`, which came from a trainer of the same model and options."""
        names, moments, numbers = list(self._best), self._fitted.moment_names(), state.numbers
        wanted = {f"{part}.{name}" for part in ("now", "best") for name in names}
        wanted |= {f"moment.{name}" for name in moments}
        odd = sorted(wanted ^ set(state.arrays))
        odd = odd or [f"best.{name}" for name in names if state.arrays[f"best.{name}"].shape != self._best[name].shape]
        if odd:
            raise InputError(
                f"The saved run does not match this model and mode: {', '.join(odd[:3])}.", "Start a new run."
            )
        self._fitted.split_as(numbers.micro_batch, numbers.recompute)
        self._best = {name: state.arrays[f"best.{name}"] for name in names}
        self._fitted.write_weights({name: state.arrays[f"now.{name}"] for name in names})
        self._fitted.write_moments({name: state.arrays[f"moment.{name}"] for name in moments})
        self._numbers = numbers
        self._health.restore(numbers.health)
        self._pace.restore(numbers.elapsed, numbers.evaluation_seconds)
        self._planned = False

    def close(self) -> None:
        """Free gradients, moments and working memory."""
        self._fitted.close()

    # ---- one thing at a time

    def _plan(self) -> PlanEvent:
        o, fit = self.options, self._fitted.fit
        return PlanEvent(
            o.mode,
            o.steps,
            o.batch_size * o.sequence_length,
            fit.micro_batches,
            self._fitted.trained_parameters,
            self._memory(),
            self.model.device.description,
            step=self.step,
            minutes=o.minutes,
            micro_batch=fit.micro_batch,
            recompute=fit.recompute,
            ceiling=self.model.device.ledger.ceiling,
            base_precision=self.model.storage.precision,
        )

    def _evaluation_due(self) -> bool:
        n, o = self._numbers, self.options
        if n.evaluated_at == n.step:
            return False
        if self._reason or n.step == 0:
            return n.failures < MOST_FAILURES and not (self.stopping and n.step == 0)
        if o.evaluate_every or not o.minutes:
            return o.evaluates_at(n.step)
        early = n.step == EARLY_EVALUATION and n.evaluated_at == 0
        return early or self._pace.progress(n.step) >= n.evaluated_share + 1 / o.evaluations

    def _measure(self, evaluation: Evaluation) -> list[Event]:
        """Measure one batch; at the end of the evaluation, or when a stopped run has waited enough, judge."""
        began, best_measured = self._clock(), self._numbers.best_measured
        hurried = self._in_a_hurry(evaluation, began)
        if not hurried:
            done = evaluation.advance()
            took = self._clock() - began
            self._rest = took * (1.0 / self.options.duty_cycle - 1.0)
            evaluation.seconds += took + self._rest
            if not done:
                return []
            self._pace.note_evaluation(evaluation.seconds)
        self._evaluation = None
        if hurried and not best_measured:  # stopped before there was a first measurement
            self._numbers = replace(self._numbers, evaluated_at=self.step)
            return []
        evaluations = self.options.evaluations
        share = math.floor(self._pace.progress(self.step) * evaluations + 1e-9) / evaluations
        self._numbers = replace(self._numbers, evaluated_at=self.step, evaluated_share=share)
        if hurried:
            pairs = zip(evaluation.measured, best_measured, strict=True)
            losses = [measured.loss_as_continued(best) for measured, best in pairs]
        else:
            losses = [measured.loss for measured in evaluation.measured]
        return self._judge(evaluation, losses, partial=hurried)

    def _in_a_hurry(self, evaluation: Evaluation, now: float) -> bool:
        """Whether a stopped run measures no further: one batch at least, unless there is nothing to compare it with."""
        if self._stopped_at is None:
            return False
        if not self._numbers.best_measured:
            return True
        return now >= self._stopped_at + STOP_SECONDS and evaluation.covers_all_sources

    def _judge(self, evaluation: Evaluation, losses: list[float], partial: bool) -> list[Event]:
        """Keep the weights if they are the best so far."""
        n, loss, changed = self._numbers, losses[0], losses[1] if len(losses) > 1 else None
        found = {"held_out_best": loss, "changed_best": math.inf if changed is None else changed}
        measured = tuple(evaluation.measured)
        if n.step == 0:
            before = {"held_out_before": loss, "changed_before": found["changed_best"]}
            self._numbers = replace(n, **before, **found, best_measured=measured)
            return [EvaluationEvent(0, loss, True, changed)]
        best = loss < n.held_out_best
        if changed is not None:
            best = loss <= n.held_out_before and changed < n.changed_best
        if best:
            self._best = self._fitted.read_weights()
            measured = n.best_measured if partial else measured
            self._numbers = replace(n, **found, best_step=n.step, best_measured=measured, not_better=0)
        else:
            self._numbers = replace(n, not_better=n.not_better + 1)
        in_a_row, patience = self._numbers.not_better, self.options.patience
        events: list[Event] = [EvaluationEvent(n.step, loss, best, changed, partial)]
        events += self._notes(self._health.after_evaluation(in_a_row, patience))
        if patience and in_a_row >= patience and not self._reason:
            self._reason = "no longer improving"
        return events

    def _take_step(self) -> list[Event]:
        o, number = self.options, self.step + 1
        rate = o.rate_at(number, self._pace.time_share) * self._numbers.rate_factor
        optimiser = AdamW(rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.max_gradient_norm, o.trust_region)
        began = self._clock()
        self._batch = self._batch or self._take_batch()
        insight = bool(o.insight_interval) and number % o.insight_interval == 0
        result = self._fitted.run(self._batch, optimiser, number, insight)()
        self._batch = None
        took = self._clock() - began
        self._numbers = replace(self._numbers, step=number)
        self._rest = took * (1.0 / o.duty_cycle - 1.0)
        self._pace.note_step(took + self._rest)
        events: list[Event] = [self._step_event(result, rate)]
        speed = o.batch_size * o.sequence_length / max(took, 1e-9)
        events += self._notes(self._health.after_step(result.loss, result.gradient_norm, speed))
        if result.layers:
            events.append(LayerEvent(number, result.layers))
            events += self._notes(self._health.after_insight(result.layers))
        return events + self._guard(result)

    def _take_rest(self) -> list[Event]:
        """Sleep for a moment, as the duty cycle wants."""
        self._wake.clear()
        nap = min(self._rest, REST)
        self._wake.wait(nap)
        self._rest -= nap
        return []

    def _guard(self, result: StepResult) -> list[Event]:
        """A step with a number that is not finite was skipped: halve the rate, and after three in a row roll back."""
        n = self._numbers
        if result.applied:
            self._numbers = replace(n, failures=0)
            return []
        self._numbers = replace(n, failures=n.failures + 1, rate_factor=0.5 * n.rate_factor)
        if self._numbers.failures >= MOST_FAILURES:
            self._reason = "three steps in a row were not finite"
        text = "The loss or a gradient was not finite: the step was skipped and the learning rate halved."
        return [NoteEvent(n.step, text, "not finite")]

    def _finish(self) -> list[Event]:
        """End with the best weights, or with the starting ones if nothing was better."""
        n = self._numbers
        rolled_back = n.best_step == 0 and n.step > 0
        self._fitted.write_weights(self._best)
        text = "Held-out loss did not improve: the starting weights are restored."
        events: list[Event] = [NoteEvent(n.step, text, "rolled back")] if rolled_back else []
        incremental = len(self._sources) > 1
        self.finished = FinishedEvent(
            n.step,
            self._reason,
            n.held_out_before,
            n.held_out_best,
            n.best_step,
            rolled_back,
            self._pace.worked,
            n.changed_before if incremental else None,
            n.changed_best if incremental else None,
        )
        return [*events, self.finished]

    @property
    def trained_bytes(self) -> int:
        """Of one copy of everything that is trained."""
        return sum(array.nbytes for array in self._best.values())

    # ---- inside

    def _memory(self) -> dict[str, int]:
        return {str(kind): nbytes for kind, nbytes in self.model.device.ledger.snapshot().by_kind.items()}

    def _notes(self, findings: list[Finding]) -> list[NoteEvent]:
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
