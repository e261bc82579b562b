"""The whole benchmark of one device within a time, the most telling parts first.

    limits ─▶ kernels of the small model ─▶ its tokens per second ─▶ larger models ─▶ kernels that none of them has

Whatever fails or finds no time left is named in the result; the rest is measured all the same.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.benchmark.machine import describe, without_private
from engine.benchmark.results import Benchmark, KernelTime, Omission, Speed
from engine.benchmark.timing import Timer, call_key, walk
from engine.benchmark.workloads import WORKLOADS, Training, Workload
from engine.devices import Device, choose_device, open_device
from engine.devices.sample_parts import Sizes
from engine.devices.samples import make_sample
from engine.devices.single_kernel import sample_program
from engine.errors import CodecoilError, DeviceLostError
from engine.graph.cost import moved_bytes, operations, shape_words
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall
from engine.session.machine_speed import decoding_speed
from engine.train.trial import layered_speed, trial_speed

SECONDS = 300.0
SAMPLE_SIZES = Sizes(b=2, l=256, m=256, d=512, n=16, r=16, k=4, v=8192)
FOR_SAMPLES = 0.15  # of the time, kept for the kernels that no model here has
EFFICIENCY = 0.25  # of a device's limits that is expected of kernels
RUNS = 6  # of every call, about: the program once, and each kind several times
MOST_OF_THE_REST = 0.5  # of the time left that one workload is expected to take at most
SPEED_SECONDS = 1.0  # of steps that are timed
LAYERED_ABOVE = 20_000_000  # weights of a model of which only a few layers are tried
NO_TIME = "there was not enough time"

Report = Callable[[Benchmark, int, int, str], None]  # so far, parts done, of how many, what is next
Measured = tuple[KernelCall, float]


class _OutOfTime(Exception):
    """A part has used up what it may take."""


def measure(
    name: str = "auto",
    *,
    seconds: float = SECONDS,
    ceiling: int | None = None,
    report: Report = lambda result, done, total, what: None,
    look: Callable[[], None] = lambda: None,
    workloads: Sequence[Workload] = WORKLOADS,
    sizes: Sizes = SAMPLE_SIZES,
) -> Benchmark:
    """Measure a device by name, and the CPU beside it.

    `report` gets what was measured so far, before each part and before each kernel, and last when `look`, which is
    called often, has raised: whoever cancels keeps it.
    """
    info = choose_device(name).info
    with contextlib.ExitStack() as stack:
        device = stack.enter_context(contextlib.closing(open_device(info.name, ceiling=ceiling)))
        cpu = None
        if info.name != "cpu":
            cpu = stack.enter_context(contextlib.closing(open_device("cpu", ceiling=ceiling)))
        run = _Run(device, cpu, Benchmark(describe(info)), seconds, report, look)
        return run.all(workloads, sizes)


@dataclass(frozen=True)
class _Part:
    """What is done, in words, and how."""

    what: str
    do: Callable[[], None]


class _Run:
    def __init__(
        self,
        device: Device,
        cpu: Device | None,
        result: Benchmark,
        seconds: float,
        report: Report,
        look: Callable[[], None],
    ) -> None:
        self._device, self._cpu, self._result = device, cpu, result
        self._report, self._look_outside = report, look
        self._began = time.monotonic()
        self._end = self._began + seconds
        self._end_of_models = self._began + (1 - FOR_SAMPLES) * seconds
        self._deadline = self._end
        self._timer: Timer | None = None
        self._done, self._total = 0, 0  # parts

    def all(self, workloads: Sequence[Workload], sizes: Sizes) -> Benchmark:
        parts = [_Part("What the device can do at most", self._limits)]
        for number, workload in enumerate(workloads):
            parts.append(_Part(workload.name, lambda workload=workload: self._workload(workload)))
            if all(other.model != workload.model for other in workloads[number + 1 :]):
                parts += self._speed_parts([each for each in workloads if each.model == workload.model])
        parts.append(_Part("The other kernels", lambda: self._samples(sizes)))
        self._total = len(parts)
        try:
            for self._done, part in enumerate(parts):
                self._tell(part.what)
                self._deadline = self._end if part is parts[-1] else self._end_of_models
                self._do(part)
            self._add(finished=True)
        finally:
            self._done = self._total
            self._tell("")
        return self._result

    def _tell(self, what: str) -> None:
        self._add()
        self._report(self._result, self._done, self._total, what)

    def _do(self, part: _Part) -> None:
        try:
            part.do()
        except _OutOfTime:
            self._omit(part.what, NO_TIME)
        except DeviceLostError:
            raise  # nothing that follows could be measured
        except CodecoilError as error:
            self._omit(part.what, without_private(error.message))
        except MemoryError:
            self._omit(part.what, "there was not enough memory")

    def _look(self) -> None:
        self._look_outside()
        if time.monotonic() > self._deadline:
            raise _OutOfTime

    def _add(self, **changes) -> None:
        self._result = replace(self._result, seconds=time.monotonic() - self._began, **changes)

    def _omit(self, what: str, why: str) -> None:
        self._add(omitted=(*self._result.omitted, Omission(what, why)))

    # ---- the parts

    def _limits(self) -> None:
        self._add(peaks=self._device.peaks(self._look))
        if self._cpu is not None:
            self._add(cpu_peaks=self._cpu.peaks(self._look))

    def _workload(self, workload: Workload) -> None:
        self._look()
        fitting = self._fitting(workload)
        if fitting is None:
            self._omit(workload.name, NO_TIME)
            return
        measured: list[Measured] = []
        try:
            with fitting.to_run().opened(self._device) as (executable, inputs):
                for call, seconds in walk(self._device, self._timing, executable, inputs, fitting.in_turns):
                    measured.append((call, seconds))
                    self._tell(f"{fitting.name}: {call.kernel} measured")
        except _OutOfTime:
            self._omit(f"{fitting.name}: the last kernels", NO_TIME)
        finally:
            rows = kernel_times(fitting, self._device.lowered(fitting.program(self._device)).calls, measured)
            self._add(kernels=(*self._result.kernels, *rows))

    def _fitting(self, workload: Workload | None) -> Workload | None:
        """The workload, or the largest one like it that the time allows; None where even the smallest takes longer."""
        left = self._deadline - time.monotonic()
        while workload is not None:
            calls = workload.to_run().program(self._device).calls
            if self._expected(calls, workload.keys) < MOST_OF_THE_REST * left:
                return workload
            workload = workload.smaller()
        return None

    def _expected(self, calls: Sequence[KernelCall], keys: float) -> float:
        """Seconds that a walk through `calls` is expected to take; 0 where the limits are not known."""
        peaks = self._result.peaks
        if peaks is None:
            return 0.0
        ideal = sum(
            max(operations(call, keys) / peaks.flops_per_second, moved_bytes(call, keys) / peaks.bytes_per_second)
            for call in calls
        )
        return RUNS * ideal / EFFICIENCY

    def _speed_parts(self, workloads: Sequence[Workload]) -> list[_Part]:
        """Tokens per second of a model in training and decoding, on the device and the CPU."""
        first_of_task: dict[str, Workload] = {}
        for each in workloads:
            first_of_task.setdefault(task_of(each), each)
        parts = []
        for workload in first_of_task.values():
            for device in filter(None, (self._device, self._cpu)):
                parts.append(
                    _Part(
                        f"{workload.model}, tokens per second of {task_of(workload)} on the "
                        + ("CPU" if device.name == "cpu" else "device"),
                        lambda workload=workload, device=device: self._speed(workload, device),
                    )
                )
        return parts

    def _speed(self, workload: Workload, device: Device) -> None:
        self._look()
        if isinstance(workload, Training):
            speed = self._training_speed(workload, device)
        else:
            speed = decoding_speed(workload.config, device, self._look)
        task = task_of(workload)
        speeds = {(each.model, each.task): each for each in self._result.speeds}
        known = speeds.get((workload.model, task), Speed(workload.model, task))
        changed = replace(known, device=speed) if device is self._device else replace(known, cpu=speed)
        speeds[workload.model, task] = changed
        self._add(speeds=tuple(speeds.values()))

    def _training_speed(self, workload: Training, device: Device) -> float:
        how = {"seconds": SPEED_SECONDS, "check": self._look}
        if workload.config.parameter_count > LAYERED_ABOVE:
            return layered_speed(workload.config, device, "full", **how)
        return trial_speed(workload.config, device, "full", workload.rows, workload.length, least_steps=2, **how)

    def _samples(self, sizes: Sizes) -> None:
        """Every kernel that was not measured yet and that the device has, on a sample."""
        known = {row.kernel for row in self._result.kernels}
        left = [kernel for kernel in KERNELS if kernel not in known and self._has(kernel, sizes)]
        try:
            for kernel in tuple(left):
                self._look()
                self._add(kernels=(*self._result.kernels, self._sample(kernel, sizes)))
                left.remove(kernel)
                self._tell(f"The other kernels: {kernel} measured")
        except _OutOfTime:
            self._omit(", ".join(left), NO_TIME)

    def _has(self, kernel: str, sizes: Sizes) -> bool:
        """Whether it is a kernel of its own there, or done by others."""
        program, _ = sample_program(self._device, make_sample(kernel, sizes))
        return self._device.lowered(program) is program

    def _sample(self, kernel: str, sizes: Sizes) -> KernelTime:
        sample = replace(make_sample(kernel, sizes), beside={})  # contiguous, as a model has it
        program, inputs = sample_program(self._device, sample)
        with contextlib.closing(self._device.compile(program)) as executable:
            ((call, seconds),) = walk(self._device, self._timing, executable, inputs)
        return kernel_time(call, seconds, sizes.l / 4)  # two documents a sequence

    @property
    def _timing(self) -> Timer:
        if self._timer is None:
            self._timer = Timer(self._device, lambda: self._look())
        return self._timer


def task_of(workload: Workload) -> str:
    return "training" if isinstance(workload, Training) else "decoding"


def kernel_time(call: KernelCall, seconds: float, keys: float) -> KernelTime:
    return KernelTime(call.kernel, shape_words(call), seconds, operations(call, keys), moved_bytes(call, keys))


def kernel_times(workload: Workload, calls: Sequence[KernelCall], measured: Sequence[Measured]) -> list[KernelTime]:
    """What was measured on a few layers, as parts of the whole program's `calls`, the largest first.

    A call that only the whole model has (its optimiser's) takes as long for each byte as the one that was measured.
    """
    by_key = {call_key(call): seconds for call, seconds in measured}
    rows: dict[tuple[str, str], KernelTime] = {}
    complete = True
    for call in calls:
        seconds = by_key.get(call_key(call)) or _scaled(call, measured, workload.keys)
        if seconds is None:
            complete = False
            continue
        one = replace(kernel_time(call, seconds, workload.keys), workload=workload.name)
        row = rows.get((one.kernel, one.shape), one)
        mean = (row.count * row.seconds + seconds) / (row.count + 1)
        rows[one.kernel, one.shape] = replace(row, count=row.count + 1, seconds=mean)
    whole = sum(row.count * row.seconds for row in rows.values())
    found = sorted(rows.values(), key=lambda row: -row.count * row.seconds)
    return [replace(row, share=row.count * row.seconds / whole) for row in found] if complete else found


def _scaled(call: KernelCall, measured: Sequence[Measured], keys: float) -> float | None:
    """Seconds of a call of another size than those measured, from the largest of its kernel."""
    same = [(moved_bytes(other, keys), seconds) for other, seconds in measured if other.kernel == call.kernel]
    if not same:
        return None
    nbytes, seconds = max(same)
    return seconds * moved_bytes(call, keys) / nbytes
