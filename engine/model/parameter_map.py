"""Parameters by name as NumPy arrays: what is on the device, read and written, packed or not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import replace

import numpy as np

from engine.devices.interface import Device
from engine.errors import InputError
from engine.graph.kernels import SCALE_BLOCK
from engine.graph.parameters import Matrix, PackedMatrix, Parameter
from engine.graph.projections import pack
from engine.graph.tape import Tape
from engine.graph.tensor import ALIGNMENT, Tensor
from engine.tensor_file import as_float32, pieces_of

LARGEST_FLOAT16 = 65_504.0


class ParameterMap(MutableMapping[str, np.ndarray]):
    """Parameters by Hugging Face name: reading copies from the device as float32, assigning writes to it.

    Floats of any width can be assigned, and bfloat16 as uint16 bits. What is kept packed is rounded on the way in, a
    piece at a time.
    """

    def __init__(self, device: Device, parameters: dict[str, Parameter]) -> None:
        self._device, self._parameters = device, parameters

    def __getitem__(self, name: str) -> np.ndarray:
        parameter = self._parameters[name]
        blocks = [self._read(block) for block in parameter.blocks]
        return blocks[0].reshape(parameter.shape) if len(blocks) == 1 else np.concatenate(blocks)

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        parameter = self._parameters[name]
        if tuple(array.shape) != parameter.shape:
            raise InputError(f"{name} has shape {parameter.shape}, not {tuple(array.shape)}.")
        self._write(parameter, pieces_of({name: array}, name))

    def fill(self, source: Mapping[str, np.ndarray]) -> None:
        """Assign every parameter in `source`, a piece at a time: a large one is never in memory twice."""
        for name in source:
            self._write(self._parameters[name], pieces_of(source, name))

    def __delitem__(self, name: str) -> None:
        raise InputError(f"{name} cannot be taken out of a model.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    # ---- reading

    def _read(self, block: Matrix) -> np.ndarray:
        if isinstance(block, Tensor):
            return self._device.read(block)
        numbers = self._device.read(block.numbers)
        if block.scales is None:
            return numbers.astype(np.float32)
        scales = self._device.read(block.scales)
        wide = numbers.view(np.int8).reshape(*scales.shape, SCALE_BLOCK) * scales[:, :, None]
        return np.ascontiguousarray(wide.reshape(block.rows, -1)[:, : block.columns])

    # ---- writing

    def _write(self, parameter: Parameter, pieces: Iterator[np.ndarray]) -> None:
        """`pieces` are the rows of the whole parameter, in order."""
        at = 0
        for piece in pieces:
            for first, block in zip(parameter.first_rows, parameter.blocks, strict=True):
                start, stop = max(at, first), min(at + len(piece), first + block.shape[0])
                if start < stop:
                    rows = piece[start - at : stop - at]
                    if isinstance(block, PackedMatrix):
                        inner = math.prod(rows.shape[1:-1])  # of an expert
                        matrix = rows.reshape(-1, rows.shape[-1])
                        self._pack_rows(parameter.name, block, (start - first) * inner, matrix)
                    else:
                        self._write_rows(block, start - first, rows)
            at += len(piece)
        if at != parameter.shape[0]:
            raise InputError(f"{parameter.name} has {parameter.shape[0]} rows, not {at}.")

    def _write_rows(self, block: Tensor, first: int, rows: np.ndarray) -> None:
        part = _rows(block, first, rows)
        if rows.dtype.itemsize == 2 and part.offset % ALIGNMENT == 0:  # else no kernel can bind it
            self._device.write_halves(part, rows if rows.dtype == np.float16 else rows.view(np.uint16))
        else:
            self._device.write(part, as_float32(rows))

    def _pack_rows(self, name: str, block: PackedMatrix, first: int, rows: np.ndarray) -> None:
        if block.scales is None and rows.dtype == np.float16:
            part = _rows(block.numbers, first, rows)
            if part.offset % 4 == 0 and (part.nbytes % 4 == 0 or first + len(rows) == block.rows):  # whole words
                self._device.write(part, rows)
                return
        wide = as_float32(rows)
        if block.scales is None and np.abs(wide).max(initial=0.0) > LARGEST_FLOAT16:
            raise InputError(f"{name} has numbers that float16 cannot hold.", "Keep the model in int8 or float32.")
        tape = Tape("packing of weights", self._device)
        pack(tape, tape.input("rows", wide.shape), block, first)
        executable = self._device.compile(tape.program)
        try:
            executable.run({"rows": wide})
        finally:
            executable.close()


def _rows(block: Tensor, first: int, rows: np.ndarray) -> Tensor:
    """Rows of a tensor of a slab, from `first` on, as a tensor of their own."""
    width = block.nbytes // block.shape[0]
    return replace(block, shape=(len(rows), *block.shape[1:]), offset=block.offset + first * width)
