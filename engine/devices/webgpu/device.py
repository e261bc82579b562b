"""The WebGPU device. This folder is the only place that calls wgpu.

    KernelCall ──launches──▶ Launch ──pipelines, bind groups──▶ Dispatch ──one pass, one submit──▶ queue

One thread owns it. An invalid submit does not raise in wgpu-native, it aborts the process: so nothing is destroyed
before the queue has drained, and a buffer is never mapped while a submit that uses it is pending.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import wgpu

from engine.devices.interface import NUMPY_DTYPES, Arena, Device, Limits, Peaks
from engine.devices.ledger import Ledger
from engine.devices.webgpu.adapters import PORTABLE_LIMITS, Adapter, list_adapters
from engine.devices.webgpu.autotune import tuned_variants
from engine.devices.webgpu.calls import Recording, Submission, calls_of
from engine.devices.webgpu.executable import WebGpuExecutable, race
from engine.devices.webgpu.launch import AdapterTraits
from engine.devices.webgpu.launches import scan, scratch_elements
from engine.devices.webgpu.pipelines import Pipelines
from engine.errors import DeviceError, DeviceLostError, MemoryCeilingError
from engine.graph.plan import Plan
from engine.graph.ssd import SsdShape
from engine.graph.tensor import KernelCall, Tensor, aligned

# Logits that a GPU computes at a time: a product over fewer rows leaves most of it idle.  At most
# this part of the memory ceiling.
LOGITS_BYTES, LOGITS_SHARE = 112 * 2**20, 24
_LARGER_LIMITS = ("max-storage-buffer-binding-size", "max-buffer-size")
STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST


class _LossWatch(logging.Handler):
    """wgpu reports a lost device only in its log."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = False

    def emit(self, record: logging.LogRecord) -> None:
        self.lost = self.lost or "device lost" in record.getMessage().lower()


