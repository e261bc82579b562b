"""Reverse-mode differentiation on programs.

An operation emits its forward kernels and records one function that will emit its backward kernels. `backward` calls
those in reverse. What needs no gradient is neither recorded nor emitted: with only the B and C rows of `x_proj`
trained, no weight gradient of any other matrix is in the program at all, and the first layer stops at d_B and d_C.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.graph.kernels import KERNELS, LayerStatistics, Statistics
from engine.graph.parameters import IndexedRows, Parameter, TrainedRows
from engine.graph.tensor import READ_BACK, KernelCall, Kind, Program, Tensor, View, view_of


class Tape:
    """Writes a program: forward as operations are called, backward on demand."""

    def __init__(
        self,
        name: str,
        device,
        trained: dict[str, TrainedRows | IndexedRows] | None = None,
        accumulate: bool = False,
        insight: int = 0,
        experts: int = 0,
    ) -> None:
        """`trained`: what gets a gradient, by parameter name.

        `accumulate`: add to the gradients that are there (later micro-batches). `insight`: layers whose statistics
        are wanted, 0 for none; with so many `experts`, a statistic of each of them, too.
        """
        self.program = Program(name)
        self.device = device
        self.insight = insight
        self._statistics_of_a_layer = LayerStatistics.COUNT + experts
        self._trained = trained or {}
        self._accumulate = accumulate
        self._written: set[Tensor] = set()
        self._wanted: set[Tensor] = set()
        self._gradients: dict[Tensor, Tensor] = {}
        self._backward: list[Callable[[], None]] = []
        self._names: dict[str, int] = {}

    # ---- writing the program

    def new(self, name: str, shape: tuple[int, ...], kind: Kind = Kind.ACTIVATIONS, dtype: str = "float32") -> Tensor:
        """A fresh tensor for the arena; a number is put behind a name that is taken."""
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return Tensor(f"{name}.{count}" if count else name, tuple(shape), dtype, kind)

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> Tensor:
        """A tensor that the host writes before each run."""
        self.program.inputs[name] = tensor = self.new(name, shape, Kind.WORKSPACE, dtype)
        return tensor

    def output(self, name: str, tensor: Tensor) -> Tensor:
        """Keep `tensor` readable by the host after a run."""
        self.program.outputs[name] = tensor
        return tensor

    def emit(self, kernel: str, *operands: Tensor | View | None, **numbers: float) -> None:
        """Append a kernel call, checked against the kernel's signature."""
        signature = KERNELS[kernel]
        if len(operands) != len(signature.operands) or set(numbers) != set(signature.numbers):
            raise TypeError(f"{kernel} takes {signature}, not {operands} {numbers}")
        for operand, spec in zip(operands, signature.operands, strict=True):
            if operand is None and not spec.optional:
                raise TypeError(f"{kernel} needs {spec.name}")
        self.program.calls.append(KernelCall(kernel, tuple(view_of(operand) for operand in operands), numbers))

    # ---- gradients of activations

    def record(self, output: Tensor, backward: Callable[[], None]) -> None:
        """`output` needs a gradient, and `backward` passes it on."""
        self._wanted.add(output)
        self._backward.append(backward)

    def want(self, tensor: Tensor) -> None:
        """`tensor` needs a gradient, which another operation's backward uses up."""
        self._wanted.add(tensor)

    def wants(self, tensor: Tensor) -> bool:
        """Whether anything that is trained lies upstream of `tensor`."""
        return tensor in self._wanted

    def gradient(self, tensor: Tensor) -> Tensor:
        """The gradient of an activation, as its consumers have left it."""
        return self._gradients[tensor]

    def set_gradient(self, tensor: Tensor, gradient: Tensor) -> None:
        """Hand over a buffer that already holds the gradient of `tensor` (from a fused loss, or in place from the
        layer above).
        """
        self._gradients[tensor] = gradient

    def gradient_to_fill(self, tensor: Tensor) -> tuple[Tensor, bool]:
        """The buffer for the gradient of `tensor`, and whether it holds something to add to."""
        if tensor in self._gradients:
            return self._gradients[tensor], True
        self._gradients[tensor] = buffer = self.new(f"d_{tensor.name}", tensor.shape)
        return buffer, False

    def backward(self, down_to: int = 0) -> None:
        """Emit the backward kernels, last operation first, until `down_to` recorded operations are left."""
        while len(self._backward) > down_to:
            self._backward.pop()()

    def recomputed(self, x: Tensor, layer: Callable[[Tensor], Tensor]) -> Tensor:
        """layer(x), of which only x is kept: its forward is emitted once more, just before its backward.

        The same kernels on the same numbers: gradients are those of a layer whose activations are kept, bit for bit.
        """
        recorded = len(self._backward)
        out = layer(x)
        if len(self._backward) == recorded:  # nothing in it is trained, so nothing of it would be kept
            return out
        del self._backward[recorded:]

        def backward() -> None:
            recorded, first = len(self._backward), len(self.program.calls)
            again = layer(x)
            last = len(self.program.calls)
            self.set_gradient(again, self._gradients.pop(out))
            self.backward(recorded)
            self._drop_unread(first, last)

        self._backward.append(backward)
        return out

    def _drop_unread(self, first: int, last: int) -> None:
        """Take out the calls from `first` up to `last` that write only what no later call uses (the layer's output)."""
        calls = self.program.calls
        used = {view.tensor for call in calls[last:] for view in call.operands if view is not None}
        kept: list[KernelCall] = []
        for call in reversed(calls[first:last]):
            operands = KERNELS[call.kernel].operands
            written = [
                v.tensor for v, spec in zip(call.operands, operands, strict=True) if v is not None and spec.writes
            ]
            if any(tensor in used or tensor.slab is not None for tensor in written):
                kept.append(call)
                used.update(view.tensor for view in call.operands if view is not None)
        calls[first:last] = reversed(kept)

    # ---- gradients of parameters

    def trained(self, parameter: Parameter | None) -> TrainedRows | IndexedRows | None:
        """Which rows of `parameter` are trained, if any."""
        return self._trained.get(parameter.name) if parameter is not None else None

    def accumulates(self, gradient: Tensor) -> bool:
        """Whether the next write to a parameter's gradient adds (a later micro-batch, or a second use such as the
        tied embedding).
        """
        first = gradient not in self._written
        self._written.add(gradient)
        return self._accumulate or not first

    def statistics(self) -> Tensor:
        """The small vector that the host reads after a step."""
        if READ_BACK not in self.program.outputs:
            size = Statistics.COUNT + self.insight * self._statistics_of_a_layer
            self.output(READ_BACK, self.new("statistics", (size,), Kind.WORKSPACE))
        return self.program.outputs[READ_BACK]

    def layer_statistics(self, layer: int, slot: int, count: int = 1) -> View | None:
        """Where `count` statistics of a layer go, from `slot` on; None where no insight is wanted."""
        if not self.insight:
            return None
        return self.statistics().view(Statistics.COUNT + layer * self._statistics_of_a_layer + slot, (1, count))
