"""`Model`: weights on a device, and what can be asked of them.  Public and stable; other programs build on it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.devices.choice import open_device
from engine.devices.interface import Device, Executable
from engine.graph import operations as op
from engine.graph.kernels import Statistics
from engine.graph.tape import Tape
from engine.graph.tensor import READ_BACK, Kind, Program, Slab
from engine.model import files
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.reading import config_from
from engine.model.blueprint import Blueprint
from engine.model.initialise import initial_adapter, initial_parameters
from engine.model.modes import ADAPTER_MODES
from engine.model.parameter_map import ParameterMap
from engine.model.selection import DEFAULT_RANK, selected_tokens
from engine.model.step import (
    AdamW,
    TrainingStep,
    batch_inputs,
    checked_counted,
    checked_ids,
    loss_program,
    place_inputs,
    step_program,
)
from engine.model.storage import Storage
from engine.model.trained import TrainedSet

KEPT_PROGRAMS = 4  # compiled shapes that `logits` and `loss_and_gradients` keep for the next call


class Model:
    """A model on one device.  Use it from the thread that made it; `close` gives its memory back."""

    def __init__(self, config: Architecture, device: Device, storage: Storage | None = None) -> None:
        """Zero weights: `create_model` and `load_model` fill them."""
        self.config, self.device = config, device
        self.storage = storage or Storage()
        self._blueprint = Blueprint(config, device, self.storage)
        device.allocate(self._blueprint.slabs)
        self.network = self._blueprint.network
        self.parameters = ParameterMap(device, self.network.parameters)
        self.owned_device: Device | None = None  # closed with the model
        self.document_end: int | None = None  # the token after which attention starts anew, in windows of several texts
        self._kept: OrderedDict[tuple, tuple[Executable, TrainedSet | None]] = OrderedDict()

    # ---- computing

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """float32 (b, l, v): the scores of the token after each of ids (b, l)."""
        ids = checked_ids(ids, self.config, least=1)
        (b, l), v = ids.shape, self.config.vocab_size
        executable, _ = self._keep(("logits", b, l), lambda: (self._logits_program(b, l), None))
        program = executable.plan.program
        executable.run({"ids": ids.reshape(-1)} | place_inputs(program, self.config, ids))
        chunks = [executable.read(name) for name in executable.plan.program.outputs]
        return np.concatenate(chunks).reshape(b, l, v)

    def losses(self, ids: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
        """float32 (b, l): the loss of each target of ids (b, l+1), with no gradient and no full logits.

        `counted`: how many targets of each row count, from the left; the others give 0.
        """
        ids = checked_ids(ids, self.config, least=2)
        b, l = ids.shape[0], ids.shape[1] - 1
        executable, _ = self._keep(("losses", b, l), lambda: (loss_program(self.network, self.device, b, l), None))
        scalars = AdamW().scalars(1, b * l)
        counted = checked_counted(counted, ids)
        program, end = executable.plan.program, self.document_end
        inputs = batch_inputs(program, self.config, ids, scalars, counted, document_end=end)
        executable.run(inputs)
        return executable.read("losses").reshape(b, l)

    def loss_and_gradients(
        self, ids: np.ndarray, trainable: str = "full", *, token_ids: np.ndarray | None = None, recompute: int = 0
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Mean loss of ids (b, l+1) — inputs ids[:, :-1], targets ids[:, 1:] — and the gradient of what `trainable`
        names.

        "full": every parameter. "wsla": the rows of B and C; "qk": the queries and keys. "lora", "vocabulary": the
        low-rank pairs. And of the embedding one row (m,) for each of `token_ids`, in order and each once.
        """
        ids = checked_ids(ids, self.config, least=2)
        b, l = ids.shape[0], ids.shape[1] - 1

        def build() -> tuple[Program, TrainedSet]:
            trained = self.trained_set(trainable, token_ids)
            return step_program(self.network, self.device, trained, b, l, recompute=recompute), trained

        tokens = selected_tokens(self.config, trainable, token_ids)
        key = ("gradients", trainable, b, l, recompute, b"" if tokens is None else tokens.tobytes())
        executable, trained = self._keep(key, build)
        scalars = AdamW().scalars(1, b * l)
        program, end = executable.plan.program, self.document_end
        executable.run(batch_inputs(program, self.config, ids, scalars, trained=trained, document_end=end))
        loss = float(executable.read(READ_BACK)[Statistics.LOSS_SUM]) / (b * l)
        gradients = {}
        for name, rows in trained.rows.items():
            blocks = [self.device.read(gradient) for gradient in rows.gradients]
            gradients[name] = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return loss, gradients

    def training_step(
        self,
        mode: str,
        batch: int,
        length: int,
        micro_batches: int = 1,
        *,
        token_ids: np.ndarray | None = None,
        recompute: int = 0,
    ) -> TrainingStep:
        """Working memory and programs for training by `mode`; close it when done.

        `token_ids`: tokens whose embedding rows are trained besides (`selected_tokens`); mode "vocabulary" needs them.
        `recompute`: so many layers (0 to all) keep no activations and compute them again for the backward, which takes
        time and saves memory.
        """
        trained = self.trained_set(mode, token_ids)
        return TrainingStep(
            self.network, self.device, trained, batch, length, micro_batches, recompute, self.document_end
        )

    def estimate(
        self,
        mode: str,
        batch: int,
        length: int,
        micro_batches: int = 1,
        *,
        token_ids: np.ndarray | None = None,
        recompute: int = 0,
    ) -> dict[Kind, int]:
        """Bytes by kind that such a training step would hold on this device, before anything is allocated."""
        more = {"token_ids": token_ids, "recompute": recompute}
        blueprint = self._blueprint
        if mode in ADAPTER_MODES and not self.adapters:
            blueprint = Blueprint(self.config, self.device, self.storage)
            blueprint.add_adapters(DEFAULT_RANK, 1.0)
        return blueprint.estimate(self.device, mode, batch, length, micro_batches, **more)

    # ---- adapters and selections

    def trained_set(self, mode: str, token_ids: np.ndarray | None = None) -> TrainedSet:
        """Gradients and moments (not allocated) for what `mode` trains.

        "lora" and "vocabulary" attach adapters if there are none.
        """
        if mode in ADAPTER_MODES and not self.adapters:
            selected_tokens(self.config, mode, token_ids)  # what is refused leaves the model as it was
            self.attach_adapters()
        return self._blueprint.trained_set(mode, token_ids)

    def attach_adapters(self, rank: int = DEFAULT_RANK, scale: float = 1.0, seed: int = 0) -> ParameterMap:
        """Put low-rank pairs on the large matrices of every layer; they change nothing until they are trained."""
        layout = self._blueprint.add_adapters(rank, scale)
        try:
            self.device.allocate(layout.slabs)
        except BaseException:
            self._blueprint.drop_adapters()
            raise
        adapters = self.adapters
        for name, parameter in layout.parameters.items():
            adapters[name] = initial_adapter(name, parameter.shape, seed)
        self._forget_programs()
        return adapters

    @property
    def adapters(self) -> ParameterMap:
        """The low-rank parameters by name; empty where there are none."""
        layout = self._blueprint.adapter_layout
        return ParameterMap(self.device, layout.parameters if layout else {})

    # ---- files and memory

    def save(self, folder: str | Path) -> None:
        """Write `config.json` and `model.safetensors` (float32) as transformers has them, without adapters.

        Weights that are kept packed are written as rounded as they are.
        """
        files.write_model(Path(folder), self.config, self.parameters)

    @property
    def weight_slabs(self) -> list[Slab]:
        """The memory that holds the weights."""
        return self._blueprint.slabs

    def close(self) -> None:
        """Give all memory back."""
        self._forget_programs()
        self.device.release(self._blueprint.slabs)
        self._blueprint.clear()
        if self.owned_device is not None:
            self.owned_device.close()
            self.owned_device = None

    # ---- inside

    def _logits_program(self, b: int, l: int) -> Program:
        tape = Tape("logits", self.device)
        ids = tape.input("ids", (b * l,), "int32")
        hidden = self.network.hidden(tape, ids, None, l)
        v = self.config.vocab_size
        rows = op.head_rows(self.network.head, b * l, self.device)
        for start in range(0, b * l, rows):
            stop = min(start + rows, b * l)
            logits = tape.output(f"logits {start}", tape.new("logits", (stop - start, v)))
            op.head_logits(tape, hidden.rows(start, stop), self.network.head, logits, self.config.logits_factor)
        return tape.program

    def _keep(self, key: tuple, build) -> tuple[Executable, TrainedSet | None]:
        """A compiled program by key, the least recently used one making room."""
        if key not in self._kept:
            while len(self._kept) >= KEPT_PROGRAMS:
                self._discard(self._kept.popitem(last=False)[1])
            program, trained = build()
            if trained is not None:
                trained.allocate(self.device, moments=False)
            try:
                self._kept[key] = (self.device.compile(program), trained)
            except BaseException:
                if trained is not None:
                    trained.release(self.device, moments=False)
                raise
        self._kept.move_to_end(key)
        return self._kept[key]

    def _discard(self, entry: tuple[Executable, TrainedSet | None]) -> None:
        executable, trained = entry
        executable.close()
        if trained is not None:
            trained.release(self.device, moments=False)

    def _forget_programs(self) -> None:
        while self._kept:
            self._discard(self._kept.popitem()[1])


