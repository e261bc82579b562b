"""One optimisation step as programs: forward, backward, clip, AdamW.

With one micro-batch everything is one program, so that a WebGPU device needs one submit. With several, the first
overwrites the gradients, the others add to them, and the last one updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.devices.interface import Device, Executable
from engine.errors import InputError
from engine.graph import operations as op
from engine.graph.kernels import LayerStatistics, Scalars, Statistics
from engine.graph.mixture import ExpertLoad
from engine.graph.parameters import IndexedRows
from engine.graph.tape import Tape
from engine.graph.tensor import READ_BACK, Program
from engine.model.architectures.architecture import Architecture
from engine.model.network import Network
from engine.model.trained import TrainedSet
from engine.option_info import number_problem


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
class LayerInsight:
    """What a step did in one layer, as far as the layer is trained.

    `gradient_rms`: root mean square of the gradient, before clipping. `update_ratio`: length of the change over length
    of what is changed (healthy is about 1e-3; for low-rank pairs, half of which begin at zero, more).
    `dead_share`: channels of the mixer, or of the MLP where that attends, that take no part, 0 to 1, over the tokens of
    the step's last micro-batch. `expert_load`: in a mixture, the share of these tokens' choices that fell on each
    expert, 1 in all.
    """

    layer: int
    gradient_rms: float
    update_ratio: float
    dead_share: float
    expert_load: tuple[float, ...] = ()


@dataclass(frozen=True)
class StepResult:
    """What a step did.

    `applied` is False where loss or gradient was not finite and nothing was changed. `layers` is empty unless the step
    was run with insight.
    """

    loss: float
    gradient_norm: float
    applied: bool
    layers: tuple[LayerInsight, ...] = ()


def step_program(
    network: Network,
    device: Device,
    trained: TrainedSet,
    batch: int,
    length: int,
    *,
    accumulate: bool = False,
    update: bool = False,
    insight: bool = False,
    recompute: int = 0,
) -> Program:
    """Loss and gradients of `trained` for ids (batch, length + 1) and, where `update`, the AdamW step.

    `insight`: with statistics of every layer. `recompute`: layers that keep no activations.
    """
    layers = network.config.num_hidden_layers
    if problem := number_problem("The number of layers to recompute", recompute, 0, layers, whole=True):
        raise InputError(problem)
    experts, factor = network.config.experts, network.config.balance_factor
    tape = Tape("training step", device, trained.rows, accumulate, layers if insight else 0, experts)
    tokens = batch * length
    ids = tape.input("ids", (tokens,), "int32")
    targets = tape.input("targets", (tokens,), "int32")
    scalars = tape.input("scalars", (Scalars.COUNT,))
    rows = tape.trained(network.embedding)
    order = tape.input("order", (tokens,), "int32") if rows else None
    places = tape.input("places", (tokens,), "int32") if isinstance(rows, IndexedRows) else None
    counts_load = experts > 0 and (factor > 0 or insight)
    load = ExpertLoad(tape, layers, experts, targets, factor) if counts_load else None
    hidden = network.hidden(tape, ids, order, length, places, recompute, load)
    losses = op.cross_entropy(tape, hidden, network.head, targets, scalars, network.config.logits_factor)
    tape.emit("total", losses, tape.statistics().view(Statistics.LOSS_SUM, (1,)))
    if load is not None:
        load.emit_term(tape, scalars)
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
    tape.output("losses", op.cross_entropy(tape, hidden, network.head, targets, scalars, network.config.logits_factor))
    return tape.program


def checked_ids(ids: Any, config: Architecture, least: int) -> np.ndarray:
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
    program: Program,
    config: Architecture,
    ids: np.ndarray,
    scalars: np.ndarray,
    counted: np.ndarray | None = None,
    trained: TrainedSet | None = None,
    document_end: int | None = None,
) -> dict[str, np.ndarray]:
    """The inputs of a step for ids (b, l + 1): inputs ids[:, :-1], targets ids[:, 1:], -1 where one does not count.

    `trained`: what the step trains; needed where that is single rows of the embedding. `document_end`: the token that
    ends a document; what follows does not attend to what came before.
    """
    flat = np.ascontiguousarray(ids[:, :-1], np.int32).reshape(-1)
    targets = np.ascontiguousarray(ids[:, 1:], np.int32)
    if counted is not None:
        targets = np.where(np.arange(targets.shape[1]) < counted[:, None], targets, np.int32(-1))
    inputs = {"ids": flat, "targets": targets.reshape(-1), "scalars": scalars}
    rows = flat
    if "places" in program.inputs:
        inputs["places"] = rows = trained.places(flat)
    if "order" in program.inputs:
        inputs["order"] = np.argsort(rows, kind="stable").astype(np.int32)
    return inputs | place_inputs(program, config, ids[:, :-1], document_end)


def place_inputs(
    program: Program, config: Architecture, ids: np.ndarray, document_end: int | None = None
) -> dict[str, np.ndarray]:
    """`reach` and `rotations` for ids (b, l), as far as the program has them."""
    if "reach" not in program.inputs:
        return {}
    (b, l), token = ids.shape, np.arange(ids.size)
    begins = np.zeros((b, l), bool)
    begins[:, 0] = True
    if document_end is not None:
        begins[:, 1:] |= ids[:, :-1] == document_end
    start = np.maximum.accumulate(np.where(begins.reshape(-1), token, 0))
    first = np.maximum(start, token + 1 - config.attention_window) if config.attention_window else start
    inputs = {"reach": np.stack([token - start, first, token + 1], axis=1).astype(np.int32)}
    if "rotations" in program.inputs:
        inputs["rotations"] = config.rotations(np.arange(l))
    return inputs


@dataclass(frozen=True)
class StepRole:
    """What a micro-batch does with the gradients: add to those that are there, and update at the end."""

    accumulate: bool
    update: bool
    insight: bool = False


def step_roles(micro_batches: int) -> list[StepRole]:
    """The first overwrites the gradients, the others add, the last updates."""
    return [StepRole(accumulate=i > 0, update=i == micro_batches - 1) for i in range(micro_batches)]


def step_programs(
    network: Network,
    device: Device,
    trained: TrainedSet,
    batch: int,
    length: int,
    micro_batches: int = 1,
    recompute: int = 0,
) -> dict[StepRole, Program]:
    """Every program of a training step: one for each role of a micro-batch, and last the last one with insight."""
    roles = step_roles(micro_batches)
    return {
        role: step_program(network, device, trained, batch, length, **vars(role), recompute=recompute)
        for role in (*dict.fromkeys(roles), replace(roles[-1], insight=True))
    }


class TrainingStep:
    """Steps over batches of one shape.

    Owns the gradients, the moments and the working memory; `close` frees them.
    """

    def __init__(
        self,
        network: Network,
        device: Device,
        trained: TrainedSet,
        batch: int,
        length: int,
        micro_batches: int = 1,
        recompute: int = 0,
        document_end: int | None = None,
    ) -> None:
        """`document_end`: the token that ends a document; attention does not look across it."""
        self.device, self.trained, self.config = device, trained, network.config
        self.document_end = document_end
        for name, value in (("batch", batch), ("length", length), ("micro_batches", micro_batches)):
            if not isinstance(value, int) or value < 1:
                raise InputError(f"{name} of a training step is {value!r}; it must be a whole number of at least 1.")
        self.batch, self.length, self.micro_batches, self.recompute = batch, length, micro_batches, recompute
        programs = step_programs(network, device, trained, batch, length, micro_batches, recompute)
        *_, self._insight_program = programs.values()
        self._insight: Executable | None = None  # bound when it is first asked for
        trained.allocate(device, moments=True)
        try:
            *usual, insight = programs
            bound = device.compile_together([programs[role] for role in usual], later=[programs[insight]])
        except BaseException:
            trained.release(device, moments=True)
            raise
        by_role = dict(zip(usual, bound, strict=True))
        self.executables = [by_role[role] for role in step_roles(micro_batches)]

    def run(
        self,
        ids: np.ndarray,
        optimiser: AdamW,
        step: int,
        counted: np.ndarray | None = None,
        insight: bool = False,
    ) -> Callable[[], StepResult]:
        """Enqueue step number `step` (from 1) over ids (micro_batches * batch, length + 1).

        `counted`: how many targets of each row count, from the left. `insight`: also report statistics of each
        layer; the weights change as they would without. The function that is returned waits for the result, so that the
        next step can be enqueued first.
        """
        ids = checked_ids(ids, self.config, least=2)
        expected = (self.micro_batches * self.batch, self.length + 1)
        if ids.shape != expected:
            raise InputError(f"Token ids have shape {ids.shape}; this training step takes {expected}.")
        counted = checked_counted(counted, ids)
        tokens = max(1, int(counted.sum()))
        scalars = optimiser.scalars(step, tokens)
        executables = [*self.executables[:-1], self._with_insight() if insight else self.executables[-1]]
        waiting = []
        parts = zip(np.split(ids, self.micro_batches), np.split(counted, self.micro_batches), strict=True)
        for (part, part_counted), executable in zip(parts, executables, strict=True):
            program = executable.plan.program
            inputs = batch_inputs(program, self.config, part, scalars, part_counted, self.trained, self.document_end)
            executable.run(inputs)
            waiting.append(executable.read_later(READ_BACK))

        def result() -> StepResult:
            statistics = [wait() for wait in waiting]
            loss = math.fsum(float(s[Statistics.LOSS_SUM]) for s in statistics) / tokens
            norm, factor = (float(statistics[-1][i]) for i in (Statistics.GRADIENT_NORM, Statistics.CLIP_FACTOR))
            layers = self._layers(statistics[-1]) if insight else ()
            return StepResult(loss, norm, factor > 0 and math.isfinite(loss), layers)

        return result

    def _with_insight(self) -> Executable:
        if self._insight is None:
            self._insight = self.device.compile_beside(self.executables[-1], self._insight_program)
        return self._insight

    def _layers(self, statistics: np.ndarray) -> tuple[LayerInsight, ...]:
        """The statistics of every layer, from sums to what a person can compare."""
        width = LayerStatistics.COUNT + self.config.experts
        rows = statistics[Statistics.COUNT :].astype(np.float64).reshape(-1, width)
        found = []
        for layer, size in sorted(self.trained.layer_sizes().items()):
            gradient, weights, change = np.sqrt(rows[layer, LayerStatistics.SQUARES : LayerStatistics.DEAD])
            channels = next((block.channels for block in self.config.blocks(layer) if block.channels), 1)
            dead = rows[layer, LayerStatistics.DEAD] / channels  # of several blocks, the first one counts last
            ratio = change / weights if weights else 0.0
            counts = rows[layer, LayerStatistics.COUNT :]
            load = tuple((counts / max(counts.sum(), 1)).tolist())
            found.append(LayerInsight(layer, float(gradient / math.sqrt(size)), float(ratio), float(dead), load))
        return tuple(found)

    def close(self) -> None:
        """Give all memory back."""
        for executable in (*self.executables, self._insight):
            if executable is not None:
                executable.close()
        self._insight = None
        self.trained.release(self.device, moments=True)
