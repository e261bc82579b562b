"""What a device is: memory by slab, programs compiled to executables, and a ledger. No device is implemented here.

A device belongs to the thread that opened it. `allocate` gives a slab its memory, `compile` plans a program's arena
and binds its calls, `run` enqueues it; `interludes` may be taken in the middle of it. Reading waits for what was
enqueued before.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from engine.devices.interludes import Interludes
from engine.devices.ledger import Ledger
from engine.errors import InputError
from engine.graph.fusion import unfused
from engine.graph.plan import Plan, make_plan, shared_arena
from engine.graph.tensor import DTYPE_BYTES, KernelCall, Kind, Program, Slab, Tensor

NUMPY_DTYPES = {
    "float32": np.dtype(np.float32),
    "int32": np.dtype(np.int32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(np.uint16),  # NumPy has no bfloat16: its bits
}
assert all(NUMPY_DTYPES[name].itemsize == nbytes for name, nbytes in DTYPE_BYTES.items())


@dataclass(frozen=True)
class Limits:
    """Upper limits of a single tensor and a single allocation, in bytes."""

    max_binding_bytes: int
    max_buffer_bytes: int


@dataclass(frozen=True)
class Peaks:
    """What a device does at most, measured without any kernel of the engine: of operations a multiplication is one, and
    so is an addition; of bytes what is read and what is written.
    """

    flops_per_second: float
    bytes_per_second: float


class Device(ABC):
    name: str  # "cpu", "webgpu"
    description: str  # for people: the adapter's name, or the processor and its threads
    limits: Limits
    scan_channel_block: int  # channels whose d_B and d_C are summed in one row of partial sums
    logits_bytes: int = 0  # of logits held at a time to keep the device busy; 0: no more than a cache takes

    latency_bound = False
    """Whether waiting for a run costs more than computing a few tokens that may not be wanted."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger()
        self.interludes = Interludes()
        self._slabs: dict[Slab, object] = {}
        self.arenas: list[Arena] = []

    # ---- memory

    def allocate(self, slabs: Iterable[Slab]) -> None:
        """Give each of `slabs` zeroed memory; if one does not fit, none gets any."""
        done: list[Slab] = []
        try:
            for slab in slabs:
                self.ledger.reserve({slab.kind: slab.nbytes}, f"{slab.name} ({slab.kind})")
                try:
                    self._slabs[slab] = self._create_buffer(slab.nbytes, slab.name)
                except BaseException:
                    self.ledger.release({slab.kind: slab.nbytes})
                    raise
                done.append(slab)
        except BaseException:
            self.release(done)
            raise

    def release(self, slabs: Iterable[Slab]) -> None:
        """Free the memory of `slabs`; their tensors may no longer be used.  One without memory is skipped."""
        for slab in slabs:
            if slab in self._slabs:
                self._destroy_buffer(self._slabs.pop(slab))
                self.ledger.release({slab.kind: slab.nbytes})

    def buffer_of(self, slab: Slab) -> object:
        """The memory behind a slab."""
        return self._slabs[slab]

    @abstractmethod
    def _create_buffer(self, nbytes: int, label: str) -> object: ...

    @abstractmethod
    def _destroy_buffer(self, buffer: object) -> None: ...

    @abstractmethod
    def write(self, tensor: Tensor, array: np.ndarray) -> None:
        """Copy `array` into a tensor of a slab."""

    @abstractmethod
    def read(self, tensor: Tensor) -> np.ndarray:
        """A copy of a tensor of a slab, after everything enqueued before."""

    def write_halves(self, tensor: Tensor, halves: np.ndarray) -> None:
        """Copy float16, or bfloat16 as uint16 bits, into a float32 tensor of a slab: half the bytes to transfer."""
        dtype = "float16" if halves.dtype == np.float16 else "bfloat16"
        source = Tensor("halves", (tensor.size,), dtype, Kind.WORKSPACE)
        program = Program("loading of weights", inputs={"halves": source})
        program.calls.append(KernelCall(f"widen_{dtype}", (source.view(), tensor.view(shape=(tensor.size,))), {}))
        executable = self.compile(program)
        try:
            executable.run({"halves": halves.reshape(-1)})
        finally:
            executable.close()

    # ---- programs

    def plan(self, program: Program) -> Plan:
        """The arena that `program` would need here."""
        recorded, program = program, self.lowered(program)
        wanted = {index: self.scratch_elements(call) for index, call in enumerate(program.calls)}
        scratch = {
            index: Tensor("scratch", (elements,), kind=Kind.WORKSPACE) for index, elements in wanted.items() if elements
        }
        plan = make_plan(program, self.limits.max_binding_bytes, self.limits.max_buffer_bytes, scratch)
        return replace(plan, recorded=recorded)

    def lowered(self, program: Program) -> Program:
        """The program as it runs here: in other kernels where the device has better ones, or lacks some."""
        return unfused(program, lambda call: False)

    def compile(self, program: Program) -> Executable:
        """Allocate the program's arena and bind its calls."""
        (executable,) = self.compile_together([program])
        return executable

    def compile_together(self, programs: Sequence[Program], later: Sequence[Program] = ()) -> list[Executable]:
        """Bind programs that run one after another to one arena; each run overwrites what the last one left there.

        `later`: programs that the arena leaves room for, and that `compile_beside` binds when needed.
        """
        arena = Arena(self, [self.plan(program) for program in (*programs, *later)])
        try:
            return [self._bind(plan, arena) for plan in arena.plans[: len(programs)]]
        except BaseException:
            arena.close()
            raise

    def compile_beside(self, executable: Executable, program: Program) -> Executable:
        """Bind a program for which the arena of `executable` has room; one that needs more gets an arena of its own."""
        plan = next((plan for plan in executable.arena.plans if plan.recorded is program), None) or self.plan(program)
        return self._bind(plan, executable.arena if executable.arena.has_room_for(plan) else Arena(self, [plan]))

    def compile_part(self, executable: Executable, program: Program) -> Executable:
        """Bind calls on tensors of another program, which has them where `executable` does; for the benchmark."""
        return self._bind(replace(executable.plan, program=program), executable.arena)

    @abstractmethod
    def _bind(self, plan: Plan, arena: Arena) -> Executable: ...

    @abstractmethod
    def workspace_elements(self, kernel: str, b: int, l: int, d: int, n: int) -> int:
        """Floats of scratch memory that a scan kernel needs here; 0 for none."""

    def scratch_elements(self, call: KernelCall) -> int:
        """Floats that a call needs for itself while it runs, besides its operands."""
        return 0

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything enqueued is done."""

    @abstractmethod
    def peaks(self, look: Callable[[], None] = lambda: None) -> Peaks:
        """Measured now, in about a second; `look` is called before each run and may raise."""

    @property
    def lost(self) -> bool:
        """Whether the device is gone for good, with all that was on it: close it, and open one anew."""
        return False

    def close(self) -> None:
        """Free all memory."""
        for arena in list(self.arenas):
            arena.close()
        self.release(list(self._slabs))


class Arena:
    """The memory pages that a group of programs works in; freed with the last of them."""

    def __init__(self, device: Device, plans: list[Plan]) -> None:
        self.plans, self._device = plans, device
        page_bytes, self._by_kind = shared_arena(plans)
        names = " and ".join(dict.fromkeys(plan.program.name for plan in plans))
        self._page_bytes = page_bytes
        device.ledger.reserve(self._by_kind, f"The working memory of the {names}")
        self.pages: list[object] = []
        self.users: set[Executable] = set()
        device.arenas.append(self)
        try:
            for index, nbytes in enumerate(page_bytes):
                self.pages.append(device._create_buffer(nbytes, f"{names}, arena {index}"))
        except BaseException:
            self.close()
            raise

    def has_room_for(self, plan: Plan) -> bool:
        sizes = zip_longest(plan.page_bytes, self._page_bytes, fillvalue=0)
        return all(wanted <= there for wanted, there in sizes)

    def close(self) -> None:
        """Close the programs that use it, and free the pages."""
        if self not in self._device.arenas:
            return
        self._device.arenas.remove(self)
        for executable in list(self.users):
            executable.close()
        for page in self.pages:
            self._device._destroy_buffer(page)
        self._device.ledger.release(self._by_kind)


class Executable(ABC):
    """A program bound to memory: write the inputs, run, read the outputs."""

    def __init__(self, device: Device, plan: Plan, arena: Arena) -> None:
        self.device, self.plan, self.arena = device, plan, arena
        arena.users.add(self)

    def locate(self, tensor: Tensor) -> tuple[object, int]:
        """The buffer that holds `tensor`, and its byte offset there."""
        if tensor.slab is not None:
            return self.device.buffer_of(tensor.slab), tensor.offset
        placement = self.plan.placements[tensor]
        return self.arena.pages[placement.page], placement.offset

    def run(self, inputs: dict[str, np.ndarray]) -> None:
        """Write `inputs` by name, then enqueue every call."""
        if set(inputs) != set(self.plan.program.inputs):
            raise InputError(
                f"{self.plan.program.name} takes the inputs {sorted(self.plan.program.inputs)}, not {sorted(inputs)}."
            )
        self._run({name: self._checked(name, array) for name, array in inputs.items()})

    def _checked(self, name: str, array: np.ndarray) -> np.ndarray:
        tensor = self.plan.program.inputs[name]
        if tuple(array.shape) != tensor.shape:
            raise InputError(
                f"Input {name} of {self.plan.program.name} has shape {array.shape}; it must be {tensor.shape}."
            )
        return np.ascontiguousarray(array, dtype=NUMPY_DTYPES[tensor.dtype])

    @abstractmethod
    def _run(self, inputs: dict[str, np.ndarray]) -> None: ...

    def timed_run(self) -> float:
        """Run a program without inputs, wait for it, and return the seconds that it kept the device busy."""
        self.device.synchronize()
        began = time.perf_counter()
        self.run({})
        self.device.synchronize()
        return time.perf_counter() - began

    @abstractmethod
    def read(self, name: str) -> np.ndarray:
        """A copy of an output."""

    @abstractmethod
    def read_later(self, name: str) -> Callable[[], np.ndarray]:
        """Capture an output's value as of now; the returned function waits for it.

        So a step can be enqueued before the last one is read.
        """

    def close(self) -> None:
        """Release the arena."""
        self.arena.users.discard(self)
        if not self.arena.users:
            self.arena.close()
