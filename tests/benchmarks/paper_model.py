"""What a program would take on five GPUs, on paper: not times on hardware.

A call takes the longest of its arithmetic at an assumed share of the peak (less where its grid does not fill the GPU),
its operands once at three quarters of the bandwidth, and its longest chain of steps that wait for each other; then each
dispatch costs a launch.  Expect totals to be off by 40 %; ratios between kernels are firmer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from engine.benchmark.cost import product_operations
from engine.devices.webgpu.launch import AdapterTraits, Launch
from engine.devices.webgpu.launches import launches_of
from engine.graph.kernels import KERNELS, STATE_INTERVAL
from engine.graph.plan import Plan
from engine.graph.tensor import DTYPE_BYTES, KernelCall, Tensor

BANDWIDTH_SHARE = 0.75
OTHER_SHARE = 0.4  # of the peak, for what is no product: exponentials, loads and stores between the multiply-adds
# Of the peak: from the multiply-adds' share of what is issued, less what is waited for.  They were 0.30 and 0.45
# before two tiles were under way.
PRODUCT_SHARES = {"tiled_32": 0.45, "tiled_64": 0.65}
BEST_ROUND = 0.3  # microseconds in which a workgroup agrees on the best of its lanes
LESSER = ("_parts", "_sum", "_carry")
CONV_STEP = 0.5  # microseconds a token takes where a lane walks from token to token
SCAN_TURN = 0.2  # microseconds of a dependent turn over a row that lies in the second cache


@dataclass(frozen=True)
class Gpu:
    """Peaks in TFLOP/s and GB/s, workgroups that run at once, microseconds of a launch and of a token of the scan."""

    peak: float
    bandwidth: float
    groups: int
    launch: float
    scan_token: float


GPUS = {
    "iris_xe": Gpu(2.0, 60, 60, 8, 15),
    "m2": Gpu(3.6, 100, 80, 5, 2.6),
    "780m": Gpu(5.4, 90, 96, 5, 1.7),
    "rtx_3060": Gpu(12.7, 360, 168, 3.5, 1.4),
    "rtx_4090": Gpu(82.0, 1008, 768, 2.5, 1.0),
}


@dataclass
class Kernel:
    """All calls of one kernel in a program."""

    calls: int = 0
    dispatches: int = 0
    flops: int = 0
    nbytes: int = 0
    smallest_grid: int = 1 << 60  # of the busiest dispatch of a call
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def kernels_of(plan: Plan, traits: AdapterTraits) -> dict[str, Kernel]:
    """By name, products by their layout; with modelled seconds on each GPU."""
    kernels: dict[str, Kernel] = defaultdict(Kernel)
    for index, (call, launches) in enumerate(zip(plan.program.calls, launches_of(plan, traits), strict=True)):
        kernel = kernels[call.kernel]
        between = _bytes_between(call, plan.scratch.get(index))
        kernel.calls += 1
        kernel.dispatches += len(launches)
        kernel.flops += flops_of(call)
        kernel.nbytes += bytes_of(call) + between
        kernel.smallest_grid = min(kernel.smallest_grid, busiest_grid(launches))
        for name, gpu in GPUS.items():
            kernel.seconds[name] += modelled_seconds(call, launches, gpu, between)
    return dict(kernels)


def busiest_grid(launches: list[Launch]) -> int:
    """Of the dispatch that does the work, not of those that add up or carry on what it leaves."""
    working = [launch for launch in launches if not launch.shader.endswith(LESSER)]
    return max((math.prod(launch.groups) for launch in working), default=0)


def flops_of(call: KernelCall) -> int:
    """Roughly, for the kernels that compute; 0 for those that only move."""
    if flops := product_operations(call):
        return flops
    per_element = {"selective_scan": (8, 3), "selective_scan_backward": (20, 3), "selective_scan_tokens": (8, 3)}
    if call.kernel in per_element:
        times, at = per_element[call.kernel]
        return times * call.operands[0].size * (call.operands[at].shape[0] - 2)
    if call.kernel.startswith("causal_conv_silu"):
        weight = call.operands[2 if "backward" in call.kernel else 1]
        return (6 if "backward" in call.kernel else 2) * call.operands[0].size * weight.shape[-1]
    if call.kernel == "cross_entropy":
        return 10 * call.operands[0].size
    return 0


def bytes_of(call: KernelCall) -> int:
    """Every operand once, twice where it is read and written; of a table only the rows that are looked up."""
    total = 0
    for operand, view in zip(KERNELS[call.kernel].operands, call.operands, strict=True):
        if view is None or operand.name == "workspace":
            continue
        size = view.size
        if operand.name in ("table", "d_table", "words") and "ids" in (o.name for o in KERNELS[call.kernel].operands):
            size = min(size, call.operands[0].size * view.shape[1])
        twice = operand.access == "x" and not (call.kernel.startswith("matmul") and not call.numbers["accumulate"])
        total += DTYPE_BYTES[view.tensor.dtype] * size * (1 + twice)
    return total


def _bytes_between(call: KernelCall, scratch: Tensor | None) -> int:
    """What a call's dispatches leave for each other, written and read."""
    workspaces = [
        view.tensor
        for operand, view in zip(KERNELS[call.kernel].operands, call.operands, strict=True)
        if operand.name == "workspace" and view is not None
    ]
    return 2 * sum(tensor.nbytes for tensor in (*workspaces, *([scratch] if scratch else ())))


def ideal_seconds(plan: Plan, gpu: Gpu) -> float:
    """Every product at the peak and every operand once at the whole bandwidth."""
    return sum(
        max(product_operations(call) / (gpu.peak * 1e12), bytes_of(call) / (gpu.bandwidth * 1e9))
        for call in plan.program.calls
    )


def modelled_seconds(call: KernelCall, launches: list[Launch], gpu: Gpu, between: int) -> float:
    filled = min(1.0, busiest_grid(launches) / gpu.groups) or 1.0
    arithmetic = flops_of(call) / (gpu.peak * 1e12 * _share(launches) * filled)
    memory = (bytes_of(call) + between) / (gpu.bandwidth * 1e9 * BANDWIDTH_SHARE)
    return max(arithmetic, memory, _serial_seconds(call, launches, gpu)) + len(launches) * gpu.launch * 1e-6


def _share(launches: list[Launch]) -> float:
    shares = [share for launch in launches for name, share in PRODUCT_SHARES.items() if name in launch.shader]
    return min(shares, default=OTHER_SHARE)


def _serial_seconds(call: KernelCall, launches: list[Launch], gpu: Gpu) -> float:
    """The longest chain of steps that wait for each other, in as many rounds as the grid has."""
    rounds = max(1.0, busiest_grid(launches) / gpu.groups)
    length = int(call.numbers.get("length", 0))
    if call.kernel == "selective_scan_backward":
        return 1e-6 * gpu.scan_token * rounds * (length if len(launches) == 1 else min(length, STATE_INTERVAL))
    if call.kernel == "causal_conv_silu_backward":
        groups_of_all = math.ceil(call.operands[0].shape[1] / 64) * (call.operands[0].shape[0] // length)
        return 1e-6 * CONV_STEP * length * groups_of_all / busiest_grid(launches)
    if call.kernel == "top_k":
        rounds = (call.operands[1].shape[1] - 1) / 2
        turns = math.ceil(call.operands[0].shape[1] / 256)
        return 1e-6 * rounds * (SCAN_TURN * turns if len(launches) == 1 else BEST_ROUND * len(launches))
    return 0.0
