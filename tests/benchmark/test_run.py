"""The whole benchmark on tiny programs: what it measures, what it leaves out, and how it ends early."""

from __future__ import annotations

import pytest

from engine.benchmark import run
from engine.benchmark.results import KernelTime
from engine.benchmark.workloads import WORKLOADS as REAL
from engine.devices.cpu.device import CpuDevice
from engine.devices.interface import Peaks
from engine.errors import DeviceError, DeviceLostError
from engine.graph.cost import operations
from engine.graph.fused_kernels import FUSED
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Tensor
from tests.benchmark.conftest import SIZES, TINY, WORKLOADS


def measure(name="cpu", **options):
    return run.measure(name, **{"workloads": WORKLOADS, "sizes": SIZES, **options})


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("name", ["cpu", "webgpu"])
def test_every_kernel_is_measured_within_its_limit_and_speeds_beside_the_cpu(name, hurried, measurements, monkeypatch):
    monkeypatch.setenv("CODECOIL_DATA", str(measurements))
    result = measure(name)
    assert result.finished and result.omitted == ()
    assert {row.kernel for row in result.kernels} == set(KERNELS) - (FUSED if name == "cpu" else set())
    assert all(row.seconds > 0 and row.nbytes > 0 and row.of_limit(result.peaks) > 0 for row in result.kernels)
    assert result.machine.device.startswith(name)
    assert [(each.model, each.task) for each in result.speeds] == [
        ("tiny", "training"),
        ("tiny", "decoding"),
        ("tiny llama", "training"),
    ]
    for speed in result.speeds:
        assert speed.device > 0 and (speed.cpu is None) == (name == "cpu")
    assert (result.cpu_peaks is None) == (name == "cpu")


def test_shares_are_of_the_whole_program_and_not_of_the_layers_that_were_run(hurried):
    result = measure(workloads=WORKLOADS[:1])
    rows = [row for row in result.kernels if row.workload]
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert [row.share for row in rows] == sorted((row.share for row in rows), reverse=True)
    assert {row.kernel: row.count for row in rows}["selective_scan"] == TINY.num_hidden_layers
    assert not any(row.share or row.count for row in result.kernels if not row.workload)


def test_a_call_that_was_not_run_takes_as_long_for_each_byte():
    def adamw(size):
        views = tuple(Tensor(o.name, (size,)).view() for o in KERNELS["adamw"].operands)
        return KernelCall("adamw", views, {"decay": 1})

    (row,) = run.kernel_times(WORKLOADS[0], [adamw(300)], [(adamw(100), 2.0)])
    assert row.seconds == pytest.approx(6.0) and row.share == 1


def test_the_part_of_the_limit_is_that_of_what_is_scarce():
    peaks = Peaks(flops_per_second=100.0, bytes_per_second=10.0)
    assert KernelTime("matmul_nt", "", 1.0, 50.0, 1.0).of_limit(peaks) == 0.5
    assert KernelTime("gate", "", 1.0, 0.0, 8.0).of_limit(peaks) == 0.8


def test_what_there_is_no_time_for_is_named(hurried, monkeypatch):
    monkeypatch.setattr(run.time, "monotonic", iter(range(10**9)).__next__)  # each look takes a second
    result = measure(seconds=30)
    omitted = " ".join(each.what for each in result.omitted)
    assert result.finished and "tiny llama" in omitted
    assert {each.why for each in result.omitted} == {run.NO_TIME}
    measured = {row.kernel for row in result.kernels}
    assert measured < set(KERNELS)
    assert all(kernel in omitted for kernel in ("narrow_int8", "widen_int8") if kernel not in measured)


def test_a_slow_device_gets_a_smaller_workload(hurried, cpu, monkeypatch):
    large, small = (
        sum(operations(call) for call in each.to_run().program(cpu).calls)
        for each in (WORKLOADS[0], WORKLOADS[0].smaller())
    )
    seconds = 60
    allowed = run.MOST_OF_THE_REST * (1 - run.FOR_SAMPLES) * seconds
    between = (large + small) / 2 * run.RUNS / run.EFFICIENCY / allowed  # too slow for one, fast enough for the other
    monkeypatch.setattr(CpuDevice, "peaks", lambda self, look: Peaks(between, 1e30))
    result = measure(seconds=seconds, workloads=WORKLOADS[:1])
    assert {row.workload for row in result.kernels} == {"tiny, training on 1 × 8 tokens", ""}


def test_who_stops_it_has_what_was_measured(hurried):
    told, looked = [], []

    def look():
        looked.append(1)
        if told and told[-1][3].endswith("gate measured"):
            raise StoppedError

    with pytest.raises(StoppedError):
        measure(report=lambda *what: told.append(what), look=look)
    last = told[-1][0]
    assert {"rmsnorm", "gate"} <= {row.kernel for row in last.kernels} < set(KERNELS)
    assert not last.finished and last.peaks is not None
    assert all(row.share is None for row in last.kernels)


def test_progress_counts_the_parts(hurried):
    told = []
    measure(report=lambda *what: told.append(what), workloads=WORKLOADS[:1])
    counts = [done for _, done, _, _ in told]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == told[-1][2]
    assert told[0][3] and "The other kernels" in " ".join(what for *_, what in told)


def test_a_part_that_fails_is_named_without_private_words_and_the_rest_is_measured(hurried, monkeypatch):
    def failing(self, device):
        raise DeviceError("The driver failed in /home/ada/cache/shader.bin.")

    monkeypatch.setattr(type(WORKLOADS[1]), "opened", failing)
    result = measure()
    assert [(each.what, each.why) for each in result.omitted] == [
        ("tiny, decoding of a token", "The driver failed in …")
    ]
    assert {row.kernel for row in result.kernels} == set(KERNELS) - FUSED


def test_a_lost_device_ends_it(hurried, monkeypatch):
    def lost(self, device):
        raise DeviceLostError("Gone.")

    monkeypatch.setattr(type(WORKLOADS[0]), "opened", lost)
    told = []
    with pytest.raises(DeviceLostError):
        measure(report=lambda *what: told.append(what))
    assert told[-1][0].peaks is not None


def test_the_programs_of_the_real_benchmark_can_be_planned(cpu):
    """Without running them: their sizes become smaller to the end, and none of them is in the table twice."""
    assert len({workload.name for workload in REAL}) == len(REAL)
    for workload in REAL:
        assert workload.to_run().program(cpu).calls
        sizes = []
        while workload is not None:
            sizes.append(workload.name)
            workload = workload.smaller()
        assert len(sizes) == len(set(sizes)) < 20
