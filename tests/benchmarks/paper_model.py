"""What a program would take on five GPUs, on paper: not times on hardware.

One rule for all kernels, from their machine code.  A turn of the hottest loop (of the loop around it, where it is known
how often the inner one runs) takes a vector unit as long as

    issue   its vector instructions, exponentials and the like four times (on a GPU without a scalar unit also the
            scalar instructions), or its bytes of workgroup memory, whichever takes longer

and a wave, besides, what it waits for loads, less what it does meanwhile.  So many turns as the call's operations are
of those in a turn (or as its bytes are, where it has no operations) are shared out among the waves of the grid; those
that a unit holds at once wait at the same time.  A dispatch takes that, or as long as its bytes take at three quarters
of the bandwidth, and a launch.

Assumed, not derived: the figures of `Gpu`, that share of the bandwidth, and that Apple's and NVIDIA's compilers make of
a kernel what AMD's does.  Expect totals to be off by 40 %; ratios between kernels are firmer.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field

from machine_code import Code, Counts

from engine.devices.webgpu.launch import AdapterTraits, Launch
from engine.devices.webgpu.launches import launches_of
from engine.devices.webgpu.shaders import shader_source
from engine.graph.cost import moved_bytes, named_views, operations
from engine.graph.plan import Plan
from engine.graph.tensor import KernelCall

BANDWIDTH_SHARE = 0.75
WAVE = 64  # lanes
LESSER = ("_parts", "_sum", "_carry", "_decays", "sum_rows", "_d_steps")  # add up or carry on what others leave
# Turns of the inner loop of multiply-adds in one of the loop around it, by the beginning of the shader's name.
INNER_TURNS = {"matmul_tiled_64": 8, "matmul_tiled_32": 4, "ssd_": 4}
DONE = {"ssd_d_scores": 0.75}  # of a product's operations: what lies above the diagonal is left out
LONG_LATENCY, SHORT_LATENCY = 250e-9, 25e-9  # seconds, of the second cache and of workgroup memory


@dataclass(frozen=True)
class Gpu:
    """`units` that issue an instruction for 64 lanes at a time, so that `peak` is theirs; TFLOP/s, GB/s, microseconds.

    `shared`: bytes of workgroup memory that each moves meanwhile.  `code`: whose compiler's code stands in.
    """

    peak: float
    bandwidth: float
    units: int
    shared: int
    scalar_unit: bool
    launch: float
    code: str

    @property
    def instruction(self) -> float:
        """Seconds that a unit takes for one."""
        return 2 * WAVE * self.units / (self.peak * 1e12)


GPUS = {
    "iris_xe": Gpu(2.0, 60, 12, 64, False, 8, "tgl"),  # 96 execution units of 8 lanes
    "m2": Gpu(3.6, 100, 20, 64, False, 5, "gfx1150"),  # 10 cores of 128 lanes
    "780m": Gpu(5.4, 90, 24, 128, True, 5, "gfx1150"),  # 12 compute units of 64 lanes, two cycles an instruction
    "rtx_3060": Gpu(12.7, 360, 56, 64, False, 3.5, "gfx1150"),  # 28 multiprocessors of 128 lanes
    "rtx_4090": Gpu(82.0, 1008, 256, 64, False, 2.5, "gfx1150"),  # 128 of them
}

LaunchKey = tuple[str, tuple, tuple]


def launch_key(launch: Launch) -> LaunchKey:
    """What is compiled for a launch."""
    return launch.shader, tuple(sorted(launch.header.items())), tuple(sorted(launch.constants.items()))


def launch_name(launch: Launch) -> str:
    return "_".join([launch.shader, *(f"{key}{value:g}" for part in launch_key(launch)[1:] for key, value in part)])


Codes = dict[str, dict[str, Code]]  # by whose they are and by the launch's name


@dataclass
class Kernel:
    """All calls of one kernel in a program."""

    dispatches: int = 0
    operations: float = 0
    nbytes: float = 0
    smallest_grid: int = 1 << 60  # of the busiest dispatch of a call
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))


def kernels_of(plan: Plan, traits: AdapterTraits, keys: float, codes: Codes) -> dict[str, Kernel]:
    """By name, with modelled seconds on each GPU; `keys`: how many each query of an attention sees on average."""
    kernels: dict[str, Kernel] = defaultdict(Kernel)
    for call, launches in zip(plan.program.calls, launches_of(plan, traits), strict=True):
        kernel = kernels[call.kernel]
        scratch = plan.scratch_of(call)
        nbytes = moved_bytes(call, keys) + (2 * scratch.nbytes if scratch else 0)
        kernel.dispatches += len(launches)
        kernel.operations += operations(call, keys)
        kernel.nbytes += nbytes
        kernel.smallest_grid = min(kernel.smallest_grid, busiest_grid(launches))
        for name, gpu in GPUS.items():
            kernel.seconds[name] += modelled_seconds(call, launches, gpu, codes[gpu.code], keys, nbytes)
    return dict(kernels)


def busiest_grid(launches: list[Launch]) -> int:
    return max((math.prod(launch.groups) for launch in _working(launches)), default=0)


def _working(launches: list[Launch]) -> list[Launch]:
    """Those that do the work."""
    return [launch for launch in launches if not launch.shader.endswith(LESSER)]


def ideal_seconds(plan: Plan, gpu: Gpu, keys: float) -> float:
    """Every operation at the peak and every operand once at the whole bandwidth."""
    return sum(
        max(operations(call, keys) / (gpu.peak * 1e12), moved_bytes(call, keys) / (gpu.bandwidth * 1e9))
        for call in plan.program.calls
    )


def modelled_seconds(
    call: KernelCall, launches: list[Launch], gpu: Gpu, codes: dict[str, Code], keys: float, nbytes: float
) -> float:
    """Of all dispatches of a call."""
    working = _working(launches)
    shares = _shares(call, working)
    computing = sum(
        turns_seconds(launch, codes[launch_name(launch)], gpu, share * operations(call, keys), nbytes / len(working))
        for launch, share in zip(working, shares, strict=True)
    )
    return max(computing, nbytes / (gpu.bandwidth * 1e9 * BANDWIDTH_SHARE)) + len(launches) * gpu.launch * 1e-6


def _shares(call: KernelCall, working: list[Launch]) -> list[float]:
    """Of the call's operations, what each dispatch does: all of them, but for the products of Mamba-2's scan, and for
    calls that are cut into several dispatches of the same kernel.
    """
    if call.kernel not in ("ssd", "ssd_backward"):
        groups: dict[str, int] = defaultdict(int)
        for launch in working:
            groups[launch.shader] += math.prod(launch.groups)
        return [math.prod(launch.groups) / groups[launch.shader] for launch in working]
    views = named_views(call)
    heads, (n, e) = views["steps"].shape[1] // 2, views["states"].shape[2:]
    state, inner = n // heads, heads * e
    of_groups = (views["x"].shape[1] - inner) // 2 * 64
    products = {
        "ssd_scores": of_groups,
        "ssd_states": inner * state,
        "ssd_mix": inner * (64 + state),
        "ssd_d_scores": inner * 64,
        "ssd_d_projections": of_groups + inner * state,
    }
    names = [launch.shader.removesuffix("_vec4").removesuffix("_scalar") for launch in working]
    total = sum(products[name] for name in names)
    return [DONE.get(name, 1.0) * products[name] / total for name in names]


def turns_seconds(launch: Launch, code: Code, gpu: Gpu, flops: float, nbytes: float) -> float:
    """What the turns of a dispatch's loop take; 0 for a kernel whose loop neither computes nor moves anything."""
    turn = turn_of(launch.shader, code)
    waves = math.prod(launch.groups) * math.ceil(lanes_of(launch) / WAVE)
    if flops and turn.operations:
        turns = flops / (turn.operations * WAVE * waves)
    elif turn.memory:
        turns = nbytes / (turn.memory * WAVE * waves)
    else:
        return 0.0
    issue, waited = issued(turn, gpu), waited_for(turn, gpu)
    of_a_unit = math.ceil(waves / gpu.units)
    at_once = min(code.waves, of_a_unit)
    return turns * of_a_unit * max(issue, (issue + waited) / at_once) * gpu.instruction


