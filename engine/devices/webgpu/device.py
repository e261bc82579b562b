"""The WebGPU device. This folder is the only place that calls wgpu.

    KernelCall ──launches──▶ Launch ──pipelines, bind groups──▶ Dispatch ──one pass, one submit──▶ queue

One thread owns it. An invalid submit does not raise in wgpu-native, it aborts the process: so nothing is destroyed
before the queue has drained, and a buffer is never mapped while a submit that uses it is pending.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import wgpu

from engine.devices.interface import NUMPY_DTYPES, Arena, Device, Limits, Peaks
from engine.devices.ledger import Ledger
from engine.devices.webgpu.adapters import PORTABLE_LIMITS, Adapter, list_adapters
from engine.devices.webgpu.autotune import Progress, Tuning, tuned
from engine.devices.webgpu.calls import Dispatch, Recording, Submission, calls_of
from engine.devices.webgpu.executable import Bench, WebGpuExecutable
from engine.devices.webgpu.launch import AdapterTraits
from engine.devices.webgpu.launches import scan, scratch_elements
from engine.devices.webgpu.launches.fused import takes
from engine.devices.webgpu.pipelines import Pipelines
from engine.devices.webgpu.stopwatch import FEATURE, Stopwatch
from engine.errors import DeviceError, DeviceLostError, MemoryCeilingError
from engine.graph.fusion import fused, unfused
from engine.graph.plan import Plan
from engine.graph.tensor import KernelCall, Program, Tensor, aligned

LOGITS_SHARE = 24  # the part of the memory ceiling that the logits computed at a time may be, at most
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
        """`portable`: only the limits that every implementation guarantees, even where the adapter has more, and no
        features.
        """
        super().__init__(ledger)
        self.adapter = adapter
        self.description = f"{adapter.description} · WebGPU ({adapter.backend})"
        self.traits = AdapterTraits(software=adapter.software)
        self._use(Tuning())
        limits = dict(PORTABLE_LIMITS)
        if not portable:
            limits |= {name: max(adapter.limits[name], limits[name]) for name in _LARGER_LIMITS}
        self.limits = Limits(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
        self._watch = _LossWatch()
        logging.getLogger("wgpu").addHandler(self._watch)
        features = [FEATURE] if FEATURE in adapter.features and not portable else []
        try:
            self.gpu = adapter.handle.request_device_sync(
                label="codecoil", required_limits=limits, required_features=features
            )
        except (wgpu.GPUError, RuntimeError) as error:
            logging.getLogger("wgpu").removeHandler(self._watch)
            raise DeviceError(
                f"{adapter.description} could not be opened: {error}.", "Choose another device."
            ) from error
        self.calls = calls_of(self.gpu)
        self.pipelines = Pipelines(self.gpu)
        self.nothing = self._raw_buffer(aligned(1), "nothing")  # bound where an optional operand is absent
        self.submits = 0
        self._stopwatch = Stopwatch(self.gpu) if features else None

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
        return scan.workspace_elements(kernel, b, l, d, n, self.traits)

    def lowered(self, program: Program) -> Program:
        return unfused(fused(program, takes), takes)

    def scratch_elements(self, call: KernelCall) -> int:
        return scratch_elements(call, self.traits)

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

    def busy_seconds(self, parts: Sequence[Sequence[Dispatch]]) -> float | None:
        """Run dispatches, each part in a submit of its own, and say how long the GPU was busy; None without a clock."""
        self.check()
        if self._stopwatch is None:
            return None
        try:
            return self._stopwatch.seconds(parts)
        except (wgpu.GPUError, RuntimeError) as error:
            raise self.failure("measuring", error) from error

    def peaks(self, look: Callable[[], None] = lambda: None) -> Peaks:
        from engine.devices.webgpu.peaks import measure_peaks

        return measure_peaks(self, look)

    def tune(self, folder: Path, progress: Progress = lambda *_: None) -> None:
        """Choose what is fastest here, as measured before and kept in `folder`, or now in some seconds.

        `progress` may raise: then the device is as it was, and nothing is kept.
        """
        bench = Bench(self)
        identity = (self.adapter.description, self.adapter.driver, wgpu.__version__)
        try:
            self._use(tuned(folder, identity, self.adapter.software, bench, progress))
        finally:
            bench.clear()

    def _use(self, tuning: Tuning) -> None:
        self.traits = replace(
            self.traits,
            matmul_variants=tuning.matmul_variants,
            few_lanes=tuning.few_lanes,
            row_lanes=tuning.row_lanes,
        )
        if not self.adapter.software:
            self.logits_bytes = min(tuning.logits_bytes, self.ledger.ceiling // LOGITS_SHARE)

    @property
    def latency_bound(self) -> bool:
        return not self.traits.software

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
        if self._stopwatch is not None:
            self._stopwatch.close()
        logging.getLogger("wgpu").removeHandler(self._watch)
        self.gpu.destroy()
