"""One optimisation step as programs: forward, backward, clip, AdamW.

With one micro-batch everything is one program, so that a WebGPU device needs one submit. With several, the first
overwrites the gradients, the others add to them, and the last one updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.devices.interface import Device
from engine.errors import InputError
from engine.graph import operations as op
from engine.graph.kernels import Scalars, Statistics
from engine.graph.tape import Tape
from engine.graph.tensor import Program
from engine.model.config import ModelConfig
from engine.model.layout import TrainedSet
from engine.model.mamba import Network


@dataclass(frozen=True)
class AdamW:
    """Options of the optimiser; 0 means no limit for `max_norm` and for `trust`, the largest change of a weight."""

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.01
    max_norm: float = 1.0
    trust: float = 0.0

    def scalars(self, step: int, targets: int) -> np.ndarray:
        """The numbers that change from step to step (the first is 1), for a step over `targets` tokens in all."""
        if step < 1:
            raise InputError(f"The optimisation step has number {step}; the first is 1.")
        values = np.zeros(Scalars.COUNT, np.float32)
        values[Scalars.GRADIENT_SCALE] = 1.0 / max(targets, 1)
        values[Scalars.LEARNING_RATE] = self.learning_rate
        values[Scalars.BETA1], values[Scalars.BETA2] = self.beta1, self.beta2
        values[Scalars.EPSILON], values[Scalars.WEIGHT_DECAY] = self.epsilon, self.weight_decay
        values[Scalars.CORRECTION1] = 1.0 - self.beta1**step
        values[Scalars.CORRECTION2] = 1.0 - self.beta2**step
        values[Scalars.MAX_NORM], values[Scalars.TRUST] = self.max_norm, self.trust
        return values


@dataclass(frozen=True)
class StepResult:
    """What a step did.  `applied` is False where loss or gradient was not finite and nothing was changed."""

    loss: float
    gradient_norm: float
    applied: bool


def step_program(
    network: Network,
    device: Device,
    trained: TrainedSet,
    batch: int,
    length: int,
    *,
    accumulate: bool = False,
    update: bool = False,
) -> Program:
    """Loss and gradients of `trained` for ids (batch, length + 1) and, where `update`, the AdamW step."""
    tape = Tape("training step", device, trained.rows, accumulate)
    tokens = batch * length
    ids = tape.input("ids", (tokens,), "int32")
    targets = tape.input("targets", (tokens,), "int32")
    scalars = tape.input("scalars", (Scalars.COUNT,))
    embedding = network.parameters["backbone.embeddings.weight"]
    order = tape.input("order", (tokens,), "int32") if tape.trained(embedding) else None
    hidden = network.hidden(tape, ids, order, length)
    losses = op.cross_entropy(tape, hidden, network.head, targets, scalars)
    tape.emit("total", losses, tape.statistics().view(Statistics.LOSS_SUM, (1,)))
    tape.backward()
    if update:
        trained.emit_update(tape, scalars)
    return tape.program


def loss_program(network: Network, device: Device, batch: int, length: int) -> Program:
    """The losses of ids (batch, length + 1), token by token, with no gradient."""
    tape = Tape("loss", device)
    tokens = batch * length
    ids = tape.input("ids", (tokens,), "int32")
    targets = tape.input("targets", (tokens,), "int32")
    scalars = tape.input("scalars", (Scalars.COUNT,))
    hidden = network.hidden(tape, ids, None, length)
    tape.output("losses", op.cross_entropy(tape, hidden, network.head, targets, scalars))
    return tape.program


def checked_ids(ids: Any, config: ModelConfig, least: int) -> np.ndarray:
    """`ids` as int32 (batch, length), or an error that says what is wrong with them."""
    try:
        array = np.asarray(ids)
    except ValueError as error:  # rows of different lengths
        raise InputError("Token ids have no shape: their rows differ in length.", "Pad or cut them.") from error
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] < least:
        raise InputError(f"Token ids have shape {array.shape}; they must be (batch >= 1, length >= {least}).")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"Token ids are {array.dtype}; they must be whole numbers.")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= config.vocab_size:
        raise InputError(
            f"Token id {low if low < 0 else high} is out of range; the vocabulary is 0 to {config.vocab_size - 1}.",
            "Use the tokenizer that belongs to this model.",
        )
    return np.ascontiguousarray(array, np.int32)


def checked_counted(counted: Any, ids: np.ndarray) -> np.ndarray:
    """How many targets of each row count, from the left; all of them where `counted` is None."""
    length = ids.shape[1] - 1
    if counted is None:
        return np.full(ids.shape[0], length)
    array = np.asarray(counted)
    if array.shape != (ids.shape[0],) or array.min() < 0 or array.max() > length:
        raise InputError(f"The counts of targets have shape {array.shape}; there must be one a row, 0 to {length}.")
    return array


def batch_inputs(
    program: Program, ids: np.ndarray, scalars: np.ndarray, counted: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """The inputs of a step for ids (b, l + 1): inputs ids[:, :-1], targets ids[:, 1:], -1 where one does not count."""
    flat = np.ascontiguousarray(ids[:, :-1], np.int32).reshape(-1)
    targets = np.ascontiguousarray(ids[:, 1:], np.int32)
    if counted is not None:
        targets = np.where(np.arange(targets.shape[1]) < counted[:, None], targets, np.int32(-1))
    inputs = {"ids": flat, "targets": targets.reshape(-1), "scalars": scalars}
    if "order" in program.inputs:
        inputs["order"] = np.argsort(flat, kind="stable").astype(np.int32)
    return inputs


@dataclass(frozen=True)
class StepRole:
    """What a micro-batch does with the gradients: add to those that are there, and update at the end."""

    accumulate: bool
    update: bool


def step_roles(micro_batches: int) -> list[StepRole]:
    """The first overwrites the gradients, the others add, the last updates."""
    return [StepRole(accumulate=i > 0, update=i == micro_batches - 1) for i in range(micro_batches)]


class TrainingStep:
    """Steps over batches of one shape.

    Owns the gradients, the moments and the working memory; `close` gives them back.
    """

    def __init__(
        self, network: Network, device: Device, trained: TrainedSet, batch: int, length: int, micro_batches: int = 1
    ) -> None:
        self.device, self.trained, self.config = device, trained, network.config
        for name, value in (("batch", batch), ("length", length), ("micro_batches", micro_batches)):
            if not isinstance(value, int) or value < 1:
                raise InputError(f"{name} of a training step is {value!r}; it must be a whole number of at least 1.")
        self.batch, self.length, self.micro_batches = batch, length, micro_batches
        trained.allocate(device, moments=True)
        try:
            roles = step_roles(micro_batches)
            distinct = list(dict.fromkeys(roles))
            programs = [step_program(network, device, trained, batch, length, **vars(role)) for role in distinct]
            by_role = dict(zip(distinct, device.compile_together(programs), strict=True))
        except BaseException:
            trained.release(device, moments=True)
            raise
        self.executables = [by_role[role] for role in roles]

    def run(
        self, ids: np.ndarray, optimiser: AdamW, step: int, counted: np.ndarray | None = None
    ) -> Callable[[], StepResult]:
        """Enqueue step number `step` (from 1) over ids (micro_batches * batch, length + 1).

        `counted`: how many targets of each row count, from the left.  The function given back waits for the result, so
        that the next step can be enqueued first.
        """
        ids = checked_ids(ids, self.config, least=2)
        expected = (self.micro_batches * self.batch, self.length + 1)
        if ids.shape != expected:
            raise InputError(f"Token ids have shape {ids.shape}; this training step takes {expected}.")
        counted = checked_counted(counted, ids)
        tokens = max(1, int(counted.sum()))
        scalars = optimiser.scalars(step, tokens)
        waiting = []
        parts = zip(np.split(ids, self.micro_batches), np.split(counted, self.micro_batches), strict=True)
        for (part, part_counted), executable in zip(parts, self.executables, strict=True):
            executable.run(batch_inputs(executable.plan.program, part, scalars, part_counted))
            waiting.append(executable.read_later("statistics"))

        def result() -> StepResult:
            statistics = [wait() for wait in waiting]
            loss = math.fsum(float(s[Statistics.LOSS_SUM]) for s in statistics) / tokens
            norm, factor = (float(statistics[-1][i]) for i in (Statistics.GRADIENT_NORM, Statistics.CLIP_FACTOR))
            return StepResult(loss, norm, factor > 0 and math.isfinite(loss))

        return result

    def close(self) -> None:
        """Give all memory back."""
        for executable in self.executables:
            executable.close()
        self.trained.release(self.device, moments=True)
