"""What a device can do at most is measured by work that is really done."""

from __future__ import annotations

import numpy as np
import pytest

from engine.devices.webgpu import peaks
from engine.devices.webgpu.executable import time_launches
from engine.devices.webgpu.launch import Launch, flat_grid, pack
from engine.graph.tensor import Kind, Slab


def test_a_device_moves_bytes_and_computes_and_gives_the_memory_back(fresh_device, monkeypatch):
    monkeypatch.setattr(peaks, "ENOUGH", 0.0)
    looked = []
    found = fresh_device.peaks(lambda: looked.append(1))
    assert found.bytes_per_second > 0 and found.flops_per_second > 0
    assert len(looked) > 4 and fresh_device.ledger.total == 0


def test_it_can_be_ended_between_two_runs(fresh_device):
    class EndedError(Exception):
        pass

    def look():
        raise EndedError

    with pytest.raises(EndedError):
        fresh_device.peaks(look)
    assert fresh_device.ledger.total == 0


def launched(device, shader, x, y, parameters, names):
    """`y` after one launch."""
    slabs = {name: Slab(name, Kind.WORKSPACE) for name in names}
    tensors = {name: slabs[name].add(name, x.shape) for name in names}
    device.allocate(slabs.values())
    for name in names:
        device.write(tensors[name], {"x": x, "y": y}[name])
    launch = Launch(shader, tuple(tensors[name].view() for name in names), parameters, flat_grid(2))
    time_launches(device, [launch], lambda tensor: (device.buffer_of(tensor.slab), 0))
    result = device.read(tensors["y"])
    device.release(slabs.values())
    return result


def test_the_copy_copies_and_no_more(webgpu):
    x, y = np.arange(2048, dtype=np.float32), np.zeros(2048, np.float32)
    found = launched(webgpu, "peak_copy", x, y, pack(500), ("x", "y"))
    assert np.array_equal(found[:2000], x[:2000]) and not found[2000:].any()


def test_the_loop_computes_what_it_says(webgpu):
    lanes, turns, factor, addend = np.arange(512, dtype=np.float64), 3, 0.5, 0.25
    expected = np.zeros(512)
    for start in range(8):
        value = lanes + start
        for _ in range(turns):
            value = value * factor + addend
        expected += 4 * value
    y = np.zeros(512, np.float32)
    found = launched(webgpu, "peak_fma", y, y, pack(turns, factor, addend), ("y",))
    assert np.allclose(found, expected, rtol=1e-5)
