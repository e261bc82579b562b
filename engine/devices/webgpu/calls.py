"""Recording, submitting and reading back: what a device asks of wgpu for every run.

A token is a hundred dispatches, and wgpu-py's methods take longer over them than the driver does. So there are two ways
with the same results: wgpu-py's public methods, and `low_level_calls`, which calls the library beneath them. The public
one is taken where wgpu-py is not built as expected, or where the environment variable CODECOIL_CHECK_GPU_CALLS is set:
then a fault is raised by the very call that made it, not by the recording that it was part of.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import wgpu

LOG = logging.getLogger(__name__)
CHECK_EACH_CALL = "CODECOIL_CHECK_GPU_CALLS"
# Recordings, prepared dispatches and submissions are what an implementation makes of them; nobody else looks inside.
Prepared = Sequence
Recording = object
Submission = object


class Dispatch(NamedTuple):
    """`offset`: of its parameters, in bytes."""

    pipeline: wgpu.GPUComputePipeline
    group: wgpu.GPUBindGroup
    offset: int
    grid: tuple[int, int, int]


class Copy(NamedTuple):
    """Bytes of a buffer that go to the start of another, in whole words."""

    source: wgpu.GPUBuffer
    offset: int
    target: wgpu.GPUBuffer
    nbytes: int


class Calls(ABC):
    """Every fault is raised as one of wgpu's errors, at the latest by the method in which it happened."""

    @abstractmethod
    def prepare(self, dispatches: Sequence[Dispatch]) -> Prepared:
        """What `record` takes, made once; slices of it may be recorded as well."""

    @abstractmethod
    def record(self, dispatches: Prepared, copies: Sequence[Copy] = ()) -> Recording:
        """One compute pass, then the copies; it can be submitted once."""

    @abstractmethod
    def submit(self, recording: Recording) -> Submission: ...

    @abstractmethod
    def write(self, buffer: wgpu.GPUBuffer, offset: int, data) -> None:
        """Copy a contiguous array of whole words into a buffer, before the next submission."""

    @abstractmethod
    def read_mapped(self, buffer: wgpu.GPUBuffer, submission: Submission) -> bytearray | memoryview:
        """What a mappable buffer holds after a submission; it is unmapped again."""

    @abstractmethod
    def read(self, buffer: wgpu.GPUBuffer, offset: int, nbytes: int) -> bytearray | memoryview:
        """Bytes of any buffer after everything submitted."""

    @abstractmethod
    def wait(self) -> None:
        """Until everything submitted is done."""


class PublicCalls(Calls):
    """By wgpu-py's own methods, each of which checks for faults."""

    def __init__(self, gpu: wgpu.GPUDevice) -> None:
        self._gpu = gpu
        self._something = gpu.create_buffer(label="to wait for", size=16, usage=wgpu.BufferUsage.COPY_SRC)

    def prepare(self, dispatches: Sequence[Dispatch]) -> Prepared:
        return tuple(dispatches)

    def record(self, dispatches: Prepared, copies: Sequence[Copy] = ()) -> Recording:
        encoder = self._gpu.create_command_encoder()
        if dispatches:
            compute = encoder.begin_compute_pass()
            for pipeline, group, offset, grid in dispatches:
                compute.set_pipeline(pipeline)
                compute.set_bind_group(0, group, [offset])
                compute.dispatch_workgroups(*grid)
            compute.end()
        for source, offset, target, nbytes in copies:
            encoder.copy_buffer_to_buffer(source, offset, target, 0, nbytes)
        return encoder.finish()

    def submit(self, recording: Recording) -> Submission:
        self._gpu.queue.submit([recording])
        return None

    def write(self, buffer: wgpu.GPUBuffer, offset: int, data) -> None:
        self._gpu.queue.write_buffer(buffer, offset, data)

    def read_mapped(self, buffer: wgpu.GPUBuffer, submission: Submission) -> bytearray | memoryview:
        buffer.map_sync("READ")
        content = buffer.read_mapped()
        buffer.unmap()
        return content

    def read(self, buffer: wgpu.GPUBuffer, offset: int, nbytes: int) -> bytearray | memoryview:
        return self._gpu.queue.read_buffer(buffer, offset, nbytes)

    def wait(self) -> None:
        # The queue works in order, so a read waits for all before it (wgpu 0.32's own call for this raises a
        # TypeError).
        self._gpu.queue.read_buffer(self._something, 0, 4)


def calls_of(gpu: wgpu.GPUDevice) -> Calls:
    """The quicker calls where they are possible and each need not be checked."""
    if os.environ.get(CHECK_EACH_CALL):
        return PublicCalls(gpu)
    from engine.devices.webgpu.low_level_calls import LowLevelCalls, Unexpected

    try:
        return LowLevelCalls(gpu)
    except Unexpected as why:
        LOG.warning("wgpu %s is not built as expected (%s): each call takes longer.", wgpu.__version__, str(why))
        return PublicCalls(gpu)