class WebGpuDevice(Device):
    """An adapter opened for computing."""

    name = "webgpu"
    scan_channel_block = scan.CHANNEL_BLOCK

    def __init__(self, adapter: Adapter, ledger: Ledger | None = None, portable: bool = False) -> None:
        """`portable`: only the limits that every implementation guarantees, even where the adapter has more."""
        super().__init__(ledger)
        self.adapter = adapter
        self.description = f"{adapter.description} · WebGPU ({adapter.backend})"
        self.traits = AdapterTraits(software=adapter.software)
        if not adapter.software:
            self.logits_bytes = min(LOGITS_BYTES, self.ledger.ceiling // LOGITS_SHARE)
        limits = dict(PORTABLE_LIMITS)
        if not portable:
            limits |= {name: max(adapter.limits[name], limits[name]) for name in _LARGER_LIMITS}
        self.limits = Limits(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
        self._watch = _LossWatch()
        logging.getLogger("wgpu").addHandler(self._watch)
        try:
            self.gpu = adapter.handle.request_device_sync(label="codecoil", required_limits=limits)
        except (wgpu.GPUError, RuntimeError) as error:
            logging.getLogger("wgpu").removeHandler(self._watch)
            raise DeviceError(
                f"{adapter.description} could not be opened: {error}.", "Choose another device."
            ) from error
        self.calls = calls_of(self.gpu)
        self.pipelines = Pipelines(self.gpu)
        self.nothing = self._raw_buffer(aligned(1), "nothing")  # bound where an optional operand is absent
        self.submits = 0

    # ---- memory

    def _raw_buffer(self, nbytes: int, label: str) -> wgpu.GPUBuffer:
        return self.gpu.create_buffer(label=label, size=max(aligned(nbytes), aligned(1)), usage=STORAGE)

    def _create_buffer(self, nbytes: int, label: str) -> wgpu.GPUBuffer:
        self.check()
        try:
            return self._raw_buffer(nbytes, label)
        except wgpu.GPUError as error:
            if "lost" in str(error).lower():
                raise self.failure("allocating", error) from error
            kind = MemoryCeilingError if isinstance(error, wgpu.GPUOutOfMemoryError) else DeviceError
            raise kind(
                f"{self.description} gives no {nbytes / 2**20:.0f} MiB for {label}: {error}.",
                "Lower the memory ceiling.",
            ) from error

    def _destroy_buffer(self, buffer: wgpu.GPUBuffer) -> None:
        with contextlib.suppress(DeviceLostError):  # nothing uses it after that
            self.synchronize()
        buffer.destroy()

    def write(self, tensor: Tensor, array: np.ndarray) -> None:
        self.check()
        data = np.ascontiguousarray(array, NUMPY_DTYPES[tensor.dtype]).reshape(-1)
        self.write_at(self.buffer_of(tensor.slab), tensor.offset, data)

    def write_at(self, buffer: wgpu.GPUBuffer, offset: int, data: np.ndarray) -> None:
        """Copy into a buffer, in whole words."""
        raw = data.view(np.uint8)
        if raw.size % 4:
            raw = np.concatenate([raw, np.zeros(-raw.size % 4, np.uint8)])
        if raw.size:
            try:
                self.calls.write(buffer, offset, raw)
            except (wgpu.GPUError, RuntimeError) as error:
                raise self.failure("writing", error) from error

    def read(self, tensor: Tensor) -> np.ndarray:
        return self.read_at(self.buffer_of(tensor.slab), tensor.offset, tensor)

    def read_at(self, buffer: wgpu.GPUBuffer, offset: int, tensor: Tensor) -> np.ndarray:
        """Copy a tensor out of a buffer, after everything enqueued before."""
        self.check()
        try:
            raw = self.calls.read(buffer, offset, -(-tensor.nbytes // 4) * 4)
        except (wgpu.GPUError, RuntimeError) as error:
            raise self.failure("reading", error) from error
        return np.frombuffer(raw, NUMPY_DTYPES[tensor.dtype], tensor.size).reshape(tensor.shape).copy()

    # ---- programs

    def _bind(self, plan: Plan, arena: Arena) -> WebGpuExecutable:
        try:
            return WebGpuExecutable(self, plan, arena)
        except (wgpu.GPUError, RuntimeError) as error:
            raise self.failure("preparing a program", error) from error

    def workspace_elements(self, kernel: str, b: int, l: int, d: int, n: int) -> int:
        return scan.workspace_elements(kernel, b, l, d, n, self.traits.software)

    def scratch_elements(self, call: KernelCall) -> int:
        return scratch_elements(call, self.traits)

    def ssd_workspace_elements(self, kernel: str, shape: SsdShape) -> int:
        return 0  # the launches ask for scratch memory

    def submit(self, recording: Recording) -> Submission:
        """Hand one recording to the queue."""
        self.check()
        try:
            submission = self.calls.submit(recording)
        except (wgpu.GPUError, RuntimeError) as error:
            raise self.failure("running", error) from error
        self.submits += 1
        return submission

    def synchronize(self) -> None:
        if not self._watch.lost:
            try:
                self.calls.wait()
            except (wgpu.GPUError, RuntimeError) as error:
                raise self.failure("waiting", error) from error

    def peaks(self, look: Callable[[], None] = lambda: None) -> Peaks:
        from engine.devices.webgpu.peaks import measure_peaks

        return measure_peaks(self, look)

    def tune(self, folder: Path) -> None:
        """Choose among the variants of the matrix product, from the cache in `folder` or by a short race."""
        a = self.adapter
        variants = tuned_variants(
            folder, a.description, a.driver, wgpu.__version__, a.software, lambda launches: race(self, launches)
        )
        self.traits = replace(self.traits, matmul_variants=variants)

    # ---- faults

    @property
    def lost(self) -> bool:
        return self._watch.lost

    def check(self) -> None:
        """Raise if the adapter was lost."""
        if self._watch.lost:
            raise DeviceLostError(
                f"{self.description} was lost.",
                "Open a device again and resume from the last checkpoint; the CPU device always works.",
            )

    def failure(self, doing: str, error: Exception) -> DeviceError:
        """The error to raise for an error from wgpu."""
        if self._watch.lost or "lost" in str(error).lower():
            self._watch.lost = True
            return DeviceLostError(
                f"{self.description} was lost while {doing}.",
                "Open a device again and resume from the last checkpoint.",
            )
        return DeviceError(
            f"{self.description} failed while {doing}: {error}.", "Run `codecoil selftest`, or choose another device."
        )

    def close(self) -> None:
        super().close()
        if self._watch.lost:
            list_adapters.cache_clear()  # the adapter may be gone, or have come back as another
        self.nothing.destroy()
        logging.getLogger("wgpu").removeHandler(self._watch)
        self.gpu.destroy()
