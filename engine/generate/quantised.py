"""The weights that a decoder reads: the model's own, or copies of the large ones in 16 or 8 bits.

A token reads every weight once, so decoding is as fast as memory; half the bytes are nearly twice the speed. Copies are
made of the matrices that get adapters and of the head, with low-rank pairs merged into them; all the rest is small and
stays the model's own. So does a matrix that the model itself keeps in as few bits, with its pair beside it: there is no
second copy.
"""

from __future__ import annotations

import math
from dataclasses import replace

from engine.devices.interface import Device
from engine.graph.parameters import PackedMatrix, Parameter
from engine.graph.projections import pack, unpacked
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Program, Slab
from engine.model.layout import PackedSlabs
from engine.model.network import Network
from engine.model.storage import check_precision, narrower


class DecodeWeights:
    """What a decoder multiplies with, at one precision."""

    def __init__(self, network: Network, device: Device, precision: str) -> None:
        check_precision(precision)
        self.precision = precision
        self._model, self._device = network, device
        self._copies: dict[str, tuple[PackedMatrix, ...]] = {}
        slabs = PackedSlabs("weights", Kind.DECODE, precision, device.limits.max_binding_bytes)
        for name in multiplied(network) if precision != "float32" else ():
            if not self._is_as_narrow(network.parameters[name]):
                blocks = network.parameters[name].blocks
                self._copies[name] = tuple(slabs.add(name, *_as_matrix(block.shape)) for block in blocks)
        self.slabs: list[Slab] = slabs.slabs

    def _is_as_narrow(self, parameter: Parameter) -> bool:
        """Whether the model keeps it in as few bits as are wanted, or fewer."""
        kept = [block.precision if isinstance(block, PackedMatrix) else "float32" for block in parameter.blocks]
        return all(narrower(one, self.precision) == one for one in kept)

    @property
    def network(self) -> Network:
        """The network that reads these weights: pairs are part of the copies, where there are copies."""
        if not self._copies:
            return self._model
        beside = {name: pair for name, pair in self._model.adapters.items() if name not in self._copies}
        return replace(self._model, adapters=beside, packed=self._copies)

    def packing_program(self) -> Program:
        """The copies from the weights as they are now."""
        tape = Tape("packing of weights", self._device)
        for name, copies in self._copies.items():
            pair = self._model.adapters.get(name)
            for block, copy in zip(self._model.parameters[name].blocks, copies, strict=True):
                weight = unpacked(tape, block)
                if pair is not None:
                    merged = tape.new("merged", weight.shape, Kind.WORKSPACE)
                    up, down, scale = pair.up.tensor, pair.down.tensor, float(pair.scale)
                    tape.emit("matmul_nn", up, down, merged, weight, None, alpha=scale, accumulate=0)
                    weight = merged
                pack(tape, weight.view(shape=_as_matrix(weight.shape)), copy)
        return tape.program


def _as_matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns; the matrices of several experts lie below each other."""
    return math.prod(shape[:-1]), shape[-1]


def multiplied(network: Network) -> list[str]:
    """The large matrices that tokens are multiplied with, in order; an embedding apart from the head is looked up."""
    config = network.config
    looked_up = set() if network.head_name == config.embedding_name else {config.embedding_name}
    return [name for name in network.parameters if name in config.large_matrices - looked_up]