def turn_of(shader: str, code: Code) -> Counts:
    """What a turn of the loop issues that a lane's work is divided into."""
    for beginning, turns in INNER_TURNS.items():
        if shader.startswith(beginning) and code.around.vector:
            return code.around + code.hottest.times(turns)
    return code.hottest


def issued(turn: Counts, gpu: Gpu) -> float:
    """Instructions' times that a unit is busy."""
    vector = turn.vector + 3 * turn.slow + (0 if gpu.scalar_unit else turn.scalar)
    return max(vector, turn.shared * WAVE / gpu.shared)


def waited_for(turn: Counts, gpu: Gpu) -> float:
    """Instructions' times that a wave waits, less those in which it has something to do."""
    latencies = {True: SHORT_LATENCY / gpu.instruction, False: LONG_LATENCY / gpu.instruction}
    return sum(max(0.0, latencies[wait.shared] - wait.after) for wait in turn.waits)


def lanes_of(launch: Launch) -> int:
    """Of a workgroup."""
    source = shader_source(launch.shader, tuple(launch.header.items()))
    size = re.search(r"@workgroup_size\((\w+)", source)[1]
    if size.isdigit():
        return int(size)
    if size in launch.constants:
        return int(launch.constants[size])
    return int(re.search(rf"(?:const|override) {size}\b[^=]*= *(\d+)", source)[1])
