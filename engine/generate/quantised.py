"""The weights that a decoder reads: the model's own, or copies of the large ones in 16 or 8 bits.

A token reads every weight once, so decoding is as fast as memory; half the bytes are nearly twice the speed. Copies are
made of `in_proj`, `out_proj` and the head, with low-rank pairs merged into them; all the rest is small and stays the
model's own. Few rows are multiplied with the copy as it is; for many rows a matrix is first made float32 again, in
working memory, so that both see the very same weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.devices.interface import Device
from engine.errors import InputError
from engine.generate.options import PRECISIONS
from engine.graph.kernels import FEW_TOKENS, SCALE_BLOCK
from engine.graph.operations import Projection
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Program, Slab, Tensor, View
from engine.model.mamba import Network

PROJECTIONS = ("in_proj", "out_proj")


@dataclass(frozen=True, eq=False)
class Packed:
    """A matrix (rows, columns) in fewer bits; `scales` only in 8 bits."""

    rows: int
    columns: int
    numbers: Tensor
    scales: Tensor | None


class DecodeWeights:
    """What a decoder multiplies with, at one precision."""

    def __init__(self, network: Network, device: Device, precision: str) -> None:
        if precision not in PRECISIONS:
            raise InputError(f"There is no precision {precision!r}.", f"Choose one of: {', '.join(PRECISIONS)}.")
        self.network, self.precision = network, precision
        self._device = device
        self.slabs: list[Slab] = []
        self._packed: dict[Tensor, Packed] = {}
        if precision != "float32":
            for layer in range(network.config.num_hidden_layers):
                for name in PROJECTIONS:
                    self._pack(self.projection(layer, name).weight.tensor)
            for block in network.head.blocks:
                self._pack(block)

    def projection(self, layer: int, name: str) -> Projection:
        """The model's own `in_proj` or `out_proj` of a layer."""
        prefix = f"backbone.layers.{layer}.mixer.{name}"
        parameters, adapters = self.network.parameters, self.network.adapters
        return Projection(
            parameters[f"{prefix}.weight"], parameters.get(f"{prefix}.bias"), adapters.get(f"{prefix}.weight")
        )

    # ---- in a program

    def project(self, tape: Tape, layer: int, name: str, x: Tensor, y: str, residual: View | None = None) -> Tensor:
        """x @ weight^T, with bias, adapter and residual; `y` names the result."""
        projection = self.projection(layer, name)
        if self.precision == "float32":
            return projection.forward(tape, x, y, residual)
        weight = projection.weight.tensor
        result = tape.new(y, (x.shape[0], weight.shape[0]))
        self._product(tape, x, weight, result, residual, projection.bias.tensor if projection.bias else None)
        return result

    def head(self, tape: Tape, x: Tensor, logits: Tensor) -> None:
        """x (t, m) @ head (v, m)^T into logits (t, v)."""
        for first, block in zip(self.network.head.first_rows, self.network.head.blocks, strict=True):
            self._product(tape, x, block, logits.columns(first, first + block.shape[0]), None, None)

    def _product(self, tape: Tape, x: Tensor, weight: Tensor, y: Tensor | View, residual, bias) -> None:
        packed = self._packed.get(weight)
        if packed is not None and x.shape[0] > FEW_TOKENS:
            weight, packed = self._widened(tape, packed), None
        if packed is None:
            tape.emit("matmul_nt", x, weight, y, residual, bias, alpha=1.0, accumulate=0)
        elif packed.scales is None:
            tape.emit("matmul_nt_float16", x, packed.numbers, y, residual, bias, alpha=1.0, accumulate=0)
        else:
            tape.emit("matmul_nt_int8", x, packed.numbers, y, residual, bias, packed.scales, alpha=1.0, accumulate=0)

    def _widened(self, tape: Tape, packed: Packed) -> Tensor:
        wide = tape.new("widened", (packed.rows, packed.columns), Kind.WORKSPACE)
        if packed.scales is None:
            tape.emit("widen_float16", *(tensor.view(shape=(tensor.size,)) for tensor in (packed.numbers, wide)))
        else:
            tape.emit("widen_int8", packed.numbers, packed.scales, wide)
        return wide

    # ---- the copies

    def packing_program(self) -> Program:
        """The copies from the weights as they are now."""
        tape = Tape("packing of weights", self._device)
        adapters = {
            self.network.parameters[name].tensor: (pair.up.tensor, pair.down.tensor, pair.scale)
            for name, pair in self.network.adapters.items()
        }
        for weight, packed in self._packed.items():
            if weight in adapters:
                up, down, scale = adapters[weight]
                merged = tape.new("merged", weight.shape, Kind.WORKSPACE)
                tape.emit("matmul_nn", up, down, merged, weight, None, alpha=float(scale), accumulate=0)
                weight = merged
            if packed.scales is None:
                tape.emit("narrow_float16", *(tensor.view(shape=(tensor.size,)) for tensor in (weight, packed.numbers)))
            else:
                tape.emit("narrow_int8", weight, packed.numbers, packed.scales)
        return tape.program

    def _pack(self, weight: Tensor) -> None:
        rows, columns = weight.shape
        if self.precision == "float16":
            packed = Packed(rows, columns, self._add(weight.name, (rows, columns), "float16"), None)
        else:
            blocks = -(-columns // SCALE_BLOCK)
            words = self._add(weight.name, (rows, blocks * SCALE_BLOCK // 4), "int32")
            packed = Packed(rows, columns, words, self._add(f"scales of {weight.name}", (rows, blocks), "float32"))
        self._packed[weight] = packed

    def _add(self, name: str, shape: tuple[int, ...], dtype: str) -> Tensor:
        """Room in the last slab, or in a new one where that would become larger than the device binds at once."""
        most = self._device.limits.max_binding_bytes
        if not self.slabs or self.slabs[-1].nbytes + Tensor(name, shape, dtype).footprint > most:
            self.slabs.append(Slab(f"weights in {self.precision}, {len(self.slabs)}", Kind.DECODE))
        return self.slabs[-1].add(name, shape, dtype)
