"""How long the GPU was busy: by its own clock where the adapter has one, else by the program's."""

from __future__ import annotations

import time

import numpy as np
import pytest

from engine.devices.webgpu.adapters import list_adapters
from engine.devices.webgpu.device import WebGpuDevice
from engine.devices.webgpu.executable import Bench
from engine.devices.webgpu.launches.matmul import sample_product
from engine.devices.webgpu.stopwatch import FEATURE, Stopwatch
from engine.errors import DeviceLostError
from engine.graph.tensor import KernelCall, Kind, Program, Slab


@pytest.fixture(params=[False, True], ids=["own clock", "without"])
def opened(request):
    """A device that asked for the feature, which software adapters have, and one that did not."""
    device = WebGpuDevice(list_adapters()[0], portable=request.param)
    assert (FEATURE in device.gpu.features) is not request.param
    yield device
    device.close()


def bound(device, calls: int):
    """A program that doubles numbers so often, and where they are."""
    slab = Slab("numbers", Kind.WEIGHTS)
    x = slab.add("x", (1 << 16, 4))
    device.allocate([slab])
    device.write(x, np.ones(x.shape))
    scale = KernelCall("scale", (x.view(),), {"factor": 2.0})
    return device.compile(Program("doubling", [scale] * calls)), x


def test_a_timed_run_is_a_run_and_takes_no_longer_than_the_wait_for_it(opened):
    executable, x = bound(opened, 8)
    executable.timed_run()  # compiles
    began = time.perf_counter()
    seconds = executable.timed_run()
    assert 0 < seconds <= time.perf_counter() - began
    assert np.all(opened.read(x) == 2.0**16)


def test_a_divided_program_is_timed_in_its_parts(opened):
    executable, x = bound(opened, 3)
    executable._submits.parts = [(0, 1), (1, 3)]
    assert executable.timed_run() > 0 and np.all(opened.read(x) == 8.0)


def test_a_clock_that_does_not_move_is_not_believed(opened, monkeypatch):
    monkeypatch.setattr(Stopwatch, "seconds", lambda self, parts: None)
    executable, _ = bound(opened, 3)
    assert executable.timed_run() > 0


def test_candidates_are_timed_by_it(opened):
    bench = Bench(opened)
    assert bench.seconds([sample_product("nt", 64, 64, 64, "tiled_32")] * 3) > 0
    bench.clear()
    assert opened.ledger.total == 0


def test_a_lost_device_is_noticed(opened):
    executable, _ = bound(opened, 3)
    opened.gpu.destroy()
    with pytest.raises(DeviceLostError):
        executable.timed_run()
