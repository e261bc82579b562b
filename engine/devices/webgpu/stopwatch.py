"""How long the GPU itself was busy: timestamps at both ends of each pass, written by the GPU.

Without them, a time includes the submit and waking up at its end, tenths of a millisecond. So the feature is asked
for where the adapter has it, and used for what is measured once: tuning, and the benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import wgpu

from engine.devices.webgpu.calls import Dispatch
from engine.devices.webgpu.low_level_calls import nanoseconds_of_a_tick

FEATURE = "timestamp-query"


class Stopwatch:
    """Of one device that has timestamp queries."""

    def __init__(self, gpu: wgpu.GPUDevice) -> None:
        self._gpu = gpu
        self._stamps = gpu.create_query_set(label="stopwatch", type="timestamp", count=2)
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        self._ticks = gpu.create_buffer(label="stopwatch", size=16, usage=usage)
        self._period = nanoseconds_of_a_tick(gpu.queue)

    def seconds(self, parts: Sequence[Sequence[Dispatch]]) -> float | None:
        """Of dispatches, each part in a submit of its own; None where the adapter's clock did not move."""
        if self._period is None:
            return None
        total = 0.0
        for dispatches in parts:
            encoder = self._gpu.create_command_encoder(label="stopwatch")
            writes = {"query_set": self._stamps, "beginning_of_pass_write_index": 0, "end_of_pass_write_index": 1}
            compute = encoder.begin_compute_pass(timestamp_writes=writes)
            for pipeline, group, offset, grid in dispatches:
                compute.set_pipeline(pipeline)
                compute.set_bind_group(0, group, [offset])
                compute.dispatch_workgroups(*grid)
            compute.end()
            encoder.resolve_query_set(self._stamps, 0, 2, self._ticks, 0)
            self._gpu.queue.submit([encoder.finish()])
            began, ended = map(int, np.frombuffer(self._gpu.queue.read_buffer(self._ticks), np.uint64))
            if ended <= began:
                return None
            total += (ended - began) * self._period * 1e-9
        return total

    def close(self) -> None:
        self._stamps.destroy()
        self._ticks.destroy()
