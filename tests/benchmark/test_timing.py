"""Taking a program apart: every kind of call once, with the operands that it has in the program."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from engine.benchmark.timing import Timer, call_key, walk
from engine.graph.tensor import Program
from engine.model.model import create_model
from engine.model.step import AdamW, batch_inputs
from tests.benchmark.conftest import TINY, TINY_LLAMA, TINY_MAMBA2, WORKLOADS


@pytest.fixture
def timer(device, hurried):
    return Timer(device, lambda: None)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_kind_of_call_is_timed_once(workload, device, timer):
    with workload.opened(device) as (executable, inputs):
        timed = list(walk(device, timer, executable, inputs, workload.in_turns))
        kinds = [call_key(call) for call in executable.plan.program.calls]
    assert [call_key(call) for call, _ in timed] == list(dict.fromkeys(kinds))
    assert all(seconds > 0 for _, seconds in timed)


@pytest.mark.parametrize("config", [TINY, TINY_LLAMA, TINY_MAMBA2], ids=["mamba", "llama", "mamba2"])
def test_a_walk_leaves_what_a_run_leaves(config, device, timer):
    """What a call changes is put back, so the calls behind it see what they should; a call keeps its scratch memory."""
    model = create_model(config, seed=1, device=device)
    ids = np.random.default_rng(0).integers(0, config.vocab_size, (2, 9))
    expected, _ = model.loss_and_gradients(ids)
    step = model.training_step("full", 2, 8)
    (executable,) = step.executables
    held = model.parameters[config.embedding_name].copy()
    program = executable.plan.program
    inputs = batch_inputs(program, config, ids, AdamW(1e-2).scalars(1, 16))
    for call, _ in walk(device, timer, executable, inputs):
        if call.kernel == "total":
            break
    losses = next(call for call in program.calls if call.kernel == "total").operands[0].tensor
    with contextlib.closing(device.compile_part(executable, Program("look", outputs={"": losses}))) as part:
        assert part.read("").sum() / 16 == pytest.approx(expected, rel=1e-5)
    assert np.array_equal(model.parameters[config.embedding_name], held)
    step.close()
    model.close()


def test_every_run_that_counts_begins_with_what_the_call_changes_put_back(cpu, monkeypatch):
    """The kernels that work in place would end at zero, which some processors compute slowly."""
    monkeypatch.setattr("engine.benchmark.timing.MOST_REPEATS", 2)
    monkeypatch.setattr("engine.benchmark.timing.SUBMIT_SHARE", 1e-9)
    timer, done = Timer(cpu, lambda: None), []

    class Noted:
        def __init__(self, repeats):
            done.append("bound")

        def timed_run(self):
            done.append("run")
            return 1e-6

        def close(self):
            pass

    timer.seconds(Noted, lambda: done.append("restored"))
    words = " ".join(done).replace("bound run", "bound")  # the first run of each compiles
    assert words.count("restored") > 3 and words.replace("restored run", "").split() == ["bound", "bound"]


def test_a_call_is_repeated_until_its_submit_hardly_counts(cpu, monkeypatch):
    monkeypatch.setattr("engine.benchmark.timing.SUBMIT_SHARE", 1e-9)  # nothing is ever long enough
    monkeypatch.setattr("engine.benchmark.timing.MOST_REPEATS", 64)
    timer, bound = Timer(cpu, lambda: None), []

    class Counted:
        def __init__(self, repeats):
            bound.append(repeats)

        def timed_run(self):
            return 1e-6

        def close(self):
            pass

    timer.seconds(Counted, lambda: None)
    assert bound[0] == 1 and bound[-1] == 64 and bound == sorted(set(bound))


def test_memory_is_given_back(fresh_device, hurried):
    timer = Timer(fresh_device, lambda: None)
    for workload in WORKLOADS:
        with workload.opened(fresh_device) as (executable, inputs):
            list(walk(fresh_device, timer, executable, inputs, workload.in_turns))
    assert fresh_device.ledger.total == 0 and not fresh_device.arenas
