"""Tensors without numbers: names, shapes and where they will live. No device is known here.

A `Tensor` is a contiguous, row-major block. It is *placed* in a slab (weights, gradients, optimiser state, inputs:
they outlive a run) or left unplaced, and then the plan finds room for it in the arena. A `View` is what a kernel
sees: a part of a tensor with unit stride in the last axis and `stride` elements from one row to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

ALIGNMENT = 256  # bytes: WebGPU's alignment of a storage binding, and four cache lines
READ_BACK = "statistics"
"""The name of a program's small output: a device copies it back with the run itself, so reading it needs no submit."""


class Kind(StrEnum):
    """What a byte is for: the memory ledger, the plot and the estimate speak in these."""

    WEIGHTS = "weights"
    GRADIENTS = "gradients"
    OPTIMISER = "optimiser"
    ACTIVATIONS = "activations"
    WORKSPACE = "workspace"
    DECODE = "decode"


DTYPE_BYTES = {"float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}


def aligned(nbytes: int) -> int:
    """The next multiple of the binding alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


@dataclass(eq=False)
class Tensor:
    """A named block of numbers; `slab` and `offset` (bytes) say where it lives, if it outlives a run."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    kind: Kind = Kind.ACTIVATIONS
    slab: Slab | None = None
    offset: int = 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * DTYPE_BYTES[self.dtype]

    @property
    def footprint(self) -> int:
        """Bytes that it takes up in a slab or an arena; an empty one is bound all the same."""
        return aligned(max(self.nbytes, 1))

    def view(self, offset: int = 0, shape: tuple[int, ...] | None = None, stride: int | None = None) -> View:
        """A part of this tensor: `offset` and `stride` in elements."""
        shape = self.shape if shape is None else shape
        return View(self, offset, shape, (shape[-1] if shape else 1) if stride is None else stride)

    def rows(self, start: int, stop: int) -> View:
        """Rows start..stop-1 of a matrix."""
        width = self.size // self.shape[0]
        return View(self, start * width, (stop - start, *self.shape[1:]), self.shape[-1])

    def columns(self, start: int, stop: int) -> View:
        """Columns start..stop-1 of a matrix (rows, columns)."""
        return View(self, start, (self.shape[0], stop - start), self.shape[1])

    def __repr__(self) -> str:
        return f"{self.name}{list(self.shape)}"


@dataclass(eq=False)
class Slab:
    """Memory that outlives a run, as a description: aligned tensors one after another, in one buffer."""

    name: str
    kind: Kind
    nbytes: int = 0
    tensors: list[Tensor] = field(default_factory=list)

    def add(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> Tensor:
        """Append a tensor at the next aligned offset."""
        tensor = Tensor(name, tuple(shape), dtype, self.kind, self, self.nbytes)
        self.tensors.append(tensor)
        self.nbytes += tensor.footprint
        return tensor

    def flat(self) -> Tensor:
        """All of it as one float32 vector, padding included (padding is zero, and stays zero under any update by its
        own gradient).
        """
        return Tensor(self.name, (self.nbytes // 4,), "float32", self.kind, self, 0)


@dataclass(frozen=True, eq=False)
class View:
    """What a kernel is given: `shape` from element `offset` of `tensor`, rows `stride` elements apart."""

    tensor: Tensor
    offset: int
    shape: tuple[int, ...]
    stride: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        return self.stride == (self.shape[-1] if self.shape else 1) or math.prod(self.shape[:-1]) <= 1

    def __repr__(self) -> str:
        return f"{self.tensor.name}[{self.offset}:{list(self.shape)}/{self.stride}]"


def view_of(operand: Tensor | View | None) -> View | None:
    """A tensor as the view of the whole of it."""
    return operand.view() if isinstance(operand, Tensor) else operand


@dataclass(frozen=True)
class KernelCall:
    """One kernel on its operands (in the order of its signature) with its numbers."""

    kernel: str
    operands: tuple[View | None, ...]
    numbers: dict[str, float | int]


@dataclass
class Program:
    """Kernel calls in order, with the tensors that the host writes before a run and reads after it."""

    name: str
    calls: list[KernelCall] = field(default_factory=list)
    inputs: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)

    def tensors(self) -> Iterable[Tensor]:
        """Every tensor that a call touches, inputs and outputs included, each once, in order of first use."""
        seen: dict[int, Tensor] = {id(t): t for t in self.inputs.values()}
        for call in self.calls:
            for view in call.operands:
                if view is not None:
                    seen.setdefault(id(view.tensor), view.tensor)
        seen.update((id(t), t) for t in self.outputs.values())
        return seen.values()
