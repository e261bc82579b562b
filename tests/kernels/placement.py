"""Runs a kernel on operands inside larger tensors, whose other elements must neither count nor change.

A kernel that forgets an offset or a stride reads what lies around its operands: NaN around those it only reads.  One
that runs too far writes it: GUARD around those it writes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.devices import Device
from engine.devices.reference import reference
from engine.devices.samples import Sample
from engine.devices.single_kernel import comparable_results, sized_operand
from engine.graph.kernels import KERNELS, Operand
from engine.graph.tensor import KernelCall, Kind, Program, Tensor, View
from tests.kernels.comparison import compare

GUARD = 77
ALIGNED = ("workspace", "cache", "keys", "values")  # a cache is written by words of two numbers
BEHIND = 68  # elements: a workgroup that takes 64 at a time runs into them


@dataclass(frozen=True)
class OnGrid:
    """Which places are multiples of 4 elements: the first of an operand, those of its rows, the end of its tensor."""

    start: bool = True
    rows: bool = True
    end: bool = True

    def __str__(self) -> str:
        return "+".join(place for place, held in vars(self).items() if held) or "nothing"


ALL_ON_GRID, NONE_ON_GRID = OnGrid(), OnGrid(False, False, False)


def check_inside(device: Device, sample: Sample, grid: OnGrid, at_least: float = 0.0) -> dict[str, np.ndarray]:
    """Compare with float64, see that nothing around the operands has changed, and give what may be written."""
    signature = KERNELS[sample.kernel]
    program, views, inputs = Program(sample.kernel), [], {}
    for spec in signature.operands:
        array = sized_operand(device, sample, spec.name)
        if array is None:
            views.append(None)
            continue
        view, whole = _placed(sample.kernel, spec, array, grid)
        program.inputs[spec.name] = program.outputs[spec.name] = view.tensor
        inputs[spec.name] = whole
        views.append(view)
    program.calls.append(KernelCall(sample.kernel, tuple(views), sample.numbers))
    executable = device.compile(program)
    try:
        executable.run(inputs)
        wholes = {name: executable.read(name) for name in program.outputs}
    finally:
        executable.close()

    found = {}
    for spec, view in zip(signature.operands, views, strict=True):
        if view is not None:
            after = wholes[spec.name]
            if spec.writes:
                found[spec.name] = _elements(after, view).copy()
                _elements(after, view)[...] = _elements(inputs[spec.name], view)
            assert np.array_equal(after.view(np.uint8), inputs[spec.name].view(np.uint8)), f"around {spec.name}"
    bare = Sample(sample.kernel, sample.operands, sample.numbers, {}, sample.sizes)
    compare(sample, comparable_results(device, bare, dict(found)), reference(bare), at_least)
    return found


def _placed(kernel: str, spec: Operand, array: np.ndarray, grid: OnGrid) -> tuple[View, np.ndarray]:
    """The operand's place in a tensor of its own, and that tensor's content."""
    width = array.shape[-1]
    start = 16 if spec.name in ALIGNED else 4 if grid.start else 5
    may_lie_apart = spec.strided or (kernel.startswith("matmul") and array.ndim == 2)
    stride = width + (4 + -width % 4 + (not grid.rows) if may_lie_apart else 0)
    size = start + array.size // width * stride + BEHIND
    tensor = Tensor(spec.name, (size + -size % 4 + (not grid.end),), spec.dtype, Kind.WORKSPACE)
    around = np.nan if array.dtype.kind == "f" and not spec.writes else GUARD
    whole = np.full(tensor.shape, around, array.dtype)
    view = View(tensor, start, array.shape, stride)
    _elements(whole, view)[...] = array
    return view, whole


def _elements(whole: np.ndarray, view: View) -> np.ndarray:
    """The elements of a view in its tensor's content."""
    flat = whole[view.offset :]
    if view.contiguous:
        return flat[: view.size].reshape(view.shape)
    return np.lib.stride_tricks.as_strided(flat, view.shape, (view.stride * flat.itemsize, flat.itemsize))
