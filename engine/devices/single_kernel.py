"""Runs one kernel alone on a device: for the self-test, the tests, and to compile the kernels in advance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.devices.interface import Device
from engine.devices.samples import Sample, make_sample
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Kind, Program, Tensor, View


def warm_up(device: Device, report: Callable[[str, int, int], None] = lambda kernel, done, total: None) -> None:
    """Run every kernel once, so that it is compiled (and, on the CPU device, cached on disk) before it is needed.

    `report` gets the next kernel, how many are done and how many there are; it may raise to stop.
    """
    for done, kernel in enumerate(KERNELS):
        report(kernel, done, len(KERNELS))
        run_sample(device, make_sample(kernel))


def run_sample(device: Device, sample: Sample) -> dict[str, np.ndarray]:
    """Run the kernel alone on `device`; returns every operand that it writes.

    Partial sums over blocks of channels are added up, as `d_BC` (t, 2n): devices differ in how wide a block is.  Packed
    results are unpacked.
    """
    program, inputs = sample_program(device, sample)
    executable = device.compile(program)
    try:
        executable.run(inputs)
        results = {name: executable.read(name) for name in program.outputs}
    finally:
        executable.close()
    return comparable_results(device, sample, results)


def sample_program(device: Device, sample: Sample) -> tuple[Program, dict[str, np.ndarray]]:
    """A program that runs the kernel once, and its inputs: every operand; those that it writes are outputs."""
    signature = KERNELS[sample.kernel]
    program = Program(sample.kernel)
    views: list[View | None] = []
    inputs: dict[str, np.ndarray] = {}
    for spec in signature.operands:
        array = sized_operand(device, sample, spec.name)
        if array is None:
            views.append(None)
            continue
        left, right = sample.beside.get(spec.name, (0, 0))
        whole = np.pad(array, ((0, 0), (left, right)), constant_values=7) if left or right else array
        tensor = Tensor(spec.name, whole.shape, spec.dtype, Kind.WORKSPACE)
        program.inputs[spec.name] = tensor
        inputs[spec.name] = whole
        if spec.writes:
            program.outputs[spec.name] = tensor
        views.append(tensor.columns(left, left + array.shape[1]) if left or right else tensor.view())
    program.calls.append(KernelCall(sample.kernel, tuple(views), sample.numbers))
    return program, inputs


def sized_operand(device: Device, sample: Sample, name: str) -> np.ndarray | None:
    """The operand's array; scratch and partial sums of the scan have the size that the device needs."""
    s = sample.sizes
    if name == "workspace":
        elements = device.workspace_elements(sample.kernel, s.b, s.l, s.d, s.n)
        return np.zeros(elements, np.float32) if elements else None
    if sample.kernel == "selective_scan_backward" and name == "partials":
        blocks = -(-s.d // device.scan_channel_block)
        return np.zeros(blocks * s.t * 2 * s.n + s.b * (s.n + 2) * s.d, np.float32)
    return sample.operands[name]


def comparable_results(device: Device, sample: Sample, results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    results.pop("workspace", None)
    for name, (left, right) in sample.beside.items():
        if name in results:
            sides = np.concatenate(
                [results[name][:, :left], results[name][:, results[name].shape[1] - right :]], axis=1
            )
            results[f"beside {name}"] = sides
            results[name] = results[name][:, left : results[name].shape[1] - right]
    if sample.kernel == "narrow_int8":
        results["words"] = results["words"].view(np.int8)
    if sample.kernel == "top_k":
        best = results.pop("best")
        parts = (best[:, 0], *np.split(best[:, 1:], 2, axis=1))
        results |= dict(zip(("log_sum", "values", "indices"), map(np.ascontiguousarray, parts), strict=True))
    if sample.kernel == "ssd_backward":
        del results["states"]  # used up
    if sample.kernel == "selective_scan_backward":
        s = sample.sizes
        del results["states"]  # used up
        channel_sums, sequence_sums = np.split(results.pop("partials"), [-s.b * (s.n + 2) * s.d])
        results["d_BC"] = channel_sums.reshape(-1, s.t, 2 * s.n).sum(0)
        if sample.numbers["want_coefficients"]:
            results["d_coefficients"] = sequence_sums.reshape(s.b, s.n + 2, s.d)
        if not sample.numbers["want_inputs"]:
            del results["d_y"], results["delta"]
    return results
