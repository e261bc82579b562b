"""The ledger: bytes in and out by kind, the peak, and the ceiling."""

import numpy as np
import pytest

from engine.devices.ledger import Ledger
from engine.errors import InputError, MemoryCeilingError
from engine.graph.tensor import KernelCall, Kind, Program, Slab, Tensor


def slab_of(elements, kind=Kind.WEIGHTS, name="a slab"):
    slab = Slab(name, kind)
    return slab, slab.add("x", (elements,))


def test_what_is_reserved_and_released_adds_up():
    ledger = Ledger(1000)
    ledger.reserve({Kind.WEIGHTS: 300, Kind.WORKSPACE: 200}, "a")
    ledger.reserve({Kind.WEIGHTS: 400}, "b")
    assert ledger.snapshot().by_kind == {Kind.WEIGHTS: 700, Kind.WORKSPACE: 200}
    ledger.release({Kind.WEIGHTS: 700})
    snapshot = ledger.snapshot()
    assert (snapshot.by_kind, snapshot.total, snapshot.peak, snapshot.ceiling) == (
        {Kind.WORKSPACE: 200},
        200,
        900,
        1000,
    )


def test_the_ceiling_may_be_reached_and_not_passed():
    ledger = Ledger(2**20)
    ledger.reserve({Kind.WEIGHTS: 2**20}, "all of it")
    with pytest.raises(
        MemoryCeilingError, match=r"One more needs 0\.5 MiB; 1\.0 (MiB )?of 1\.0 MiB are in use"
    ) as caught:
        ledger.reserve({Kind.GRADIENTS: 2**19}, "One more")
    assert "ceiling" in caught.value.remedy
    assert ledger.snapshot().by_kind == {Kind.WEIGHTS: 2**20}
    assert ledger.snapshot().peak == 2**20


def test_a_snapshot_does_not_change_later():
    ledger = Ledger()
    before = ledger.snapshot()
    ledger.reserve({Kind.DECODE: 8}, "x")
    assert before.total == 0


def test_slabs_are_zeroed_and_accounted_for(fresh_device):
    slab, tensor = slab_of(1000)
    fresh_device.allocate([slab])
    assert fresh_device.ledger.total == slab.nbytes == 4096
    assert (fresh_device.read(tensor) == 0).all()
    fresh_device.write(tensor, np.arange(1000))
    np.testing.assert_array_equal(fresh_device.read(tensor), np.arange(1000, dtype=np.float32))
    fresh_device.release([slab])
    assert fresh_device.ledger.total == 0


def test_slabs_are_allocated_all_or_none(fresh_device):
    slabs = [slab_of(1000, name=f"slab {i}")[0] for i in range(3)]
    fresh_device.ledger.ceiling = 3 * 4096 - 1
    with pytest.raises(MemoryCeilingError, match="slab 2"):
        fresh_device.allocate(slabs)
    assert fresh_device.ledger.total == 0
    fresh_device.ledger.ceiling += 1
    fresh_device.allocate(slabs)
    fresh_device.release(slabs)
    assert fresh_device.ledger.total == 0


def test_what_was_never_allocated_is_not_released(fresh_device):
    kept, other = slab_of(1000)[0], slab_of(1000)[0]
    fresh_device.allocate([kept])
    fresh_device.release([other])
    assert fresh_device.ledger.total == kept.nbytes
    fresh_device.release([kept])
    fresh_device.release([kept])
    assert fresh_device.ledger.total == 0


def test_a_buffer_that_the_system_refuses_is_not_on_the_ledger(fresh_device, monkeypatch):
    def refuse(nbytes, label):
        raise MemoryCeilingError(f"no {nbytes} bytes for {label}")

    monkeypatch.setattr(fresh_device, "_create_buffer", refuse)
    with pytest.raises(MemoryCeilingError):
        fresh_device.allocate([slab_of(10)[0]])
    with pytest.raises(MemoryCeilingError):
        fresh_device.compile(filling_program())
    assert fresh_device.ledger.total == 0


def test_a_program_that_cannot_be_bound_is_not_on_the_ledger(fresh_device, monkeypatch):
    def refuse(*_):
        raise InputError("no such kernel here")

    binder, name = (fresh_device, "kernel") if fresh_device.name == "cpu" else (fresh_device.pipelines, "get")
    monkeypatch.setattr(binder, name, refuse)
    with pytest.raises(InputError):
        fresh_device.compile(filling_program())
    assert fresh_device.ledger.total == 0


def filling_program():
    x = Tensor("x", (6,))
    program = Program("filling", outputs={"x": x}, inputs={"x": x})
    program.calls.append(KernelCall("fill", (x.view(2, (3,)),), {"value": 7.0}))
    return program


def test_a_program_takes_its_inputs_by_name_and_shape(fresh_device):
    executable = fresh_device.compile(filling_program())
    with pytest.raises(InputError, match=r"filling takes the inputs \['x'\], not \['y'\]"):
        executable.run({"y": np.zeros(6)})
    with pytest.raises(InputError, match=r"Input x of filling has shape \(5,\); it must be \(6,\)"):
        executable.run({"x": np.zeros(5)})
    executable.run({"x": np.arange(6)})
    np.testing.assert_array_equal(executable.read("x"), [0, 1, 7, 7, 7, 5])
    executable.close()
    executable.close()
    assert fresh_device.ledger.total == 0
