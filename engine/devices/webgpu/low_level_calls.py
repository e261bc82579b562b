"""The calls of `calls`, by the C library beneath wgpu-py. The only place that touches wgpu-py's internals.

Handles and structures are looked up once, errors are caught once for a whole recording, and waiting for one submission
does not wait for those after it. Before the first call, the library is compared with what this was written for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import wgpu
from cffi import CDefError

from engine.devices.webgpu.calls import Calls, Copy, Dispatch, Prepared, Recording, Submission

KEPT_STAGING = 2**20  # bytes of the buffer for reading that is kept for the next time
PATIENCE = 1000  # milliseconds to wait for an answer that should be there
_DECLARATIONS = {
    "wgpuDeviceCreateCommandEncoder": "WGPUCommandEncoder(*)(WGPUDevice, WGPUCommandEncoderDescriptor const *)",
    "wgpuDevicePoll": "WGPUBool(*)(WGPUDevice, WGPUBool, WGPUSubmissionIndex const *)",
    "wgpuCommandEncoderBeginComputePass": (
        "WGPUComputePassEncoder(*)(WGPUCommandEncoder, WGPUComputePassDescriptor const *)"
    ),
    "wgpuCommandEncoderCopyBufferToBuffer": (
        "void(*)(WGPUCommandEncoder, WGPUBuffer, uint64_t, WGPUBuffer, uint64_t, uint64_t)"
    ),
    "wgpuCommandEncoderFinish": "WGPUCommandBuffer(*)(WGPUCommandEncoder, WGPUCommandBufferDescriptor const *)",
    "wgpuCommandEncoderRelease": "void(*)(WGPUCommandEncoder)",
    "wgpuCommandBufferRelease": "void(*)(WGPUCommandBuffer)",
    "wgpuComputePassEncoderSetPipeline": "void(*)(WGPUComputePassEncoder, WGPUComputePipeline)",
    "wgpuComputePassEncoderSetBindGroup": (
        "void(*)(WGPUComputePassEncoder, uint32_t, WGPUBindGroup, size_t, uint32_t const *)"
    ),
    "wgpuComputePassEncoderDispatchWorkgroups": "void(*)(WGPUComputePassEncoder, uint32_t, uint32_t, uint32_t)",
    "wgpuComputePassEncoderEnd": "void(*)(WGPUComputePassEncoder)",
    "wgpuComputePassEncoderRelease": "void(*)(WGPUComputePassEncoder)",
    "wgpuQueueSubmitForIndex": "WGPUSubmissionIndex(*)(WGPUQueue, size_t, WGPUCommandBuffer const *)",
    "wgpuQueueWriteBuffer": "void(*)(WGPUQueue, WGPUBuffer, uint64_t, void const *, size_t)",
    "wgpuBufferMapAsync": "WGPUFuture(*)(WGPUBuffer, WGPUMapMode, size_t, size_t, WGPUBufferMapCallbackInfo)",
    "wgpuBufferGetConstMappedRange": "void const *(*)(WGPUBuffer, size_t, size_t)",
    "wgpuBufferUnmap": "void(*)(WGPUBuffer)",
}
_NUMBERS = ("WGPUMapAsyncStatus_Success", "WGPUMapMode_Read", "WGPUCallbackMode_AllowProcessEvents")
_CALLBACK = "void(*)(WGPUMapAsyncStatus, WGPUStringView, void *, void *)"


class Unexpected(Exception):
    """How wgpu-py differs from what this file was written for."""


class _Step(NamedTuple):
    """A dispatch as the library takes it, and what has to stay alive for it."""

    pipeline: object
    group: object
    offset: object
    grid: tuple[int, int, int]
    alive: tuple


class LowLevelCalls(Calls):
    """Use it from the device's thread."""

    def __init__(self, gpu: wgpu.GPUDevice) -> None:
        self._ffi, self._lib, self._guarded = _library()
        ffi = self._ffi
        self._gpu = gpu
        self._device, self._queue = _typed(ffi, gpu, "WGPUDevice"), _typed(ffi, gpu.queue, "WGPUQueue")
        self._encoder_descriptor = ffi.new("WGPUCommandEncoderDescriptor *")
        self._pass_descriptor = ffi.new("WGPUComputePassDescriptor *")
        self._buffer_descriptor = ffi.new("WGPUCommandBufferDescriptor *")
        self._recordings = ffi.new("WGPUCommandBuffer[1]")
        self._index = ffi.new("WGPUSubmissionIndex *")
        self._staging: wgpu.GPUBuffer | None = None
        answers: list[int] = []  # to requests for a mapping
        self._answers = answers
        # It must not refer to this object, or a closed device would linger.
        self._callback = ffi.callback(_CALLBACK, lambda status, *_others: answers.append(status))
        mode = self._lib.WGPUCallbackMode_AllowProcessEvents
        self._mapping = ffi.new("WGPUBufferMapCallbackInfo *", {"mode": mode, "callback": self._callback})

    # ---- recording

    def prepare(self, dispatches: Sequence[Dispatch]) -> Prepared:
        offsets = self._ffi.new("uint32_t[]", [dispatch.offset for dispatch in dispatches])
        return tuple(
            _Step(_handle(dispatch.pipeline), _handle(dispatch.group), offsets + i, dispatch.grid, (dispatch, offsets))
            for i, dispatch in enumerate(dispatches)
        )

    def record(self, dispatches: Prepared, copies: Sequence[Copy] = ()) -> Recording:
        return self._guarded(self._record, dispatches, copies)

    def _record(self, dispatches: Prepared, copies: Sequence[Copy]) -> Recording:
        lib = self._lib
        encoder = lib.wgpuDeviceCreateCommandEncoder(self._device, self._encoder_descriptor)
        if dispatches:
            self._record_pass(encoder, dispatches)
        for source, offset, target, nbytes in copies:
            lib.wgpuCommandEncoderCopyBufferToBuffer(encoder, _handle(source), offset, _handle(target), 0, nbytes)
        finished = lib.wgpuCommandEncoderFinish(encoder, self._buffer_descriptor)
        lib.wgpuCommandEncoderRelease(encoder)
        return self._ffi.gc(finished, lib.wgpuCommandBufferRelease)

    def _record_pass(self, encoder, dispatches: Prepared) -> None:
        lib = self._lib
        set_pipeline, set_bind_group = lib.wgpuComputePassEncoderSetPipeline, lib.wgpuComputePassEncoderSetBindGroup
        dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
        compute = lib.wgpuCommandEncoderBeginComputePass(encoder, self._pass_descriptor)
        last = None
        for pipeline, group, offset, (x, y, z), _alive in dispatches:
            if pipeline is not last:
                set_pipeline(compute, pipeline)
                last = pipeline
            set_bind_group(compute, 0, group, 1, offset)
            dispatch(compute, x, y, z)
        lib.wgpuComputePassEncoderEnd(compute)
        lib.wgpuComputePassEncoderRelease(compute)

    def submit(self, recording: Recording) -> Submission:
        self._recordings[0] = recording
        index = self._guarded(self._lib.wgpuQueueSubmitForIndex, self._queue, 1, self._recordings)
        self._ffi.release(recording)
        return index

    # ---- memory

    def write(self, buffer: wgpu.GPUBuffer, offset: int, data) -> None:
        raw = self._ffi.from_buffer(data)
        self._guarded(self._lib.wgpuQueueWriteBuffer, self._queue, _handle(buffer), offset, raw, len(raw))

    def read_mapped(self, buffer: wgpu.GPUBuffer, submission: Submission) -> bytearray | memoryview:
        return self._guarded(self._read_mapped, _handle(buffer), buffer.size, submission)

    def _read_mapped(self, handle, nbytes: int, submission: Submission) -> bytearray:
        lib = self._lib
        self._answers.clear()
        lib.wgpuBufferMapAsync(handle, lib.WGPUMapMode_Read, 0, nbytes, self._mapping[0])
        self._poll(submission)
        for _ in range(PATIENCE):
            if self._answers:
                break
            time.sleep(0.001)  # another thread that polls may be about to bring the answer
            self._poll(submission)
        if self._answers != [lib.WGPUMapAsyncStatus_Success]:
            raise RuntimeError(f"a buffer could not be mapped (status {self._answers})")
        content = bytearray(self._ffi.buffer(lib.wgpuBufferGetConstMappedRange(handle, 0, nbytes), nbytes))
        lib.wgpuBufferUnmap(handle)
        return content

    def _poll(self, submission: Submission) -> None:
        self._index[0] = submission
        self._lib.wgpuDevicePoll(self._device, True, self._index)

    def read(self, buffer: wgpu.GPUBuffer, offset: int, nbytes: int) -> bytearray | memoryview:
        staging = self._staging_of(nbytes)
        submission = self.submit(self.record((), [Copy(buffer, offset, staging, nbytes)]))
        content = self._guarded(self._read_mapped, _handle(staging), nbytes, submission)
        if staging is not self._staging:
            staging.destroy()
        return content

    def _staging_of(self, nbytes: int) -> wgpu.GPUBuffer:
        """A buffer that can be read: the kept one, or one for a large reading."""
        usage = wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST
        if nbytes > KEPT_STAGING:
            return self._gpu.create_buffer(label="to read", size=nbytes, usage=usage)
        if self._staging is None:
            self._staging = self._gpu.create_buffer(label="to read", size=KEPT_STAGING, usage=usage)
        return self._staging

    def wait(self) -> None:
        # An empty recording: where the device was lost that raises, while a submission without one ends the process.
        self._guarded(self._poll, self.submit(self.record(())))


