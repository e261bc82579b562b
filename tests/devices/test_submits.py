"""Long programs are divided among submits: by cost, then by measured time, and the bits stay the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.devices.webgpu import submits
from engine.devices.webgpu.autotune import LOGITS_BYTES
from engine.devices.webgpu.launch import AdapterTraits
from engine.devices.webgpu.launches import LAUNCHES, launches_of
from engine.devices.webgpu.submits import AIM, LONGEST_SUBMIT, SLOW_BYTES, SLOW_FLOPS, Submits, estimated_seconds
from engine.graph.tensor import KernelCall, Tensor
from engine.model.blueprint import Blueprint
from engine.model.config import ModelConfig
from engine.model.step import AdamW, step_program
from tests.model.tiny import TINY, batch, open_model


def product(m: int, n: int, k: int) -> KernelCall:
    views = (Tensor("a", (m, k)).view(), Tensor("b", (n, k)).view(), Tensor("c", (m, n)).view(), None, None)
    return KernelCall("matmul_nt", views, {"alpha": 1.0, "accumulate": 0})


def seconds_of(call: KernelCall) -> list[float]:
    return estimated_seconds(call, LAUNCHES[call.kernel](call.operands, call.numbers, AdapterTraits()))


def test_a_product_is_estimated_by_its_operations_and_a_cast_by_its_bytes():
    (seconds,) = seconds_of(product(1024, 1024, 4096))
    assert seconds == pytest.approx(2 * 1024 * 1024 * 4096 / SLOW_FLOPS, rel=1e-2)
    source = Tensor("halves", (1 << 20,), "float16")
    (seconds,) = seconds_of(KernelCall("widen_float16", (source.view(), Tensor("x", (1 << 20,)).view()), {}))
    assert seconds == pytest.approx(6 * (1 << 20) / SLOW_BYTES, rel=0.05)


def test_the_launches_of_a_call_share_its_estimate():
    call = product(512, 512, 1024)
    shared = estimated_seconds(call, LAUNCHES["matmul_nt"](call.operands, call.numbers, AdapterTraits()) * 2)
    assert sum(shared) == pytest.approx(seconds_of(call)[0], rel=0.05)


def test_no_part_is_longer_than_it_may_be_unless_it_is_one_launch():
    random = np.random.default_rng(1)
    estimates = [*random.exponential(0.01, 500), 0.7, *random.exponential(0.001, 500)]
    cuts = Submits(estimates, is_software=False)
    assert [start for start, _ in cuts.parts] == [0, *(stop for _, stop in cuts.parts[:-1])]
    assert cuts.parts[-1][1] == len(estimates)
    for start, stop in cuts.parts:
        assert stop - start == 1 or sum(estimates[start:stop]) <= AIM * LONGEST_SUBMIT
    assert len(cuts.parts) > sum(estimates) / LONGEST_SUBMIT
    assert Submits(estimates, is_software=True).parts == [(0, len(estimates))]
    assert Submits([], is_software=False).parts == [(0, 0)]


@pytest.mark.parametrize("mode", ["full", "lora"])
def test_no_dispatch_of_a_model_of_130_m_parameters_is_longer_than_a_submit(webgpu, monkeypatch, mode):
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=False))
    monkeypatch.setattr(webgpu, "logits_bytes", LOGITS_BYTES[0])
    config = ModelConfig(hidden_size=768, num_hidden_layers=2, vocab_size=50_280)
    blueprint = Blueprint(config, webgpu)
    plan = webgpu.plan(step_program(blueprint.network, webgpu, blueprint.trained_set(mode), 2, 512))
    calls = zip(plan.program.calls, launches_of(plan, webgpu.traits), strict=True)
    seconds = [each for call, launches in calls for each in estimated_seconds(call, launches)]
    assert 0.4 * LONGEST_SUBMIT < max(seconds) < 0.6 * LONGEST_SUBMIT < sum(seconds)


def test_what_was_measured_decides_from_the_third_run_on():
    cuts = Submits([0.04] * 10, is_software=False)
    assert len(cuts.parts) == 10 and not cuts.wants_timing
    cuts.ran(measured=False)
    assert cuts.wants_timing
    cuts.measured(0, 5, 0.05)  # a hundredth of a second each
    cuts.measured(5, 10, 0.5)
    cuts.ran(measured=True)
    assert cuts.parts == [(0, 5), *((i, i + 1) for i in range(5, 10))] and not cuts.wants_timing


def test_a_short_program_is_never_waited_for():
    cuts = Submits([0.0001] * 10, is_software=False)
    cuts.ran(measured=False)
    assert not cuts.wants_timing and cuts.parts == [(0, 10)]


@pytest.mark.parametrize("longest", [10.0, 4e-4, 1e-9])
def test_a_step_has_the_same_bits_however_it_is_divided(longest, webgpu, monkeypatch):
    monkeypatch.setattr(webgpu, "traits", replace(webgpu.traits, software=False, matmul_variants={}))

    def run() -> tuple:
        with open_model(webgpu, TINY) as model:
            step = model.training_step("full", 1, 9)
            counts, losses = [], []
            for number in range(1, 5):
                before = webgpu.submits
                losses.append(step.run(batch(1, 10, seed=number), AdamW(), number)())
                counts.append(webgpu.submits - before)
            weights = {name: model.parameters[name] for name in model.parameters}
            launches = sum(len(executable.launches) for executable in step.executables)
            step.close()
            return counts, launches, losses, weights

    monkeypatch.setattr(submits, "LONGEST_SUBMIT", 1e3)
    whole, launches, losses, weights = run()
    monkeypatch.setattr(submits, "LONGEST_SUBMIT", longest)
    divided, _, found, others = run()
    assert found == losses and all(np.array_equal(others[name], weights[name]) for name in weights)
    assert set(whole) == {1}
    if longest == 10.0:
        assert divided == whole
    elif longest == 1e-9:
        assert divided == [launches] * 4
    else:
        assert 1 < divided[0] < launches  # by cost, before anything was measured
