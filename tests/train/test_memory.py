"""Memory: the estimate is what is allocated, the ceiling refuses before anything is, and nothing stays behind."""

import gc

import numpy as np
import pytest
import wgpu

import engine
from engine.devices.webgpu.executable import RING
from engine.devices.webgpu.launch import PARAMETER_BYTES
from engine.errors import MemoryCeilingError
from engine.graph.kernels import Statistics
from engine.graph.tensor import Kind
from engine.model.blueprint import estimate_training
from engine.model.step import AdamW
from tests.model.stored import ROOT
from tests.model.tiny import ODD, TINY, batch, open_model

MODES = ("full", "wsla", "lora")
STATIC = (Kind.WEIGHTS, Kind.GRADIENTS, Kind.OPTIMISER)


def held(device):
    return device.ledger.snapshot().by_kind


def wgpu_counts():
    """wgpu's own count of what exists, after the garbage is gone."""
    gc.collect()
    counts = wgpu.diagnostics.object_counts.get_dict()
    return {
        name: counts[name] for name in ("Buffer", "BindGroup", "CommandBuffer", "CommandEncoder", "ComputePipeline")
    }


# ---- the estimate


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "odd"])
@pytest.mark.parametrize(("b", "l"), [(1, 1), (3, 66), (2, 200)])
@pytest.mark.parametrize("mode", MODES)
def test_the_estimate_is_what_a_training_step_allocates(mode, b, l, config, fresh_device):
    model = engine.create_model(config, device=fresh_device)
    before = held(fresh_device)
    estimate = model.estimate(mode, b, l)
    assert held(fresh_device) == before  # nothing is allocated by asking
    assert estimate_training(model.config, fresh_device, mode, b, l) == estimate
    step = model.training_step(mode, b, l)
    assert held(fresh_device) == estimate
    assert step.run(batch(b, l + 1, config["vocab_size"]), AdamW(), 1)().applied
    assert held(fresh_device) == estimate
    step.close()
    model.close()
    assert held(fresh_device) == {}


def test_modes_cost_what_they_say(cpu):
    """At the size that people train, gradients and moments of WSLA and LoRA are a small part of full ones."""
    config = engine.ModelConfig()
    full, wsla, lora = (estimate_training(config, cpu, mode, 4, 256) for mode in MODES)
    assert full[Kind.WEIGHTS] == pytest.approx(4 * config.parameter_count, rel=0.01)
    assert full[Kind.GRADIENTS] == full[Kind.WEIGHTS]
    assert full[Kind.OPTIMISER] == 2 * full[Kind.GRADIENTS]
    assert wsla[Kind.GRADIENTS] == 4 * 98_304
    assert wsla[Kind.OPTIMISER] == 2 * wsla[Kind.GRADIENTS]
    assert lora[Kind.GRADIENTS] < 0.06 * full[Kind.GRADIENTS]
    assert sum(full.values()) < 450e6
    assert sum(wsla.values()) < sum(lora.values()) < sum(full.values())
    assert cpu.ledger.total == 0


def test_memory_grows_with_the_length_and_no_faster(device):
    config = engine.ModelConfig(hidden_size=128, num_hidden_layers=4, vocab_size=8192)
    short, long = (estimate_training(config, device, "full", 1, l) for l in (1024, 8192))
    assert {kind: long[kind] for kind in STATIC} == {kind: short[kind] for kind in STATIC}
    assert sum(long.values()) - sum(short[kind] for kind in STATIC) <= 8.2 * (
        short[Kind.ACTIVATIONS] + short[Kind.WORKSPACE]
    )


def test_the_ledger_is_what_wgpu_counts(fresh_webgpu):
    before = wgpu_counts()["Buffer"]
    model = engine.create_model(TINY, device=fresh_webgpu)
    step = model.training_step("full", 2, 70)
    (executable,) = step.executables
    after = wgpu_counts()["Buffer"]
    small = len(executable.launches) * PARAMETER_BYTES + RING * 4 * Statistics.COUNT
    assert after["resource_mem"] - before["resource_mem"] == fresh_webgpu.ledger.total + small
    del step, model, executable


def test_micro_batches_need_no_memory_of_their_own(fresh_device):
    """They are there to save memory: the programs of the first, the middle and the last run one after the other."""
    model = engine.create_model(TINY, device=fresh_device)
    estimate = sum(model.estimate("full", 1, 200).values())
    step = model.training_step("full", 1, 200, micro_batches=3)
    assert fresh_device.ledger.total <= 1.05 * estimate
    step.close()
    model.close()


# ---- the ceiling