def nanoseconds_of_a_tick(queue: wgpu.GPUQueue) -> float | None:
    """Of the clock that timestamps come from; None where the library does not say."""
    try:
        from wgpu.backends.wgpu_native import ffi, lib

        if ffi.typeof(lib.wgpuQueueGetTimestampPeriod) is not ffi.typeof("float(*)(WGPUQueue)"):
            return None
        return float(lib.wgpuQueueGetTimestampPeriod(_handle(queue)))
    except (ImportError, AttributeError, CDefError):
        return None


def _handle(thing):
    """The library's handle behind an object of wgpu-py."""
    return thing._internal


def _typed(ffi, thing, ctype: str):
    """The handle, if it is what it should be."""
    handle = getattr(thing, "_internal", None)
    if not isinstance(handle, ffi.CData) or ffi.typeof(handle) is not ffi.typeof(ctype):
        raise Unexpected(f"a {type(thing).__name__} is no {ctype}")
    return handle


def _library() -> tuple:
    """cffi's interface, the library, and `guarded(function, *arguments)`: a call that raises the last fault of all that
    it calls in turn.
    """
    try:
        from wgpu.backends.wgpu_native import _api, ffi, lib

        for name, declaration in _DECLARATIONS.items():
            if ffi.typeof(getattr(lib, name)) is not ffi.typeof(declaration):
                raise Unexpected(f"{name} takes something else")
        for name in _NUMBERS:
            getattr(lib, name)
        ffi.typeof(_CALLBACK)
        guard: Callable = _api.libf._make_proxy_func
    except (ImportError, AttributeError, CDefError) as why:
        raise Unexpected(str(why)) from why
    return ffi, lib, guard("codecoil", lambda function, *arguments: function(*arguments))
