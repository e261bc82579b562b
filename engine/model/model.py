"""`Model`: weights on a device, and what can be asked of them.  Public and stable; other programs build on it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.devices.choice import open_device
from engine.devices.interface import Device, Executable
from engine.errors import ConfigError, InputError
from engine.graph import operations as op
from engine.graph.kernels import Statistics
from engine.graph.parameters import LowRankPair, Parameter
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Program, Slab
from engine.model import files
from engine.model.config import ModelConfig
from engine.model.initialise import initial_adapter, initial_parameters
from engine.model.layout import ParameterLayout, TrainedSet
from engine.model.mamba import Network
from engine.model.selection import DEFAULT_RANK, adapter_names, adapter_shapes, selected_rows
from engine.model.step import AdamW, TrainingStep, batch_inputs, estimate_step, step_program

KEPT_PROGRAMS = 4  # compiled shapes that `logits` and `loss_and_gradients` keep for the next call


class ParameterMap(MutableMapping[str, np.ndarray]):
    """Parameters by Hugging Face name: reading copies from the device, assigning writes to it."""

    def __init__(self, device: Device, parameters: dict[str, Parameter]) -> None:
        self._device, self._parameters = device, parameters

    def __getitem__(self, name: str) -> np.ndarray:
        blocks = [self._device.read(block) for block in self._parameters[name].blocks]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        parameter = self._parameters[name]
        if tuple(array.shape) != parameter.shape:
            raise InputError(f"{name} has shape {parameter.shape}, not {tuple(array.shape)}.")
        for first, block in zip(parameter.first_rows, parameter.blocks, strict=True):
            self._device.write(block, np.asarray(array[first : first + block.shape[0]], np.float32))

    def __delitem__(self, name: str) -> None:
        raise InputError(f"{name} cannot be taken out of a model.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)


class Model:
    """A Mamba-1 model on one device.  Use it from the thread that made it; `close` gives its memory back."""

    def __init__(self, config: ModelConfig, device: Device) -> None:
        """Zero weights: `create_model` and `load_model` fill them."""
        self.config, self.device = config, device
        self._layout = ParameterLayout(config.parameter_shapes(), device.limits.max_binding_bytes)
        self._adapter_layout: ParameterLayout | None = None
        for slab in self._layout.slabs:
            device.allocate(slab)
        order = config.parameter_shapes()
        self.network = Network(config, {name: self._layout.parameters[name] for name in order})
        self.parameters = ParameterMap(device, self.network.parameters)
        self._kept: OrderedDict[tuple, tuple[Executable, TrainedSet | None]] = OrderedDict()

    # ---- computing

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """float32 (b, l, v): the scores of the token after each of ids (b, l)."""
        ids = self._checked(ids, least=1)
        (b, l), v = ids.shape, self.config.vocab_size
        executable, _ = self._keep(("logits", b, l), lambda: (self._logits_program(b, l), None))
        executable.run({"ids": ids.reshape(-1)})
        chunks = [executable.read(name) for name in executable.plan.program.outputs]
        return np.concatenate(chunks).reshape(b, l, v)

    def loss_and_gradients(self, ids: np.ndarray, trainable: str = "full") -> tuple[float, dict[str, np.ndarray]]:
        """Mean loss of ids (b, l+1) — inputs ids[:, :-1], targets ids[:, 1:] — and the gradient of what `trainable`
        names.

        "full": every parameter. "wsla": the B and C rows of every x_proj, (2n, d) each. "lora": the low-rank pairs.
        """
        ids = self._checked(ids, least=2)
        b, l = ids.shape[0], ids.shape[1] - 1

        def build() -> tuple[Program, TrainedSet]:
            trained = self.trained_set(trainable)
            return step_program(self.network, self.device, trained, b, l), trained

        executable, trained = self._keep(("gradients", trainable, b, l), build)
        scalars = AdamW().scalars(1, b * l)
        executable.run(batch_inputs(executable.plan.program, ids, scalars))
        loss = float(executable.read("statistics")[Statistics.LOSS_SUM]) / (b * l)
        gradients = {}
        for name, rows in trained.rows.items():
            blocks = [self.device.read(gradient) for gradient in rows.gradients]
            gradients[name] = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return loss, gradients

    def training_step(self, mode: str, batch: int, length: int, micro_batches: int = 1) -> TrainingStep:
        """Working memory and programs for training by `mode`; close it when done."""
        return TrainingStep(self.network, self.device, self.trained_set(mode), batch, length, micro_batches)

    def estimate(self, mode: str, batch: int, length: int) -> dict[Kind, int]:
        """Bytes by kind that training by `mode` would hold on this device, before anything is allocated."""
        return estimate_step(self.network, self.device, self.trained_set(mode), batch, length)

    # ---- adapters and selections

    def trained_set(self, mode: str) -> TrainedSet:
        """Gradient slabs (not yet allocated) for what `mode` trains."""
        if mode == "lora" and self._adapter_layout is None:
            self.attach_adapters()
        adapters = self._adapter_layout
        shapes = {name: p.shape for name, p in adapters.parameters.items()} if adapters else {}
        layouts = [self._layout, adapters] if adapters else [self._layout]
        return TrainedSet(layouts, selected_rows(self.config, mode, shapes))

    def attach_adapters(self, rank: int = DEFAULT_RANK, scale: float = 1.0, seed: int = 0) -> ParameterMap:
        """Put low-rank pairs on in_proj and out_proj of every layer; they change nothing until they are trained."""
        if self._adapter_layout is not None:
            raise InputError("The model has adapters already.", "Merge or discard them first.")
        if not isinstance(rank, int) or not 1 <= rank <= self.config.hidden_size:
            raise ConfigError(f"The adapters' rank is {rank!r}; it must lie between 1 and {self.config.hidden_size}.")
        shapes = adapter_shapes(self.config, rank)
        self._adapter_layout = ParameterLayout(shapes, self.device.limits.max_binding_bytes, "adapter parameters")
        for slab in self._adapter_layout.slabs:
            self.device.allocate(slab)
        pairs = self._adapter_layout.parameters
        for weight in self.network.parameters:
            down, up = adapter_names(weight)
            if down in pairs:
                self.network.adapters[weight] = LowRankPair(pairs[down], pairs[up], scale)
        for name, shape in shapes.items():
            self.adapters[name] = initial_adapter(name, shape, seed)
        self._forget_programs()
        return self.adapters

    @property
    def adapters(self) -> ParameterMap:
        """The low-rank parameters by name; empty where there are none."""
        return ParameterMap(self.device, self._adapter_layout.parameters if self._adapter_layout else {})

    # ---- files and memory

    def save(self, folder: str | Path) -> None:
        """Write `config.json` and `model.safetensors` (float32) as transformers has them;

        adapters are not part of it.
        """
        files.write_model(Path(folder), self.config, dict(self.parameters))

    @property
    def slabs(self) -> list[Slab]:
        return [*self._layout.slabs, *(self._adapter_layout.slabs if self._adapter_layout else [])]

    def close(self) -> None:
        """Give all memory back."""
        self._forget_programs()
        for slab in self.slabs:
            self.device.release(slab)
        self._layout.slabs.clear()
        self._adapter_layout = None

    # ---- inside

    def _checked(self, ids: Any, least: int) -> np.ndarray:
        array = np.asarray(ids)
        if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] < least:
            raise InputError(
                f"Token ids have shape {array.shape}; they must be (batch, length), batch >= 1, length >= {least}."
            )
        if not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"Token ids are {array.dtype}; they must be whole numbers.")
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= self.config.vocab_size:
            raise InputError(
                f"Token id {low if low < 0 else high} is out of range; the vocabulary has ids from 0 to "
                f"{self.config.vocab_size - 1}.",
                "Use the tokenizer that belongs to this model.",
            )
        return np.ascontiguousarray(array, np.int32)

    def _logits_program(self, b: int, l: int) -> Program:
        tape = Tape("logits", self.device)
        ids = tape.input("ids", (b * l,), "int32")
        hidden = self.network.hidden(tape, ids, None, l)
        v = self.config.vocab_size
        rows = op.head_rows(v, b * l, self.device.limits.max_binding_bytes)
        for start in range(0, b * l, rows):
            stop = min(start + rows, b * l)
            logits = tape.output(f"logits {start}", tape.new("logits", (stop - start, v)))
            op.head_logits(tape, hidden.rows(start, stop), self.network.head, logits)
        return tape.program

    def _keep(self, key: tuple, build) -> tuple[Executable, TrainedSet | None]:
        """A compiled program by key, the least recently used one making room."""
        if key not in self._kept:
            while len(self._kept) >= KEPT_PROGRAMS:
                self._discard(self._kept.popitem(last=False)[1])
            program, trained = build()
            if trained is not None:
                trained.allocate(self.device, moments=False)
            self._kept[key] = (self.device.compile(program), trained)
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


def create_model(config: ModelConfig | dict[str, Any], seed: int = 0, device: Device | None = None) -> Model:
    """A new model with random weights; `config` is a ModelConfig or a dict of Hugging Face keys."""
    if isinstance(config, dict):
        config = ModelConfig.from_hugging_face(config)
    model = Model(config, device or open_device())
    for name, array in initial_parameters(config, seed):
        model.parameters[name] = array
    return model


def load_model(folder: str | Path, device: Device | None = None) -> Model:
    """The model of a Hugging Face Mamba-1 folder: float32, float16 or bfloat16, sharded or not, tied or not."""
    folder = Path(folder)
    config = files.read_config(folder)
    model = Model(config, device or open_device())
    try:
        for name, array in files.read_parameters(folder, config):
            model.parameters[name] = files.as_float32(array)
    except BaseException:
        model.close()
        raise
    return model