@pytest.mark.parametrize("mode", MODES)
def test_a_ceiling_that_is_too_small_refuses_and_leaves_nothing(mode, fresh_device):
    ledger = fresh_device.ledger
    model = engine.create_model(TINY, device=fresh_device)
    needed = sum(model.estimate(mode, 2, 70).values())
    ids = batch(2, 71)
    start = held(fresh_device)
    # From too little for the first slab to one byte too little: whatever has been allocated by then is given back.
    for ceiling in [*np.linspace(ledger.total, needed - 1, 12, dtype=int).tolist(), needed - 1]:
        ledger.ceiling = ceiling
        with pytest.raises(MemoryCeilingError, match=r"MiB.*smaller micro-batch"):
            model.training_step(mode, 2, 70)
        if mode != "lora":  # adapters, once attached, stay
            assert held(fresh_device) == start
        assert held(fresh_device).keys() == {Kind.WEIGHTS}
    ledger.ceiling = needed
    step = model.training_step(mode, 2, 70)
    assert step.run(ids, AdamW(), 1)().applied
    step.close()
    model.close()
    assert held(fresh_device) == {}


def test_a_model_that_does_not_fit_leaves_nothing(fresh_device):
    ledger = fresh_device.ledger
    model = engine.create_model(TINY, device=fresh_device)
    size = ledger.total
    model.close()
    for ceiling in (0, 1000, size // 2, size - 1):
        ledger.ceiling = ceiling
        with pytest.raises(MemoryCeilingError):
            engine.create_model(TINY, device=fresh_device)
        with pytest.raises(MemoryCeilingError):
            engine.load_model(ROOT / "expand3", fresh_device)
        assert held(fresh_device) == {}
    ledger.ceiling = size
    engine.create_model(TINY, device=fresh_device).close()


@pytest.mark.parametrize("mode", MODES)
def test_gradients_and_logits_that_do_not_fit_leave_nothing(mode, fresh_device):
    ledger = fresh_device.ledger
    model = engine.create_model(TINY, device=fresh_device)
    if mode == "lora":
        model.attach_adapters()
    start = held(fresh_device)
    for spare in (0, 10_000, 60_000):
        ledger.ceiling = ledger.total + spare
        with pytest.raises(MemoryCeilingError):
            model.loss_and_gradients(batch(4, 80), mode)
        with pytest.raises(MemoryCeilingError):
            model.logits(batch(4, 80))
        assert held(fresh_device) == start
    ledger.ceiling = 2**30
    assert model.loss_and_gradients(batch(4, 80), mode)[0] > 0
    model.close()
    assert held(fresh_device) == {}


def test_adapters_that_do_not_fit_are_not_attached(fresh_device):
    model = engine.create_model(TINY, device=fresh_device)
    start = held(fresh_device)
    fresh_device.ledger.ceiling = fresh_device.ledger.total + 1000
    with pytest.raises(MemoryCeilingError):
        model.attach_adapters()
    assert held(fresh_device) == start
    assert len(model.adapters) == 0
    fresh_device.ledger.ceiling = 2**30
    assert len(model.attach_adapters()) == 8
    model.close()
    assert held(fresh_device) == {}


# ---- what stays


def test_200_steps_hold_no_more_than_two(fresh_webgpu):
    with open_model(fresh_webgpu) as model:
        step = model.training_step("full", 1, 7)
        last = step.run(batch(1, 8), AdamW(), 1)
        for number in range(2, 201):
            result = step.run(batch(1, 8, seed=number), AdamW(), number)
            assert last().applied  # a step late, as a run does it
            last = result
            if number == 2:
                counts, ledger, submits = wgpu_counts(), fresh_webgpu.ledger.snapshot(), fresh_webgpu.submits
        assert wgpu_counts() == counts
        assert fresh_webgpu.ledger.snapshot() == ledger
        assert fresh_webgpu.submits - submits == 198  # one a step
        step.close()


def test_steps_opened_and_closed_leave_no_buffer(fresh_webgpu):
    with open_model(fresh_webgpu) as model:
        model.attach_adapters()
        start = None
        for _ in range(4):
            for mode in MODES:
                step = model.training_step(mode, 1, 5, micro_batches=2)
                step.run(batch(2, 6), AdamW(), 1)()
                step.close()
                model.loss_and_gradients(batch(1, 6), mode)
            model.logits(batch(1, 4))
            del step
            now = (wgpu_counts(), fresh_webgpu.ledger.total)
            start = start or now
        assert now == start


def test_closing_gives_everything_back(fresh_device):
    model = engine.create_model(TINY, device=fresh_device)
    steps = [model.training_step(mode, 2, 9) for mode in MODES]
    model.logits(batch(1, 4))
    model.loss_and_gradients(batch(1, 5))
    for step in steps:
        step.close()
    model.close()
    assert held(fresh_device) == {}
    assert fresh_device.ledger.total == 0
    model.close()  # a second time changes nothing
    assert fresh_device.ledger.total == 0


def test_closing_the_device_gives_back_what_others_left_open(fresh_device):
    model = engine.create_model(TINY, device=fresh_device)
    model.training_step("full", 2, 9)
    model.logits(batch(1, 4))
    fresh_device.close()
    assert fresh_device.ledger.total == 0
