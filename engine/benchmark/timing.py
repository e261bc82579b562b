"""Seconds of a kernel call on a device, whatever a submit costs there.

A graphics card takes a fraction of a millisecond to be told anything at all, which counts where it has no clock of its
own. So a call is repeated in one run until that hardly matters; on the CPU, where it costs nothing, once is enough.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator

import numpy as np

from engine.devices.interface import Device, Executable
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Kind, Program, Tensor

SUBMIT_SHARE = 0.02  # of a run's time that may be its submit
TIMED = 0.02  # seconds in all, at least
RUNS = 3  # at least; the shortest counts
LONG = 0.5  # seconds after which nothing is run again
MOST_REPEATS = 1024
SNAPSHOT_BYTES = 16 << 20  # what is larger is not put back between two runs

Bind = Callable[[int], Executable]  # an executable that does the call so many times
Restore = Callable[[], None]


class Timer:
    """For one device.  `look` is called before each run and may raise."""

    def __init__(self, device: Device, look: Callable[[], None]) -> None:
        self._device, self._look = device, look
        x = Tensor("x", (1,), kind=Kind.WORKSPACE)
        nothing = Program("nothing to do", [KernelCall("fill", (x.view(),), {"value": 0.0})])
        with contextlib.closing(device.compile(nothing)) as executable:
            submit = min(self._timed(executable) for _ in range(10))
        self._least = submit / SUBMIT_SHARE

    def seconds(self, bind: Bind, restore: Restore) -> float:
        """`restore` puts back what the call changes: some kernels work in place, and would end at zero or infinity."""
        repeats = 1
        while True:
            with contextlib.closing(bind(repeats)) as executable:
                self._timed(executable)  # compiles
                restore()
                taken = self._timed(executable)
                if taken >= self._least or repeats == MOST_REPEATS:
                    return self._shortest(executable, restore, taken) / repeats
            repeats = min(MOST_REPEATS, max(2 * repeats, math.ceil(1.2 * repeats * self._least / taken)))

    def _shortest(self, executable: Executable, restore: Restore, taken: float) -> float:
        times = [taken]
        while sum(times) < LONG and (len(times) < RUNS or sum(times) < TIMED):
            restore()
            times.append(self._timed(executable))
        return min(times)

    def _timed(self, executable: Executable) -> float:
        self._look()
        return executable.timed_run()


CallKey = tuple[str, tuple]


def call_key(call: KernelCall) -> CallKey:
    """The same for calls that take the same time: kernel, shapes and switches."""
    shapes = tuple(None if view is None else view.shape for view in call.operands)
    switches = tuple((name, call.numbers[name]) for name in sorted(call.numbers) if name == "accumulate")
    return call.kernel, (shapes, switches)


def walk(
    device: Device, timer: Timer, executable: Executable, inputs: dict[str, np.ndarray], in_turns: bool = False
) -> Iterator[tuple[KernelCall, float]]:
    """Run a bound program from its start to its end, and on the way time each call of a kind not seen before.

    Every call has the operands that it has in the program, ids and places included: a kernel that looks something up
    finds what it expects. `in_turns`: all calls of a kind take turns, so that each layer's weights come from memory and
    not from a cache that the last repetition has filled. Only for a program whose whole numbers are inputs that its
    first call uses, or every layer: later layers write where others' values may still be wanted.
    """
    calls, seen, done = executable.plan.program.calls, set(), 0
    _run_part(device, executable, Program("inputs", [], dict(executable.plan.program.inputs)), inputs)
    for number, call in enumerate(calls):
        if call_key(call) in seen:
            continue
        seen.add(call_key(call))
        _run_part(device, executable, Program("up to the next", calls[done:number]), {})
        done = number
        alike = [other for other in calls if call_key(other) == call_key(call)] if in_turns else [call]
        with _kept(device, executable, alike) as restore:
            yield call, timer.seconds(_binder(device, executable, alike), restore) / len(alike)


def _binder(device: Device, executable: Executable, alike: list[KernelCall]) -> Bind:
    return lambda repeats: device.compile_part(executable, Program(alike[0].kernel, alike * repeats))


def _run_part(device: Device, executable: Executable, program: Program, inputs: dict[str, np.ndarray]) -> None:
    with contextlib.closing(device.compile_part(executable, program)) as part:
        part.run(inputs)


@contextlib.contextmanager
def _kept(device: Device, executable: Executable, calls: list[KernelCall]) -> Iterator[Restore]:
    """What puts the operands back that `calls` change, and has put them back at the end."""
    changed = {
        view.tensor
        for call in calls
        for view, operand in zip(call.operands, KERNELS[call.kernel].operands, strict=True)
        if view is not None and operand.access == "x" and view.tensor.nbytes <= SNAPSHOT_BYTES
    }
    tensors = {str(number): tensor for number, tensor in enumerate(changed)}
    with contextlib.closing(device.compile_part(executable, Program("putting back", [], tensors, tensors))) as part:
        arrays = {name: part.read(name) for name in tensors}
        yield lambda: part.run(arrays)
        part.run(arrays)
