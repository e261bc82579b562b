"""A training step that fits into memory, with the weights and moments that it changes.

The batch is split so that it fits under the memory ceiling, and split further when memory runs short during the run:
weights and moments stay as they are, so only the time of a step changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.devices import Device
from engine.errors import InputError, MemoryCeilingError
from engine.graph.tensor import Kind, Slab
from engine.model.model import Model
from engine.model.step import AdamW, StepResult, TrainingStep
from engine.model.trained import TrainedSet
from engine.train.evaluation import TokenBatch
from engine.train.memory_fitting import Fit, fitting, smaller
from engine.train.options import TrainingOptions

OUT_OF_MEMORY = (MemoryCeilingError, MemoryError)


class FittedStep:
    """Gradients, moments and working memory for training `model` by `options`; `close` frees them."""

    def __init__(self, model: Model, options: TrainingOptions, token_ids: np.ndarray | None = None) -> None:
        """`token_ids`: tokens whose embedding rows are trained besides; mode "vocabulary" needs them."""
        self.model, self._options, self._token_ids = model, options, token_ids
        self._layers = model.config.num_hidden_layers
        self._moments: dict[str, np.ndarray] = {}  # while no training step holds them
        self.fit = fitting(options, self._layers, self.estimate, self._room())
        self._step: TrainingStep | None = None
        try:
            self._step = self._new_step(self.fit)
        except OUT_OF_MEMORY as error:
            self._first_smaller_step(error)

    @property
    def step(self) -> TrainingStep:
        if self._step is None:
            raise InputError("The trainer is closed.", "Create a new one.")
        return self._step

    def run(self, batch: TokenBatch, optimiser: AdamW, number: int, insight: bool) -> Callable[[], StepResult]:
        """Enqueue step `number`; the function returned waits for its result."""
        return self.step.run(batch.tokens, optimiser, number, batch.counted, insight)

    @property
    def trained_parameters(self) -> int:
        return sum(size for name, size in moment_sizes(self.step.trained).items() if name.startswith("first."))

    # ---- weights and moments

    def read_weights(self) -> dict[str, np.ndarray]:
        """A copy of everything that is trained."""
        return self.step.trained.read(self.model)

    def write_weights(self, arrays: dict[str, np.ndarray]) -> None:
        """The inverse of `read_weights`."""
        self.step.trained.write(self.model, arrays)

    def read_moments(self) -> dict[str, np.ndarray]:
        """A copy of both moments, by name."""
        return self._moments or read_moments(self.model.device, self.step.trained)

    def write_moments(self, moments: dict[str, np.ndarray]) -> None:
        """The inverse of `read_moments`."""
        write_moments(self.model.device, self.step.trained, moments)

    def moment_names(self) -> list[str]:
        return list(moment_sizes(self.step.trained))

    # ---- memory

    def estimate(self, fit: Fit) -> dict[Kind, int]:
        """Bytes by kind that training would hold with this split, including the weights."""
        o = self._options
        more = {"token_ids": self._token_ids, "recompute": fit.recompute}
        return self.model.estimate(o.mode, fit.micro_batch, o.sequence_length, fit.micro_batches, **more)

    def shrink(self, error: BaseException) -> str:
        """An allocation failed: split the batch further, or recompute more.  Returns a note for people, or raises."""
        for fit in self._smaller_ones():
            try:
                self._replace(fit)
            except OUT_OF_MEMORY:
                continue
            again = f", and {fit.recompute} layers are recomputed" if fit.recompute else ""
            return (
                f"Memory ran short: each batch is now computed in {fit.micro_batches} parts{again}. "
                "This is slower; the result is the same."
            )
        raise _in_words(error) from error

    def split_as(self, micro_batch: int, recompute: int) -> None:
        """Split the batch as an earlier process did, if that fits: the same parts give the same bits."""
        size = max(1, min(micro_batch, self._options.batch_size))
        fit = Fit(size, self._options.batch_size // size, min(recompute, self._layers))
        if fit == self.fit or self._options.batch_size % size:
            return
        if sum(self.estimate(fit).values()) <= self._room() + self._own_bytes():
            self._replace(fit)

    def close(self) -> None:
        if self._step is not None:
            self._step.close()
            self._step = None

    def _replace(self, fit: Fit) -> None:
        """Split the batch differently, keeping the moments."""
        self._moments = self.read_moments()
        self.close()
        self._step = self._new_step(fit)
        self.write_moments(self._moments)
        self.fit, self._moments = fit, {}

    def _first_smaller_step(self, error: BaseException) -> None:
        """The system has less memory than the ceiling allows: start with the largest part that fits."""
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
        """Bytes that training may take, including the weights."""
        ledger = self.model.device.ledger
        return ledger.ceiling - ledger.total + self._weight_bytes()

    def _own_bytes(self) -> int:
        """What the present training step holds in addition to the weights."""
        return sum(self.estimate(self.fit).values()) - self._weight_bytes()

    def _weight_bytes(self) -> int:
        return sum(slab.nbytes for slab in self.model.weight_slabs)


def _in_words(error: BaseException) -> MemoryCeilingError:
    """The error for people, when even the smallest part does not fit."""
    if isinstance(error, MemoryCeilingError):
        return MemoryCeilingError(error.message, error.remedy)
    return MemoryCeilingError(
        "There is not enough memory for this run, even with one window at a time.",
        "Close other programs, or choose a smaller model, a shorter sequence length or another mode.",
    )


# ---- AdamW's moments by parameter name: a run can be resumed on a device that lays its memory out differently


def read_moments(device: Device, trained: TrainedSet) -> dict[str, np.ndarray]:
    """Both moments of everything trained, as vectors: "first.<name>" and "second.<name>"."""
    parts: dict[str, list[np.ndarray]] = {}
    for order, gradients, moments in _slabs(trained):
        flat = device.read(moments.flat())
        for tensor in gradients.tensors:
            start = tensor.offset // 4
            parts.setdefault(f"{order}.{tensor.name}", []).append(flat[start : start + tensor.size])
    return {name: blocks[0].copy() if len(blocks) == 1 else np.concatenate(blocks) for name, blocks in parts.items()}


def write_moments(device: Device, trained: TrainedSet, moments: dict[str, np.ndarray]) -> None:
    """The inverse of `read_moments`, on this device or another."""
    taken = dict.fromkeys(moments, 0)
    for order, gradients, slab in _slabs(trained):
        flat = np.zeros(slab.nbytes // 4, np.float32)
        for tensor in gradients.tensors:
            name, start = f"{order}.{tensor.name}", tensor.offset // 4
            flat[start : start + tensor.size] = moments[name][taken[name] : taken[name] + tensor.size]
            taken[name] += tensor.size
        device.write(slab.flat(), flat)


def moment_sizes(trained: TrainedSet) -> dict[str, int]:
    """How long each vector of `read_moments` is."""
    sizes: dict[str, int] = {}
    for order, gradients, _ in _slabs(trained):
        for tensor in gradients.tensors:
            name = f"{order}.{tensor.name}"
            sizes[name] = sizes.get(name, 0) + tensor.size
    return sizes


def _slabs(trained: TrainedSet) -> Iterator[tuple[str, Slab, Slab]]:
    """Which moment, the gradients that give the layout, and the slab, which is laid out like its gradient's."""
    for order, slabs in (("first", trained.first_slabs), ("second", trained.second_slabs)):
        for gradients, slab in zip(trained.gradient_slabs, slabs, strict=True):
            yield order, gradients, slab