def create_model(
    config: Architecture | dict[str, Any],
    seed: int = 0,
    device: Device | str | None = None,
    precision: str = "float32",
) -> Model:
    """A new model with random weights; `config` is a configuration or a dict of Hugging Face keys.

    `device`: an open device, or the name of one to open, which the model then closes with itself.  `precision`: that in
    which its large matrices are kept ("float32", "float16", "int8").
    """
    if isinstance(config, dict):
        config = config_from(config)
    fill = initial_parameters(config, seed)
    return _filled(config, device, Storage(precision), lambda model: model.parameters.update(fill))


def load_model(folder: str | Path, device: Device | str | None = None, precision: str = "float32") -> Model:
    """The model of a Hugging Face folder: float32, float16 or bfloat16, sharded or not, tied or not.

    `precision`: in which its large matrices are kept, whatever they are stored in.
    """
    folder = Path(folder)
    parameters = files.FolderParameters(folder, files.read_config(folder))  # checked before anything is allocated
    return _filled(parameters.config, device, Storage(precision), lambda model: model.parameters.fill(parameters))


def _filled(
    config: Architecture, device: Device | str | None, storage: Storage, fill: Callable[[Model], None]
) -> Model:
    """A model with the parameters that `fill` gives it; nothing stays allocated or open if that fails."""
    opened = open_device(device or "auto") if device is None or isinstance(device, str) else None
    model = None
    try:
        model = Model(config, opened or device, storage)
        fill(model)
    except BaseException:
        if model is not None:
            model.close()
        if opened is not None:
            opened.close()
        raise
    model.owned_device = opened
    return model
