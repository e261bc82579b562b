"""The programs that the benchmark takes apart: a training step and a decoding pass of models of usual shapes.

A new architecture is one line of WORKLOADS. The layers of a model have the same shapes, so a few of them are enough to
time every call of a training step (`LAYERS`); how often the whole model has each is read off its program, which needs
no memory.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine.devices.interface import Device, Executable
from engine.generate.decoder import Decoder
from engine.generate.precision import automatic_precision
from engine.generate.programs import DecodeState, Passes
from engine.generate.quantised import DecodeWeights
from engine.graph.tensor import Program
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.dense import DenseConfig
from engine.model.blueprint import Blueprint
from engine.model.config import ModelConfig
from engine.model.shallow import stand_in_model
from engine.model.step import AdamW, batch_inputs, step_program

LAYERS = 2  # of a training step that is run
CONTEXT = 256  # tokens in the cache while a pass is timed

SMALL = ModelConfig(hidden_size=256, num_hidden_layers=6, state_size=16, vocab_size=8192)
MAMBA_130M = ModelConfig(hidden_size=768, num_hidden_layers=24, vocab_size=50_280)
LLAMA_135M = DenseConfig(
    "llama",
    hidden_size=576,
    num_hidden_layers=30,
    vocab_size=49_152,
    num_attention_heads=9,
    num_key_value_heads=3,
    head_dim=64,
    intermediate_size=1536,
    tie_word_embeddings=True,
)
Runnable = tuple[Executable, dict[str, np.ndarray]]  # a bound program with its inputs


@dataclass(frozen=True)
class Workload(ABC):
    """`keys`: how many each query of an attention sees on average."""

    model: str
    config: Architecture

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def keys(self) -> float: ...

    @abstractmethod
    def program(self, device: Device) -> Program:
        """All calls; nothing is allocated."""

    @abstractmethod
    def opened(self, device: Device) -> contextlib.AbstractContextManager[Runnable]: ...

    @abstractmethod
    def smaller(self) -> Workload | None:
        """The next one that takes less time; None where there is none."""

    def to_run(self) -> Workload:
        """What is run to time the calls of the whole program."""
        return self

    in_turns = False  # see `walk`


@dataclass(frozen=True)
class Training(Workload):
    """A full optimisation step of `rows` windows."""

    rows: int
    length: int

    @property
    def name(self) -> str:
        return f"{self.model}, training on {self.rows} × {self.length} tokens"

    @property
    def keys(self) -> float:
        return (self.length + 1) / 2

    def program(self, device: Device) -> Program:
        blueprint = Blueprint(self.config, device)
        trained = blueprint.trained_set("full")
        return step_program(blueprint.network, device, trained, self.rows, self.length, update=True)

    @contextlib.contextmanager
    def opened(self, device: Device) -> Iterator[Runnable]:
        tokens = np.random.default_rng(0).integers(0, self.config.vocab_size, (self.rows, self.length + 1))
        scalars = AdamW(1e-4).scalars(1, self.rows * self.length)
        with contextlib.ExitStack() as stack:
            model = stack.enter_context(contextlib.closing(stand_in_model(self.config, device)))
            step = stack.enter_context(contextlib.closing(model.training_step("full", self.rows, self.length)))
            (executable,) = step.executables
            yield executable, batch_inputs(executable.plan.program, self.config, tokens, scalars)

    def to_run(self) -> Workload:
        layers = min(LAYERS, self.config.num_hidden_layers)
        return replace(self, config=replace(self.config, num_hidden_layers=layers))

    def smaller(self) -> Workload | None:
        if self.rows > 1:
            return replace(self, rows=1)
        return replace(self, length=self.length // 2) if self.length > 64 else None


@dataclass(frozen=True)
class Decoding(Workload):
    """One pass of a decoder: a token, or the chunk of a prompt.

    `precision`: in which it reads the weights; left out, what a model of this size is read in.
    """

    tokens: int = 1
    precision: str = ""
    in_turns = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "precision", self.precision or automatic_precision(self.config.parameter_count))

    @property
    def name(self) -> str:
        return f"{self.model}, {'decoding of a token' if self.tokens == 1 else f'reading of {self.tokens} tokens'}"

    @property
    def keys(self) -> float:
        return CONTEXT + (self.tokens + 1) / 2

    def program(self, device: Device) -> Program:
        network, most = Blueprint(self.config, device).network, device.limits.max_binding_bytes
        state = DecodeState(self.config, CONTEXT + self.tokens, most)
        return Passes(DecodeWeights(network, device, self.precision), device, state).read(self.tokens, "top")

    @contextlib.contextmanager
    def opened(self, device: Device) -> Iterator[Runnable]:
        with contextlib.ExitStack() as stack:
            model = stack.enter_context(contextlib.closing(stand_in_model(self.config, device)))
            decoder = Decoder(model, precision=self.precision, context=CONTEXT + self.tokens)
            stack.enter_context(contextlib.closing(decoder))
            decoder.position = CONTEXT  # as if so many were read: what a cache holds takes no time
            yield decoder.top_pass(np.arange(self.tokens) % self.config.vocab_size)

    def smaller(self) -> Workload | None:
        return replace(self, tokens=self.tokens // 4) if self.tokens > 64 else None


WORKLOADS: tuple[Workload, ...] = (  # the most telling first: time may run out
    Training("Mamba small", SMALL, 4, 256),
    Decoding("Mamba small", SMALL),
    Training("Mamba 130M", MAMBA_130M, 2, 512),
    Decoding("Mamba 130M", MAMBA_130M),
    Decoding("Mamba 130M", MAMBA_130M, 512),
    Training("Llama 135M", LLAMA_135M, 2, 512),
    Decoding("Llama 135M", LLAMA_135M),
)
