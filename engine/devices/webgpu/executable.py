"""A plan bound to GPU buffers and replayed.

Everything that can be decided is decided once: pipelines, bind groups, grids, and the parameters of every dispatch,
which lie in one uniform buffer and are chosen by dynamic offset. A run writes its inputs, encodes the same pass again
and submits it, with the copy of the small statistics into a ring of mappable buffers, so that reading them costs no
submit of its own and may come a step late.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import wgpu

from engine.devices.interface import NUMPY_DTYPES, Arena, Executable
from engine.devices.interludes import calls_before_weights
from engine.devices.webgpu.calls import Copy, Dispatch, Recording, Submission
from engine.devices.webgpu.launch import PARAMETER_BYTES, Launch
from engine.devices.webgpu.launches import launches_of
from engine.devices.webgpu.submits import Submits, estimated_seconds
from engine.errors import DeviceLostError
from engine.graph.plan import Plan
from engine.graph.tensor import READ_BACK, KernelCall, Kind, Program, Tensor, View

if TYPE_CHECKING:
    from engine.devices.webgpu.device import WebGpuDevice

RING = 4  # statistics in flight at a time
Locate = Callable[[Tensor], tuple[wgpu.GPUBuffer, int]]  # where a tensor is: buffer and byte offset


class Dispatches:
    """Launches with their pipelines and bind groups, and one uniform buffer with the parameters of all of them."""

    def __init__(self, device: WebGpuDevice, launches: list[Launch], locate: Locate) -> None:
        self._device, self._locate = device, locate
        self._parameters = self._upload_parameters(launches)
        groups: dict[tuple, wgpu.GPUBindGroup] = {}
        self._items = [
            Dispatch(
                *(device.pipelines.get(launch), self._bind_group(launch, groups)),
                *(slot * PARAMETER_BYTES, launch.groups),
            )
            for slot, launch in enumerate(launches)
        ]
        self._prepared = device.calls.prepare(self._items)

    def _upload_parameters(self, launches: list[Launch]) -> wgpu.GPUBuffer:
        arena = bytearray(max(len(launches), 1) * PARAMETER_BYTES)
        for slot, launch in enumerate(launches):
            arena[slot * PARAMETER_BYTES : slot * PARAMETER_BYTES + len(launch.parameters)] = launch.parameters
        usage = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
        buffer = self._device.gpu.create_buffer(label="parameters", size=len(arena), usage=usage)
        self._device.calls.write(buffer, 0, arena)
        return buffer

    def _bind_group(self, launch: Launch, groups: dict[tuple, wgpu.GPUBindGroup]) -> wgpu.GPUBindGroup:
        places = [self._place(view) for view in launch.bindings]
        key = tuple((id(buffer), offset, size) for buffer, offset, size in places)
        if key not in groups:
            entries = [{"binding": 0, "resource": {"buffer": self._parameters, "offset": 0, "size": PARAMETER_BYTES}}]
            entries += [
                {"binding": i + 1, "resource": {"buffer": buffer, "offset": offset, "size": size}}
                for i, (buffer, offset, size) in enumerate(places)
            ]
            layout = self._device.pipelines.layout(len(places))
            groups[key] = self._device.gpu.create_bind_group(label=launch.shader, layout=layout, entries=entries)
        return groups[key]

    def _place(self, view: View | None) -> tuple[wgpu.GPUBuffer, int, int]:
        if view is None:
            return self._device.nothing, 0, 16  # a shader may have declared it as vec4
        return *self._locate(view.tensor), max(4, -(-view.tensor.nbytes // 4) * 4)

    def record(self, start: int, stop: int, copies: Sequence[Copy] = ()) -> Recording:
        """The dispatches from `start` up to `stop`, then the copies."""
        return self._device.calls.record(self._prepared[start:stop], copies)

    def part(self, start: int, stop: int) -> list[Dispatch]:
        return self._items[start:stop]

    def close(self) -> None:
        self._parameters.destroy()
        self._items, self._prepared = [], ()


class _Reading:
    """Statistics of one run: in flight in a mappable buffer, or collected."""

    def __init__(self, device: WebGpuDevice, buffer: wgpu.GPUBuffer, tensor: Tensor, submission: Submission) -> None:
        self._device, self.buffer, self._tensor, self._submission = device, buffer, tensor, submission
        self._value: np.ndarray | None = None

    def collect(self) -> np.ndarray:
        """Wait for the copy and take it; the buffer is then free for another run."""
        if self._value is None:
            try:
                content = self._device.calls.read_mapped(self.buffer, self._submission)
            except (wgpu.GPUError, RuntimeError) as error:
                raise self._device.failure("reading back", error) from error
            raw = np.frombuffer(content, NUMPY_DTYPES[self._tensor.dtype])
            self._value = raw.reshape(self._tensor.shape).copy()
        return self._value


class WebGpuExecutable(Executable):
    """Dispatches with their bind groups, in order."""

    device: WebGpuDevice

    def __init__(self, device: WebGpuDevice, plan: Plan, arena: Arena) -> None:
        super().__init__(device, plan, arena)
        self._ring: list[wgpu.GPUBuffer] = []
        self._readings: deque[_Reading] = deque()
        self._dispatches: Dispatches | None = None
        self.launches: list[Launch] = []
        self._last_interlude = 0  # the number of a launch
        calls_before = calls_before_weights(plan.program.calls)
        estimates: list[float] = []
        for number, (call, launches) in enumerate(
            zip(plan.program.calls, launches_of(plan, device.traits), strict=True)
        ):
            self.launches += launches
            estimates += estimated_seconds(call, launches)
            if number < calls_before:
                self._last_interlude = len(self.launches)
        self._dispatches = Dispatches(device, self.launches, self.locate)
        self._submits = Submits(estimates, device.traits.software)
        self._statistics = plan.program.outputs.get(READ_BACK)
        usage = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
        self._ring = [
            device.gpu.create_buffer(label=f"read back {i}", size=self._statistics.nbytes, usage=usage)
            for i in range(RING if self._statistics else 0)
        ]

    # ---- running

    def _run(self, inputs: dict[str, np.ndarray]) -> None:
        self.device.check()
        try:
            self._write_and_submit(inputs)
        except (wgpu.GPUError, RuntimeError) as error:
            raise self.device.failure("running", error) from error

    def _write_and_submit(self, inputs: dict[str, np.ndarray]) -> None:
        device = self.device
        for name, array in inputs.items():
            device.write_at(*self.locate(self.plan.program.inputs[name]), array.reshape(-1))
        self._submit_all(device.interludes.wanted)

    def _submit_all(self, interrupted: bool) -> None:
        """`interrupted`: for other work between two parts, which does not wait for all of them."""
        device, submits = self.device, self._submits
        timed = submits.wants_timing
        first, began = 0, time.perf_counter()
        for start, stop in submits.parts:
            interlude = interrupted and start <= self._last_interlude
            if interlude or timed:
                device.synchronize()
                submits.measured(first, start, time.perf_counter() - began)
                if interlude:
                    device.interludes.take()
                first, began = start, time.perf_counter()
            copies = self._copies() if stop == len(self.launches) else ()
            submission = device.submit(self._dispatches.record(start, stop, copies))
            self._readings += [_Reading(device, copy.target, self._statistics, submission) for copy in copies]
        if interrupted or timed:
            device.synchronize()
            submits.measured(first, len(self.launches), time.perf_counter() - began)
        submits.ran(measured=interrupted or timed)

    def _copies(self) -> tuple[Copy, ...]:
        """Of the statistics, to the next buffer of the ring."""
        if not self._ring:
            return ()
        if len(self._readings) == RING:
            self._readings.popleft().collect()  # frees its buffer; a caller that waits for it still gets the value
        taken = [reading.buffer for reading in self._readings]
        target = next(buffer for buffer in self._ring if buffer not in taken)
        return (Copy(*self.locate(self._statistics), target, self._statistics.nbytes),)

    def timed_run(self) -> float:
        seconds = self.device.busy_seconds([self._dispatches.part(*cut) for cut in self._submits.parts])
        return super().timed_run() if seconds is None else seconds

    # ---- reading

    def read(self, name: str) -> np.ndarray:
        tensor = self.plan.program.outputs[name]
        return self.device.read_at(*self.locate(tensor), tensor)

    def read_later(self, name: str) -> Callable[[], np.ndarray]:
        if name != READ_BACK:
            value = self.read(name)
            return lambda: value
        return self._readings[-1].collect

    def close(self) -> None:
        with contextlib.suppress(DeviceLostError):
            for reading in self._readings:  # a caller that waits for one still gets its value
                reading.collect()
            self.device.synchronize()
        for buffer in self._ring:
            buffer.destroy()
        self._ring, self._readings = [], deque()
        if self._dispatches is not None:
            self._dispatches.close()
            self._dispatches = None
        super().close()


class Bench:
    """Times launches on buffers of their own, whose content does not matter and which stay until `clear`."""

    def __init__(self, device: WebGpuDevice) -> None:
        self._device = device
        self._buffers: dict[Tensor, wgpu.GPUBuffer] = {}

    def computes(self) -> bool:
        """Whether kernels run at all."""
        x = Tensor("x", (1,), kind=Kind.WORKSPACE)
        filling = Program("look", [KernelCall("fill", (x.view(),), {"value": 1.0})], outputs={"x": x})
        with contextlib.closing(self._device.compile(filling)) as executable:
            executable.run({})
            return bool(executable.read("x")[0] == 1.0)

    def seconds(self, launches: list[Launch]) -> float:
        """What they take, from submit to the end of the work; the first time, also what their memory takes to clear."""
        for view in {view for launch in launches for view in launch.bindings if view is not None}:
            if view.tensor not in self._buffers:
                self._buffers[view.tensor] = self._device._create_buffer(view.tensor.nbytes, view.tensor.name)
        return time_launches(self._device, launches, lambda tensor: (self._buffers[tensor], 0))

    def clear(self) -> None:
        while self._buffers:
            self._device._destroy_buffer(self._buffers.popitem()[1])


def race(device: WebGpuDevice, launches: list[Launch]) -> float:
    """Seconds of launches that are run once."""
    bench = Bench(device)
    try:
        return bench.seconds(launches)
    finally:
        bench.clear()


def time_launches(device: WebGpuDevice, launches: list[Launch], locate: Locate) -> float:
    """Seconds that the GPU is busy with them or, where it has no clock, from submit to the end of the work."""
    dispatches = Dispatches(device, launches, locate)
    seconds = device.busy_seconds([dispatches.part(0, len(launches))])
    if seconds is not None:
        dispatches.close()
        return seconds
    recording = dispatches.record(0, len(launches))
    device.synchronize()
    began = time.perf_counter()
    device.submit(recording)
    device.synchronize()
    seconds = time.perf_counter() - began
    dispatches.close()
    return seconds
