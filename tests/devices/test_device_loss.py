"""A lost adapter: every way to use it raises the same typed error, and closing still works."""

import contextlib
import gc
import logging

import numpy as np
import pytest
import wgpu

import engine
from engine.devices.webgpu.adapters import list_adapters
from engine.devices.webgpu.device import WebGpuDevice
from engine.errors import DeviceError, DeviceLostError
from engine.graph.tensor import Kind, Slab
from engine.model.step import AdamW
from tests.devices.opened import open_portable
from tests.model.tiny import TINY, batch


@pytest.fixture
def lose(fresh_webgpu, monkeypatch):
    """What wgpu does when the driver resets: it writes a line to its log, which here only this device hears."""

    def send():
        logger = logging.getLogger("wgpu")
        with monkeypatch.context() as patch:
            patch.setattr(logger, "handlers", [fresh_webgpu._watch])
            patch.setattr(logger, "propagate", False)
            logger.error("DEVICE LOST!")

    return send


def test_everything_says_that_the_device_went_away(fresh_webgpu, lose):
    model = engine.create_model(TINY, device=fresh_webgpu)
    step = model.training_step("full", 1, 5)
    pending = step.run(batch(1, 6), AdamW(), 1)
    pending()
    lose()
    slab = Slab("more", Kind.WEIGHTS)
    slab.add("x", (3,))
    held = fresh_webgpu.ledger.total
    attempts = {
        "run": lambda: step.run(batch(1, 6), AdamW(), 2),
        "logits": lambda: model.logits(batch(1, 4)),
        "read": lambda: model.parameters["backbone.norm_f.weight"],
        "write": lambda: model.parameters.__setitem__("backbone.norm_f.weight", np.ones(TINY["hidden_size"])),
        "allocate": lambda: fresh_webgpu.allocate([slab]),
        "a new model": lambda: engine.create_model(TINY, device=fresh_webgpu),
        "a new step": lambda: model.training_step("wsla", 1, 5),
        "save": lambda: model.save("/nowhere"),
    }
    for attempt in attempts.values():
        with pytest.raises(DeviceLostError, match="was lost") as caught:
            attempt()
        assert "last checkpoint" in caught.value.remedy
    assert fresh_webgpu.ledger.total == held
    fresh_webgpu.synchronize()  # nothing to wait for
    step.close()
    model.close()
    fresh_webgpu.close()
    assert fresh_webgpu.ledger.total == 0


def test_a_result_on_its_way_is_lost_too_or_still_arrives(fresh_webgpu, lose):
    model = engine.create_model(TINY, device=fresh_webgpu)
    step = model.training_step("full", 1, 5)
    pending = step.run(batch(1, 6), AdamW(), 1)
    lose()
    with contextlib.suppress(DeviceLostError):
        assert np.isfinite(pending().loss)
    fresh_webgpu.close()


def test_a_destroyed_device_is_noticed(fresh_webgpu):
    """The real thing, as far as software can have it: the device is gone under the engine's feet."""
    model = engine.create_model(TINY, device=fresh_webgpu)
    fresh_webgpu.gpu.destroy()
    with pytest.raises(DeviceError):
        model.logits(batch(1, 4))
        model.logits(batch(1, 5))


def test_waiting_for_a_destroyed_device_is_an_error_and_does_not_end_the_process(fresh_webgpu):
    fresh_webgpu.gpu.destroy()
    with pytest.raises(DeviceLostError):
        fresh_webgpu.synchronize()
    fresh_webgpu.synchronize()  # nothing to wait for


def test_other_lines_of_the_log_are_not_a_loss(fresh_webgpu):
    logging.getLogger("wgpu").warning("a harmless line")
    fresh_webgpu.check()


def test_closing_one_device_does_not_end_another(fresh_webgpu, measurements):
    other = open_portable(measurements)
    other.close()
    gc.collect()
    fresh_webgpu.check()
    model = engine.create_model(TINY, device=fresh_webgpu)
    assert np.isfinite(model.logits(batch(1, 4))).all()
    model.close()


def test_a_closed_device_is_gone():
    """Devices opened and closed leave nothing behind in wgpu, nor a handler in the log."""

    def use_one():
        opened = WebGpuDevice(list_adapters()[0], portable=True)
        model = engine.create_model(TINY, device=opened)
        model.logits(batch(1, 4))
        model.close()
        opened.close()

    def counts():
        gc.collect()
        found = wgpu.diagnostics.object_counts.get_dict()
        names = ("Device", "Queue", "Buffer", "ComputePipeline", "ShaderModule", "BindGroupLayout")
        return {name: found[name]["count"] for name in names}

    before, handlers = counts(), list(logging.getLogger("wgpu").handlers)
    for _ in range(2):
        use_one()
    assert counts() == before
    assert logging.getLogger("wgpu").handlers == handlers
