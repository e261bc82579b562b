"""The weights that a decoder reads: the model's own, or copies of the large ones in 16 or 8 bits.

A token reads every weight once, so decoding is as fast as memory; half the bytes are nearly twice the speed. Copies are
made of the matrices that get adapters and of the head, with low-rank pairs merged into them; all the rest is small and
stays the model's own.
"""

from __future__ import annotations

from dataclasses import replace

from engine.devices.interface import Device
from engine.errors import InputError
from engine.generate.options import PRECISIONS
from engine.graph.kernels import SCALE_BLOCK
from engine.graph.parameters import PackedMatrix
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Program, Slab, Tensor
from engine.model.network import Network


class DecodeWeights:
    """What a decoder multiplies with, at one precision."""

    def __init__(self, network: Network, device: Device, precision: str) -> None:
        if precision not in PRECISIONS:
            raise InputError(f"There is no precision {precision!r}.", f"Choose one of: {', '.join(PRECISIONS)}.")
        self.precision, self.slabs = precision, []
        self._model, self._device = network, device
        self._packed: dict[str, tuple[PackedMatrix, ...]] = {}
        if precision != "float32":
            names = [name for name, spec in network.config.specs.items() if spec.adapted]
            for name in dict.fromkeys((*names, network.head_name)):
                self._packed[name] = tuple(self._pack(block) for block in network.parameters[name].blocks)

    @property
    def network(self) -> Network:
        """The network that reads these weights: pairs are part of the copies, where there are copies."""
        return replace(self._model, adapters={}, packed=self._packed) if self._packed else self._model

    def packing_program(self) -> Program:
        """The copies from the weights as they are now."""
        tape = Tape("packing of weights", self._device)
        for name, copies in self._packed.items():
            pair = self._model.adapters.get(name)
            for weight, packed in zip(self._model.parameters[name].blocks, copies, strict=True):
                if pair is not None:
                    merged = tape.new("merged", weight.shape, Kind.WORKSPACE)
                    up, down, scale = pair.up.tensor, pair.down.tensor, float(pair.scale)
                    tape.emit("matmul_nn", up, down, merged, weight, None, alpha=scale, accumulate=0)
                    weight = merged
                if packed.scales is None:
                    flat = (tensor.view(shape=(tensor.size,)) for tensor in (weight, packed.numbers))
                    tape.emit("narrow_float16", *flat)
                else:
                    tape.emit("narrow_int8", weight, packed.numbers, packed.scales)
        return tape.program

    def _pack(self, weight: Tensor) -> PackedMatrix:
        rows, columns = weight.shape
        if self.precision == "float16":
            return PackedMatrix(rows, columns, self._add(weight.name, (rows, columns), "float16"), None)
        blocks = -(-columns // SCALE_BLOCK)
        words = self._add(weight.name, (rows, blocks * SCALE_BLOCK // 4), "int32")
        return PackedMatrix(rows, columns, words, self._add(f"scales of {weight.name}", (rows, blocks), "float32"))

    def _add(self, name: str, shape: tuple[int, ...], dtype: str) -> Tensor:
        """Room in the last slab, or in a new one where that would become larger than the device binds at once."""
        most = self._device.limits.max_binding_bytes
        if not self.slabs or self.slabs[-1].nbytes + Tensor(name, shape, dtype).footprint > most:
            self.slabs.append(Slab(f"weights in {self.precision}, {len(self.slabs)}", Kind.DECODE))
        return self.slabs[-1].add(name, shape, dtype)
