"""The training loop, one step at a time.

`advance` does one thing (a step or an evaluation) and gives the events that it caused, so that whoever calls it
decides what happens between two steps: a worker thread answers completion requests there, a command line looks for
Ctrl-C. `run` is the plain loop.

A step's result is collected after the next one was enqueued. Held-out loss is measured at step 0 and regularly; the
best weights are kept on the host, and the run ends with them, or, where nothing was better than the start, with the
starting weights, and says so.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.errors import InputError
from engine.graph.tensor import Slab
from engine.model.model import Model
from engine.model.step import AdamW, StepResult
from engine.train.events import EvaluationEvent, Event, FinishedEvent, NoteEvent, PlanEvent, StepEvent
from engine.train.options import TrainingOptions
from engine.train.schedule import learning_rate

MOST_FAILURES = 3  # skipped steps in a row after which a run rolls back
SPEED_STEPS = 20  # steps that the speed, and with it the time left, is averaged over


_KEPT_NUMBERS = {
    "step": "step",
    "rate_factor": "_rate_factor",
    "failures": "_failures",
    "evaluated_at": "_evaluated_at",
    "held_out_before": "_begin_loss",
    "held_out_best": "_best_loss",
    "best_step": "_best_step",
    "not_better": "_not_better",
}


@dataclass(frozen=True)
class TrainerState:
    """Where a run is: arrays by name, and numbers that JSON can hold."""

    arrays: dict[str, np.ndarray]
    numbers: dict[str, float]


class TokenBatch(Protocol):
    """A batch as the corpus gives it: tokens (b, l+1), and how many targets of each row count."""

    tokens: np.ndarray
    counted: np.ndarray


class Trainer:
    """Trains `model` on batches by `options`.  `close` gives the training memory back; the model stays."""

    def __init__(
        self,
        model: Model,
        take_batch: Callable[[], TokenBatch],
        held_out: Iterable[TokenBatch],
        options: TrainingOptions,
    ) -> None:
        """`take_batch` gives (batch_size, sequence_length + 1) tokens; `held_out` is read at each evaluation."""
        self.model, self.options = model, options
        self._take_batch, self._held_out = take_batch, held_out
        if options.mode == "lora" and not model.adapters:
            model.attach_adapters(options.rank, seed=options.seed)
        for (
            batch
        ) in held_out:  # once: so that the memory of an evaluation is taken before the batch is fitted to the rest
            model.losses(batch.tokens, batch.counted)
            break
        self._micro_batches = options.batch_size // (options.micro_batch or self._fitting_micro_batch())
        micro_batch = options.batch_size // self._micro_batches
        self._training = model.training_step(options.mode, micro_batch, options.sequence_length, self._micro_batches)
        self.step = 0
        self.finished: FinishedEvent | None = None
        self._rate_factor = 1.0
        self._failures = 0
        self._started = time.monotonic()
        self._paused_seconds = 0.0
        self._speeds: deque[float] = deque(maxlen=SPEED_STEPS)
        self._evaluated_at = -1
        self._begin_loss = self._best_loss = math.inf
        self._best_step = 0
        self._not_better = 0
        self._begin = self._best = self._read_trained()
        self._pause, self._stop = threading.Event(), threading.Event()
        self._planned = False

    # ---- from other threads

    def pause(self) -> None:
        """Take no further step until `resume`; what is running ends."""
        self._pause.set()

    def resume(self) -> None:
        """Go on."""
        self._pause.clear()

    def stop(self) -> None:
        """End the run after the step that is running, with the best weights so far."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        return self._pause.is_set()

    # ---- running

    def run(self) -> Iterator[Event]:
        """All events of the run; waits while paused."""
        while self.finished is None:
            if self.paused and not self._stop.is_set():
                time.sleep(0.02)
                self._paused_seconds += 0.02
                continue
            yield from self.advance()

    def advance(self) -> list[Event]:
        """Do the next thing: plan, evaluate, take a step, or finish."""
        if self.finished is not None:
            return []
        if not self._planned:
            self._planned = True
            return [self._plan()]
        if self._stop.is_set():
            return self._finish("stopped")
        if self._evaluation_due():
            return self._evaluate()
        if self.step >= self.options.steps:
            return self._finish("all steps done")
        if self.options.minutes and self._elapsed() >= self.options.minutes * 60:
            return self._finish("time is up")
        return self._take_step()

    # ---- going on after an interruption

    def state(self) -> TrainerState:
        """All that is needed to go on exactly: weights, moments, and where the run is."""
        arrays = {f"now.{name}": array for name, array in self._read_trained().items()}
        arrays |= {f"best.{name}": array for name, array in self._best.items()}
        for slab in self._moment_slabs():
            arrays[f"moment.{slab.name}"] = self.model.device.read(slab.flat())
        numbers = {name: getattr(self, attribute) for name, attribute in _KEPT_NUMBERS.items()}
        return TrainerState(arrays, numbers | {"elapsed": self._elapsed()})

    def restore(self, state: TrainerState) -> None:
        """Go on from `state`, made by a trainer of the same model and options."""
        wanted = {f"{part}.{name}" for part in ("now", "best") for name in self._training.trained.rows}
        wanted |= {f"moment.{slab.name}" for slab in self._moment_slabs()}
        if wanted != set(state.arrays) or set(state.numbers) != {*_KEPT_NUMBERS, "elapsed"}:
            odd = sorted(wanted ^ set(state.arrays))[:3]
            raise InputError(f"The saved run does not fit this model and mode: {', '.join(odd)}.", "Start a new run.")
        self._best = {name: state.arrays[f"best.{name}"] for name in self._training.trained.rows}
        self._write_trained({name: state.arrays[f"now.{name}"] for name in self._training.trained.rows})
        for slab in self._moment_slabs():
            self.model.device.write(slab.flat(), state.arrays[f"moment.{slab.name}"])
        for name, attribute in _KEPT_NUMBERS.items():
            setattr(self, attribute, state.numbers[name])
        self._started = time.monotonic() - state.numbers["elapsed"]
        self._planned = False

    def _moment_slabs(self) -> list[Slab]:
        return [*self._training.trained.first_slabs, *self._training.trained.second_slabs]

    def close(self) -> None:
        """Give the gradients, moments and working memory back."""
        self._training.close()

    # ---- one thing at a time

    def _plan(self) -> PlanEvent:
        o = self.options
        trained = sum(rows.gradient.size if len(rows.gradients) == 1 else sum(g.size for g in rows.gradients)
                      for rows in self._training.trained.rows.values())  # fmt: skip
        return PlanEvent(
            o.mode,
            o.steps,
            o.batch_size * o.sequence_length,
            self._micro_batches,
            trained,
            self._memory(),
            self.model.device.description,
        )

    def _evaluation_due(self) -> bool:
        due = self.step % self.options.evaluation_interval == 0 or self.step >= self.options.steps
        return due and self._evaluated_at != self.step

    def _evaluate(self) -> list[Event]:
        """Measure held-out loss; keep the weights if they are the best so far."""
        self._evaluated_at = self.step
        loss = self.held_out_loss()
        if self.step == 0:
            self._begin_loss = self._best_loss = loss
            return [EvaluationEvent(0, loss, True)]
        best = loss < self._best_loss
        if best:
            self._best_loss, self._best_step, self._best = loss, self.step, self._read_trained()
            self._not_better = 0
        else:
            self._not_better += 1
        events: list[Event] = [EvaluationEvent(self.step, loss, best)]
        if self.options.patience and self._not_better >= self.options.patience:
            events.append(
                NoteEvent(
                    self.step,
                    f"Held-out loss has not improved for {self._not_better} evaluations: likely over-fitting.",
                )
            )
            events += self._finish("no longer improving")
        return events

    def held_out_loss(self) -> float:
        """The mean loss of every held-out token."""
        total, count = 0.0, 0
        for batch in self._held_out:
            total += float(self.model.losses(batch.tokens, batch.counted).sum(dtype=np.float64))
            count += int(batch.counted.sum())
        if count == 0:
            raise InputError("There is no held-out code to measure on.", "Hold some files out, or learn more of them.")
        return total / count

    def _take_step(self) -> list[Event]:
        o = self.options
        rate = learning_rate(o, self.step + 1) * self._rate_factor
        optimiser = AdamW(rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.max_gradient_norm, o.trust_region)
        began = time.monotonic()
        batch = self._take_batch()
        result = self._training.run(batch.tokens, optimiser, self.step + 1, batch.counted)()
        took = time.monotonic() - began
        self.step += 1
        if o.duty_cycle < 1.0:
            rest = took * (1.0 / o.duty_cycle - 1.0)
            time.sleep(rest)
            took += rest
        self._speeds.append(took)
        events: list[Event] = [self._step_event(result, rate)]
        return events + self._guard(result)

    def _guard(self, result: StepResult) -> list[Event]:
        """A step with a number that is not finite was skipped: halve the rate, and after three in a row roll back."""
        if result.applied:
            self._failures = 0
            return []
        self._failures += 1
        self._rate_factor *= 0.5
        note = NoteEvent(self.step, "A number was not finite: the step was skipped and the learning rate halved.")
        if self._failures < MOST_FAILURES:
            return [note]
        return [note, *self._finish("numbers were not finite three times in a row")]

    def _finish(self, reason: str) -> list[Event]:
        """End with the best weights, or with the starting ones if nothing was better."""
        events: list[Event] = []
        if reason == "stopped" and self._evaluated_at != self.step and self.step:
            events += self._evaluate()
        rolled_back = self._best_step == 0 and self.step > 0
        self._write_trained(self._best)
        if rolled_back:
            events.append(
                NoteEvent(
                    self.step, "Nothing was better than the start on held-out code: the starting weights are back."
                )
            )
        self.finished = FinishedEvent(
            self.step, reason, self._begin_loss, self._best_loss, self._best_step, rolled_back, self._elapsed()
        )
        return [*events, self.finished]

    # ---- inside

    def _elapsed(self) -> float:
        return time.monotonic() - self._started - self._paused_seconds

    def _memory(self) -> dict[str, int]:
        return {str(kind): nbytes for kind, nbytes in self.model.device.ledger.snapshot().by_kind.items()}

    def _step_event(self, result: StepResult, rate: float) -> StepEvent:
        mean = sum(self._speeds) / len(self._speeds)
        left = mean * (self.options.steps - self.step)
        if self.options.minutes:
            left = min(left, max(0.0, self.options.minutes * 60 - self._elapsed()))
        tokens = self.options.batch_size * self.options.sequence_length
        return StepEvent(
            self.step, result.loss, rate, result.gradient_norm, tokens / mean, left, self._memory(), result.applied
        )

    def _fitting_micro_batch(self) -> int:
        """The largest part of a batch whose training stays under the memory ceiling."""
        o, device = self.options, self.model.device
        held = sum(slab.nbytes for slab in self.model.weight_slabs)
        sizes = [size for size in range(o.batch_size, 0, -1) if o.batch_size % size == 0]
        for size in sizes:
            needed = sum(self.model.estimate(o.mode, size, o.sequence_length, o.batch_size // size).values())
            if device.ledger.total - held + needed <= device.ledger.ceiling:
                return size
        return 1  # the allocation itself says what is missing

    def _read_trained(self) -> dict[str, np.ndarray]:
        """A copy of every trained row."""
        return {
            name: self._home(name)[name][rows.first : rows.last] for name, rows in self._training.trained.rows.items()
        }

    def _write_trained(self, arrays: dict[str, np.ndarray]) -> None:
        for name, rows in self._training.trained.rows.items():
            whole = arrays[name] if rows.whole else self._home(name)[name]
            if not rows.whole:
                whole[rows.first : rows.last] = arrays[name]
            self._home(name)[name] = whole

    def _home(self, name: str):
        return self.model.parameters if name in self.model.parameters else self.model.adapters
