"""What an adapter can do at most: bytes moved by a plain copy, operations of a loop that stays in registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.devices.interface import Peaks
from engine.devices.webgpu.executable import time_launches
from engine.devices.webgpu.launch import Launch, flat_grid, pack
from engine.graph.tensor import Kind, Slab, Tensor

if TYPE_CHECKING:
    from engine.devices.webgpu.device import WebGpuDevice

COPY_BYTES = {True: 16 << 20, False: 128 << 20}  # each way, by whether it is software; more than the caches of a GPU
LANES = 256
GROUPS = {True: 64, False: 4096}
TURNS = 64  # of the loop, at first
OPERATIONS = 64  # in a turn of a lane
ENOUGH = 0.02  # seconds that a run takes at least
MOST = 1 << 16  # times as much as at first
RUNS = 5  # the shortest counts


def measure_peaks(device: WebGpuDevice, look: Callable[[], None]) -> Peaks:
    """Takes about a second; `look` is called before each run and may raise."""
    software = device.traits.software
    floats = min(COPY_BYTES[software], device.limits.max_binding_bytes) // 4
    slabs = [Slab(f"measuring of the limits, {name}", Kind.WORKSPACE) for name in ("x", "y")]
    tensors = [slab.add(slab.name, (floats,)) for slab in slabs]
    device.allocate(slabs)
    try:
        copy = Launch("peak_copy", tuple(map(Tensor.view, tensors)), pack(floats // 4), flat_grid(-(-floats // 1024)))
        moved = 2 * 4 * floats * _most_a_second(device, lambda times: [copy] * times, look)
        groups = GROUPS[software]
        views = (tensors[1].view(),)

        def loop(times: int) -> list[Launch]:
            return [Launch("peak_fma", views, pack(TURNS * times, 0.999, 0.001), flat_grid(groups))]

        computed = groups * LANES * TURNS * OPERATIONS * _most_a_second(device, loop, look)
    finally:
        device.release(slabs)
    return Peaks(computed, moved)


def _most_a_second(device: WebGpuDevice, launches: Callable[[int], list[Launch]], look: Callable[[], None]) -> float:
    """How many times a second what `launches(1)` does can be done; the first run compiles."""

    def seconds(times: int) -> float:
        look()
        return time_launches(device, launches(times), lambda tensor: (device.buffer_of(tensor.slab), tensor.offset))

    seconds(1)
    times = 1
    while seconds(times) < ENOUGH and times < MOST:
        times *= 2
    return times / min(seconds(times) for _ in range(RUNS))
