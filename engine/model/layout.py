"""Parameters, gradients and optimiser state laid out in slabs.

Parameters that decay and those that do not have slabs of their own, each small enough to be bound at once. Where a
whole slab is trained, its gradients and moments have slabs of the same layout, and one AdamW call updates all of it;
where only parts are trained, each part has a call.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.devices.interface import Device
from engine.graph.kernels import NORM_PARTS
from engine.graph.parameters import Parameter, TrainedRows
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Slab, Tensor, View, aligned
from engine.model.config import decays


class ParameterLayout:
    """Where each parameter of `shapes` lives on a device with a given largest binding."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], max_binding_bytes: int, label: str = "parameters") -> None:
        self.slabs: list[Slab] = []
        self.parameters: dict[str, Parameter] = {}
        self.names_in: dict[Slab, list[str]] = {}
        for decaying in (True, False):
            current = None
            for name, shape in shapes.items():
                if decays(name) is not decaying:
                    continue
                blocks = []
                for rows in _row_blocks(shape, max_binding_bytes):
                    nbytes = aligned(4 * rows * (_size(shape) // shape[0]))
                    if current is None or current.nbytes + nbytes > max_binding_bytes:
                        current = Slab(f"{label} {len(self.slabs)}", Kind.WEIGHTS)
                        self.slabs.append(current)
                        self.names_in[current] = []
                    blocks.append(current.add(name, (rows, *shape[1:])))
                    self.names_in[current].append(name)
                self.parameters[name] = Parameter(name, shape, tuple(blocks), decaying)


@dataclass(frozen=True)
class UpdateRun:
    """What one AdamW call updates: equally long vectors."""

    parameter: View
    gradient: View
    first: View
    second: View
    decays: bool


class TrainedSet:
    """Gradients (and, on request, moments) for a selection of rows of parameters."""

    def __init__(self, layouts: list[ParameterLayout], selection: dict[str, tuple[int, int]]) -> None:
        """`selection`: first and past-the-last row by parameter name."""
        self.rows: dict[str, TrainedRows] = {}
        self.gradient_slabs: list[Slab] = []
        self.first_slabs: list[Slab] = []
        self.second_slabs: list[Slab] = []
        self.runs: list[UpdateRun] = []
        gradients: dict[str, list[Tensor]] = {name: [] for name in selection}
        for layout in layouts:
            for slab in layout.slabs:
                self._add_slab(layout, slab, selection, gradients)
            for name in layout.parameters.keys() & selection.keys():
                self.rows[name] = TrainedRows(layout.parameters[name], *selection[name], tuple(gradients[name]))

    @property
    def slabs(self) -> list[Slab]:
        return [*self.gradient_slabs, *self.first_slabs, *self.second_slabs]

    def _add_slab(self, layout: ParameterLayout, slab: Slab, selection, gradients) -> None:
        names = layout.names_in[slab]
        trained = [name for name in names if name in selection]
        if not trained:
            return
        mirror = Slab(slab.name.replace("parameters", "gradients"), Kind.GRADIENTS)
        whole = all(name in selection and selection[name] == (0, layout.parameters[name].shape[0]) for name in names)
        for tensor in slab.tensors:
            if tensor.name not in selection:
                continue
            first, last = (0, tensor.shape[0]) if whole else selection[tensor.name]
            gradient = mirror.add(tensor.name, (last - first, *tensor.shape[1:]))
            gradients[tensor.name].append(gradient)
        moments = []
        for order, slabs in (("first", self.first_slabs), ("second", self.second_slabs)):
            moment = Slab(f"{order} moments of {slab.name}", Kind.OPTIMISER, mirror.nbytes)
            slabs.append(moment)
            moments.append(moment.flat())
        self.gradient_slabs.append(mirror)
        decaying = layout.parameters[names[0]].decays
        if whole:
            flats = [slab.flat().view(), mirror.flat().view(), *(moment.view() for moment in moments)]
            self.runs.append(UpdateRun(*flats, decaying))
            return
        for gradient in mirror.tensors:
            parameter = layout.parameters[gradient.name].tensor
            start = selection[gradient.name][0] * (parameter.size // parameter.shape[0])
            views = [moment.view(gradient.offset // 4, (gradient.size,)) for moment in moments]
            flat_gradient = gradient.view(shape=(gradient.size,))
            self.runs.append(UpdateRun(parameter.view(start, (gradient.size,)), flat_gradient, *views, decaying))

    def emit_update(self, tape: Tape, scalars: Tensor) -> None:
        """Global norm, clip factor and AdamW for everything trained."""
        statistics = tape.statistics()
        partials = tape.new("norm_partials", (NORM_PARTS * len(self.gradient_slabs),), Kind.WORKSPACE)
        for index, slab in enumerate(self.gradient_slabs):
            part = partials.view(index * NORM_PARTS, (NORM_PARTS,))
            tape.emit("squared_norm", slab.flat(), part)
        tape.emit("clip_factor", partials, scalars, statistics)
        for run in self.runs:
            tape.emit(
                "adamw", run.parameter, run.gradient, run.first, run.second, scalars, statistics, decay=int(run.decays)
            )

    def allocate(self, device: Device, moments: bool) -> None:
        device.allocate(self.slabs if moments else self.gradient_slabs)

    def release(self, device: Device, moments: bool) -> None:
        device.release(self.slabs if moments else self.gradient_slabs)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _row_blocks(shape: tuple[int, ...], max_binding_bytes: int) -> list[int]:
    """How many rows each block of a parameter has: one block, unless it is larger than a binding."""
    row_bytes = 4 * _size(shape) // shape[0]
    most = max_binding_bytes // row_bytes
    return [min(most, shape[0] - start) for start in range(0, shape[0], most)]
