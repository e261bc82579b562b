"""What a trainer trains with: a training step of the right size, and the weights and moments that it moves.

The batch is cut so that it fits under the memory ceiling, and cut smaller where memory runs short on the way: moments
and weights stay as they are, so nothing but the time of a step changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.errors import InputError, MemoryCeilingError
from engine.graph.tensor import Kind
from engine.model.model import Model
from engine.model.step import AdamW, StepResult, TrainingStep
from engine.train.evaluation import TokenBatch
from engine.train.memory_fitting import Fit, fitting, smaller
from engine.train.moments import moment_sizes, read_moments, write_moments
from engine.train.options import TrainingOptions

OUT_OF_MEMORY = (MemoryCeilingError, MemoryError)


class FittedStep:
    """Gradients, moments and working memory for training `model` by `options`; `close` gives them back."""

    def __init__(self, model: Model, options: TrainingOptions, token_ids: np.ndarray | None = None) -> None:
        """`token_ids`: the tokens whose embedding rows mode "vocabulary" trains."""
        self.model, self._options, self._token_ids = model, options, token_ids
        self._layers = model.config.num_hidden_layers
        self._moments: dict[str, np.ndarray] = {}  # while there is no training step that holds them
        self.fit = fitting(options, self._layers, self.estimate, self._room())
        self._step: TrainingStep | None = None
        try:
            self._step = self._new_step(self.fit)
        except OUT_OF_MEMORY as error:
            self._first_smaller_step(error)

    @property
    def step(self) -> TrainingStep:
        if self._step is None:
            raise InputError("The trainer is closed.", "Make a new one.")
        return self._step

    def run(self, batch: TokenBatch, optimiser: AdamW, number: int, insight: bool) -> Callable[[], StepResult]:
        """Enqueue step `number`; the function given back waits for its result."""
        return self.step.run(batch.tokens, optimiser, number, batch.counted, insight)

    @property
    def trained_parameters(self) -> int:
        return sum(size for name, size in moment_sizes(self.step.trained).items() if name.startswith("first."))

    # ---- weights and moments

    def read_weights(self) -> dict[str, np.ndarray]:
        """A copy of everything that is trained."""
        return self.step.trained.read(self.model)

    def write_weights(self, arrays: dict[str, np.ndarray]) -> None:
        """Put back what `read_weights` gave."""
        self.step.trained.write(self.model, arrays)

    def read_moments(self) -> dict[str, np.ndarray]:
        """A copy of both moments, by name."""
        return self._moments or read_moments(self.model.device, self.step.trained)

    def write_moments(self, moments: dict[str, np.ndarray]) -> None:
        """Put back what `read_moments` gave."""
        write_moments(self.model.device, self.step.trained, moments)

    def moment_names(self) -> list[str]:
        return list(moment_sizes(self.step.trained))

    # ---- memory

    def estimate(self, fit: Fit) -> dict[Kind, int]:
        """Bytes by kind that training would hold, cut like this, the weights counted in."""
        o = self._options
        more = {"token_ids": self._token_ids, "recompute": fit.recompute}
        return self.model.estimate(o.mode, fit.micro_batch, o.sequence_length, fit.micro_batches, **more)

    def shrink(self, error: BaseException) -> str:
        """An allocation failed: cut the batch smaller, or recompute more.  Gives that in words, or raises."""
        for fit in self._smaller_ones():
            try:
                self._replace(fit)
            except OUT_OF_MEMORY:
                continue
            again = f", and {fit.recompute} layers are computed twice" if fit.recompute else ""
            return (
                f"Memory ran short: the batch is now computed in {fit.micro_batches} parts{again}. "
                "That is slower; what is learned is the same."
            )
        raise _in_words(error) from error

    def cut_as(self, micro_batch: int, recompute: int) -> None:
        """Cut the batch as an earlier process did, if that fits: the same parts give the same bits."""
        size = max(1, min(micro_batch, self._options.batch_size))
        fit = Fit(size, self._options.batch_size // size, min(recompute, self._layers))
        if fit == self.fit or self._options.batch_size % size:
            return
        if sum(self.estimate(fit).values()) <= self._room() + self._own_bytes():
            self._replace(fit)

    def close(self) -> None:
        """Give the memory back."""
        if self._step is not None:
            self._step.close()
            self._step = None

    def _replace(self, fit: Fit) -> None:
        """Another way to cut the batch, with the moments as they are."""
        self._moments = self.read_moments()
        self.close()
        self._step = self._new_step(fit)
        self.write_moments(self._moments)
        self.fit, self._moments = fit, {}

    def _first_smaller_step(self, error: BaseException) -> None:
        """Less memory was to be had than the ceiling allows: begin with the largest part that does fit."""
        for fit in self._smaller_ones():
            try:
                self._step, self.fit = self._new_step(fit), fit
            except OUT_OF_MEMORY:
                continue
            return
        raise _in_words(error) from error

    def _smaller_ones(self) -> Iterator[Fit]:
        fit: Fit | None = self.fit
        while (fit := smaller(fit, self._options, self._layers)) is not None:
            yield fit

    def _new_step(self, fit: Fit) -> TrainingStep:
        o = self._options
        more = {"token_ids": self._token_ids, "recompute": fit.recompute}
        return self.model.training_step(o.mode, fit.micro_batch, o.sequence_length, fit.micro_batches, **more)

    def _room(self) -> int:
        """Bytes that training may take, the weights counted in."""
        ledger = self.model.device.ledger
        return ledger.ceiling - ledger.total + self._weight_bytes()

    def _own_bytes(self) -> int:
        """What the present training step holds besides the weights."""
        return sum(self.estimate(self.fit).values()) - self._weight_bytes()

    def _weight_bytes(self) -> int:
        return sum(slab.nbytes for slab in self.model.weight_slabs)


def _in_words(error: BaseException) -> MemoryCeilingError:
    """What to tell where even the smallest part does not fit."""
    if isinstance(error, MemoryCeilingError):
        return MemoryCeilingError(error.message, error.remedy)
    return MemoryCeilingError(
        "The system has not enough memory for this run, not even for one window at a time.",
        "Close other programs, or choose a smaller model, shorter windows or another mode.",
    )
