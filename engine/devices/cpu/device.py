"""The CPU device: NumPy's BLAS for products, Numba for the rest.  Runs at once, in the calling thread, on all cores."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import numba
import numpy as np

from engine.devices.cpu import attention, choosing, layers, mixture, scan, ssd, updates
from engine.devices.cpu.grouped_products import GroupedProducts
from engine.devices.cpu.products import Products
from engine.devices.cpu.replay import Crew, Replay, is_replayed
from engine.devices.interface import NUMPY_DTYPES, Arena, Device, Executable, Limits, Peaks
from engine.devices.interludes import calls_before_weights
from engine.devices.ledger import Ledger
from engine.errors import InputError, MemoryCeilingError
from engine.graph.fused_kernels import FUSED
from engine.graph.kernels import FEW_TOKENS, KERNELS
from engine.graph.plan import Plan
from engine.graph.tensor import KernelCall, Tensor, View

_CACHE_LINE = 64
_NOTHING = np.empty(0, np.float32)
_TURNS = threading.Lock()
"""Kernels of several threads take turns: without OpenMP (a Mac, a bare Linux) Numba has a thread pool of its own, and
which aborts the process when two threads use it at once."""


def _find(name: str) -> Callable:
    """The function of that name that one of the kernel modules defines (not: imports)."""
    for module in (layers, choosing, attention, mixture, scan, ssd, updates):
        function = getattr(module, name, None)
        if function is not None and function.__module__ == module.__name__:
            return function
    raise LookupError(name)


PRODUCTS = ("matmul_nt", "matmul_nn", "matmul_tn")
GROUPED = ("grouped_nt", "grouped_nn", "grouped_tn")
REPLAYED_ONLY = (
    "carry_history",
    "carry_state",
    "causal_conv_silu_tokens",
    "selective_scan_tokens",
    "ssd_tokens",
    "matmul_nt_float16",
    "matmul_nt_int8",
    "argmax",
    "top_k",
    "expert_rows_nt",
    "expert_rows_nt_float16",
    "expert_rows_nt_int8",
)
KERNEL_FUNCTIONS: dict[str, Callable] = {
    name: _find(name) for name in KERNELS if name not in (*PRODUCTS, *GROUPED, *REPLAYED_ONLY, *FUSED)
}


class CpuDevice(Device):
    """Every laptop has one.  It is also what every other device is checked against."""

    name = "cpu"
    limits = Limits(max_binding_bytes=2**62, max_buffer_bytes=2**62)
    scan_channel_block = scan.CHANNELS

    def __init__(self, ledger: Ledger | None = None) -> None:
        super().__init__(ledger)
        self.threads = numba.get_num_threads()
        self._products = Products(self.threads)
        self._grouped = GroupedProducts(self._products)
        self.crew = Crew(self.threads)
        self.description = f"CPU, {self.threads} threads"

    def _create_buffer(self, nbytes: int, label: str) -> np.ndarray:
        try:
            room = np.zeros(nbytes + _CACHE_LINE, np.uint8)
        except MemoryError as error:
            raise MemoryCeilingError(
                f"There is not enough memory for {label} ({nbytes / 2**20:.0f} MiB).",
                "Close other programs or lower the memory ceiling.",
            ) from error
        start = -room.ctypes.data % _CACHE_LINE
        return room[start : start + nbytes]

    def _destroy_buffer(self, buffer: np.ndarray) -> None:
        """NumPy frees it with its last reference."""

    def array(self, tensor: Tensor) -> np.ndarray:
        """A tensor of a slab as a NumPy array on the same memory."""
        return _as_array(self.buffer_of(tensor.slab), tensor.offset, tensor)

    def write(self, tensor: Tensor, array: np.ndarray) -> None:
        self.array(tensor)[...] = array

    def read(self, tensor: Tensor) -> np.ndarray:
        return self.array(tensor).copy()

    def kernel(self, name: str) -> Callable:
        """The function of that name."""
        if name in REPLAYED_ONLY:
            raise InputError(f"{name} takes at most {FEW_TOKENS} rows at a time.")
        if name in GROUPED:
            return getattr(self._grouped, name)
        return getattr(self._products, name) if name in PRODUCTS else KERNEL_FUNCTIONS[name]

    def _bind(self, plan: Plan, arena: Arena) -> CpuExecutable:
        return CpuExecutable(self, plan, arena)

    def workspace_elements(self, kernel: str, b: int, l: int, d: int, n: int) -> int:
        return scan.backward_workspace(n, self.threads) if kernel == "selective_scan_backward" else 0

    def scratch_elements(self, call: KernelCall) -> int:
        return ssd.backward_scratch(call.operands[3].shape) if call.kernel == "ssd_backward" else 0

    def synchronize(self) -> None:
        """Nothing is ever pending."""

    def peaks(self, look: Callable[[], None] = lambda: None) -> Peaks:
        from engine.devices.cpu.peaks import measure_peaks

        return measure_peaks(self, look)

    def close(self) -> None:
        super().close()
        self._products.close()
        self.crew.close()


class CpuExecutable(Executable):
    """Kernel functions with their arrays, in order; calls with few rows are replayed together."""

    def __init__(self, device: CpuDevice, plan: Plan, arena: Arena) -> None:
        super().__init__(device, plan, arena)
        self.bound: list[tuple[Callable, tuple]] = []
        self._begins: list[int] = []  # the number of the first call of each of them
        self._last_interlude = calls_before_weights(plan.program.calls)
        for replayed, numbered in itertools.groupby(enumerate(plan.program.calls), lambda each: is_replayed(each[1])):
            numbers, calls = zip(*numbered, strict=True)
            if replayed:
                self.bound.append((Replay(list(calls), self._address, device.crew), ()))
                self._begins.append(numbers[0])
            else:
                for call in calls:
                    self.bound.append((device.kernel(call.kernel), self._arguments(call, plan.scratch_of(call))))
                self._begins += numbers

    def _arguments(self, call: KernelCall, scratch: Tensor | None) -> tuple:
        """Operands, scratch memory where the kernel asks for some, and numbers."""
        signature = KERNELS[call.kernel]
        arguments: list = []
        for view, spec in zip(call.operands, signature.operands, strict=True):
            if (
                spec.strided
            ):  # the elements from the first one on, and the distance of rows: Numba then sees unit strides
                arguments += [_NOTHING, 0] if view is None else [self._flat(view), view.stride]
            elif view is None:
                arguments.append(np.empty((0,) * spec.rank, NUMPY_DTYPES[spec.dtype]))
            else:
                arguments.append(self._view(view))
        if scratch is not None:
            arguments.append(self._flat(scratch.view()))
        return (*arguments, *(call.numbers[name] for name in signature.numbers))

    def _address(self, view: View) -> int:
        return self._flat(view).ctypes.data

    def _flat(self, view: View) -> np.ndarray:
        buffer, offset = self.locate(view.tensor)
        return _as_array(buffer, offset, view.tensor).reshape(-1)[view.offset :]

    def _view(self, view: View) -> np.ndarray:
        flat = self._flat(view)
        if view.contiguous:
            return flat[: view.size].reshape(view.shape)
        return np.lib.stride_tricks.as_strided(flat, view.shape, (view.stride * flat.itemsize, flat.itemsize))

    def _run(self, inputs: dict[str, np.ndarray]) -> None:
        for name, array in inputs.items():
            self._tensor(name, self.plan.program.inputs)[...] = array
        for begin, (function, arguments) in zip(self._begins, self.bound, strict=True):
            if begin <= self._last_interlude:
                self.device.interludes.take()
            with _TURNS:
                function(*arguments)

    def _tensor(self, name: str, tensors: dict[str, Tensor]) -> np.ndarray:
        return _as_array(*self.locate(tensors[name]), tensors[name])

    def read(self, name: str) -> np.ndarray:
        return self._tensor(name, self.plan.program.outputs).copy()

    def read_later(self, name: str) -> Callable[[], np.ndarray]:
        value = self.read(name)
        return lambda: value

    def close(self) -> None:
        self.bound = []
        super().close()


def _as_array(buffer: np.ndarray, offset: int, tensor: Tensor) -> np.ndarray:
    return buffer[offset : offset + tensor.nbytes].view(NUMPY_DTYPES[tensor.dtype]).reshape(tensor.shape)
