"""What is trained: gradients and moments for a selection of parameters, their update, and their values in and out.

Where a whole slab of parameters is trained, its gradients and moments have slabs of the same layout, and one AdamW
call updates all of it; where only parts are trained, each part has a call. Single rows of the embedding have compact
gradients and moments; for the update they are copied out of the table and back, so no other byte of it is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.devices.interface import Device
from engine.errors import InputError
from engine.graph.kernels import NORM_PARTS, LayerStatistics
from engine.graph.parameters import IndexedBlock, IndexedRows, Parameter, TrainedRows
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Slab, Tensor, View
from engine.model.layout import ParameterLayout
from engine.model.selection import layer_of

INSIGHT_PARTS = 64  # partial sums of the squares of one tensor


@dataclass(frozen=True)
class UpdateRun:
    """What one AdamW call updates: equally long vectors.

    Of single rows of a table (`rows`) there is no such vector of parameters: they are copied out and back.
    """

    parameter: View | None
    gradient: View
    first: View
    second: View
    decays: bool
    rows: IndexedBlock | None = None


@dataclass(frozen=True)
class _Mirrored:
    """A block of a parameter and the gradient of its rows from `first` on, or of the single `rows`."""

    block: Tensor
    gradient: Tensor
    first: int
    rows: IndexedBlock | None = None

    @property
    def whole(self) -> bool:
        return self.rows is None and self.gradient.size == self.block.size

    def run(self, moments: list[Tensor], decaying: bool) -> UpdateRun:
        """Its update; the moments lie as the gradient does."""
        size = self.gradient.size
        parameter = None
        if self.rows is None:
            parameter = self.block.view(self.first * (self.block.size // self.block.shape[0]), (size,))
        own = [moment.view(self.gradient.offset // 4, (size,)) for moment in moments]
        return UpdateRun(parameter, self.gradient.view(shape=(size,)), *own, decaying, self.rows)


class TrainedSet:
    """Gradients (and, on request, moments) for a selection of rows of parameters."""

    def __init__(
        self,
        layouts: list[ParameterLayout],
        selection: dict[str, tuple[int, int]],
        indexed: dict[str, np.ndarray] | None = None,
    ) -> None:
        """`selection`: first and past-the-last row by parameter name.  `indexed`: single rows of a table, in order."""
        self.rows: dict[str, TrainedRows | IndexedRows] = {}
        self.indexed = indexed or {}
        self.index_slab = Slab("numbers of trained rows", Kind.WORKSPACE)
        self.gradient_slabs: list[Slab] = []
        self.first_slabs: list[Slab] = []
        self.second_slabs: list[Slab] = []
        self.runs: list[UpdateRun] = []
        self.layer_runs: dict[int, list[UpdateRun]] = {}
        self._selection = selection
        for layout in layouts:
            mirrored: dict[str, list[_Mirrored]] = {}
            for slab in layout.slabs:
                self._add_slab(layout, slab, mirrored)
            for name, parts in mirrored.items():
                parameter = layout.parameters[name]
                if name in self.indexed:
                    self.rows[name] = IndexedRows(parameter, tuple(part.rows for part in parts))
                else:
                    self.rows[name] = TrainedRows(parameter, *selection[name], tuple(part.gradient for part in parts))

    @property
    def slabs(self) -> list[Slab]:
        return [*self.gradient_side, *self.first_slabs, *self.second_slabs]

    @property
    def gradient_side(self) -> list[Slab]:
        """All but the moments."""
        return [*([self.index_slab] if self.indexed else []), *self.gradient_slabs]

    def _add_slab(self, layout: ParameterLayout, slab: Slab, mirrored: dict[str, list[_Mirrored]]) -> None:
        """Give what is trained of a slab of parameters its gradients and moments, and note how it is updated."""
        mirror = Slab(slab.name.replace("parameters", "gradients"), Kind.GRADIENTS)
        trained = []
        for block in slab.tensors:
            if (part := self._mirror(layout.parameters[block.name], block, mirror)) is not None:
                trained.append(part)
                mirrored.setdefault(block.name, []).append(part)
        if not trained:
            return
        self.gradient_slabs.append(mirror)
        moments = []
        for order, slabs in (("first", self.first_slabs), ("second", self.second_slabs)):
            slabs.append(Slab(f"{order} moments of {slab.name}", Kind.OPTIMISER, mirror.nbytes))
            moments.append(slabs[-1].flat())
        decaying = layout.parameters[slab.tensors[0].name].decays
        runs = [part.run(moments, decaying) for part in trained]
        for part, run in zip(trained, runs, strict=True):
            if (layer := layer_of(part.block.name)) is not None:
                self.layer_runs.setdefault(layer, []).append(run)
        if len(trained) == len(slab.tensors) and all(part.whole for part in trained):  # then one call does
            flats = [slab.flat().view(), mirror.flat().view(), *(moment.view() for moment in moments)]
            runs = [UpdateRun(*flats, decaying)]
        self.runs += runs

    def _mirror(self, parameter: Parameter, block: Tensor, mirror: Slab) -> _Mirrored | None:
        """A gradient in `mirror` for what is trained of a block of a parameter, if anything is."""
        name, width = parameter.name, block.shape[1:]
        if name in self.indexed:
            first_row = parameter.first_rows[parameter.blocks.index(block)]
            start, stop = map(int, np.searchsorted(self.indexed[name], [first_row, first_row + block.shape[0]]))
            if start == stop:
                return None
            gradient = mirror.add(name, (stop - start, *width))
            ids = self.index_slab.add(name, (stop - start,), "int32")
            return _Mirrored(block, gradient, 0, IndexedBlock(block, first_row, ids, start, gradient))
        if name not in self._selection:
            return None
        first, last = self._selection[name]
        if (first, last) == (0, parameter.shape[0]):
            last = block.shape[0]
        return _Mirrored(block, mirror.add(name, (last - first, *width)), first)

    # ---- programs

    def emit_update(self, tape: Tape, scalars: Tensor) -> None:
        """Global norm, clip factor and AdamW for everything trained; before that, where wanted, what it will do."""
        statistics = tape.statistics()
        partials = tape.new("norm_partials", (NORM_PARTS * len(self.gradient_slabs),), Kind.WORKSPACE)
        for index, slab in enumerate(self.gradient_slabs):
            part = partials.view(index * NORM_PARTS, (NORM_PARTS,))
            tape.emit("squared_norm", slab.flat(), part)
        tape.emit("clip_factor", partials, scalars, statistics)
        if tape.insight:
            self._emit_insight(tape, scalars)
        for run in self.runs:
            parameter = run.parameter
            if run.rows is not None:
                copy = tape.new("trained_rows", run.rows.gradient.shape, Kind.WORKSPACE)
                parameter = copy.view(shape=(copy.size,))
                tape.emit("embedding_gather", run.rows.ids, run.rows.table, copy, first_row=run.rows.first_row)
            tape.emit(
                "adamw", parameter, run.gradient, run.first, run.second, scalars, statistics, decay=int(run.decays)
            )
            if run.rows is not None:
                tape.emit("embedding_store", run.rows.ids, copy, run.rows.table, first_row=run.rows.first_row)

    def _emit_insight(self, tape: Tape, scalars: Tensor) -> None:
        """Squares of gradient, weights and change of each layer, into its statistics."""
        statistics = tape.statistics()
        for layer, runs in self.layer_runs.items():
            sums = tape.layer_statistics(layer, LayerStatistics.SQUARES, 3)
            for number, run in enumerate(runs):
                parts = tape.new("update_squares", (INSIGHT_PARTS, 3), Kind.WORKSPACE)
                tape.emit(
                    "update_squares",
                    run.parameter, run.gradient, run.first, run.second, scalars, statistics, parts,
                    decay=int(run.decays),
                )  # fmt: skip
                tape.emit("sum_rows", parts, sums, columns=3, accumulate=int(number > 0))

    def layer_sizes(self) -> dict[int, int]:
        """How many numbers of each layer are trained."""
        return {layer: sum(run.gradient.size for run in runs) for layer, runs in self.layer_runs.items()}

    def places(self, ids: np.ndarray) -> np.ndarray:
        """Which of the single trained rows each of `ids` has; -1 where its row is not trained."""
        (rows,) = self.indexed.values()
        found = np.searchsorted(rows, ids)
        return np.where(rows[np.minimum(found, rows.size - 1)] == ids, found, -1).astype(np.int32)

    # ---- memory

    def allocate(self, device: Device, moments: bool) -> None:
        device.allocate(self.slabs if moments else self.gradient_side)
        for rows in self.rows.values():
            if isinstance(rows, IndexedRows):
                ids = self.indexed[rows.parameter.name]
                for block in rows.blocks:
                    device.write(block.ids, ids[block.start : block.start + block.ids.size])

    def release(self, device: Device, moments: bool) -> None:
        device.release(self.slabs if moments else self.gradient_side)

    # ---- values

    def read(self, model: HasDevice) -> dict[str, np.ndarray]:
        """A copy of what is trained, by parameter name: rows of a range, single rows (k, m), or the whole."""
        return {name: np.concatenate([part.read(model.device) for part in parts]) for name, parts in self._parts()}

    def write(self, model: HasDevice, arrays: dict[str, np.ndarray]) -> None:
        """Put back what `read` gave; no other byte changes."""
        for name, parts in self._parts():
            expected = (sum(part.count for part in parts), *parts[0].tensor.shape[1:])
            if arrays[name].shape != expected:
                raise InputError(f"The trained rows of {name} have shape {expected}, not {arrays[name].shape}.")
            start = 0
            for part in parts:
                part.write(model.device, arrays[name][start : start + part.count])
                start += part.count

    def _parts(self) -> Iterator[tuple[str, list[_Part]]]:
        for name, rows in self.rows.items():
            if isinstance(rows, IndexedRows):
                ids = self.indexed[name]
                yield (
                    name,
                    [
                        _Part(block.table, ids[block.start : block.start + block.ids.size] - block.first_row)
                        for block in rows.blocks
                    ],
                )
            elif rows.whole:
                yield name, [_Part(block) for block in rows.parameter.blocks]
            else:
                yield name, [_Part(_between(rows.parameter.tensor, rows.first, rows.last))]


class HasDevice(Protocol):
    """A model, as far as reading and writing its memory goes."""

    device: Device


@dataclass(frozen=True)
class _Part:
    """A tensor of a slab, or some rows of it.

    Single rows travel with the whole tensor: a gather on the device would need memory in the middle of a run that was
    fitted to the ceiling.
    """

    tensor: Tensor
    rows: np.ndarray | None = None

    @property
    def count(self) -> int:
        return self.tensor.shape[0] if self.rows is None else self.rows.size

    def read(self, device: Device) -> np.ndarray:
        whole = device.read(self.tensor)
        return whole if self.rows is None else whole[self.rows]

    def write(self, device: Device, array: np.ndarray) -> None:
        if self.rows is not None:
            whole = device.read(self.tensor)
            whole[self.rows] = array
            array = whole
        device.write(self.tensor, np.asarray(array, np.float32))


def _between(tensor: Tensor, first: int, last: int) -> Tensor:
    """Rows first..last-1 of a tensor of a slab as a tensor of their own."""
    offset = tensor.offset + first * (tensor.nbytes // tensor.shape[0])
    return Tensor(tensor.name, (last - first, *tensor.shape[1:]), tensor.dtype, tensor.kind, tensor.slab, offset)
