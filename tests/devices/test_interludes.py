"""Other work in the middle of a program: where it may come, and that it changes nothing."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from engine.devices import interludes
from engine.devices.interludes import Interludes, calls_before_weights
from engine.devices.webgpu import submits
from engine.generate.decoder import Decoder
from engine.model.step import AdamW
from tests.model.tiny import batch, open_model

STEPS = 3


@pytest.fixture(autouse=True)
def as_often_as_possible(monkeypatch):
    """Whatever the machine's speed is: at every place where it is allowed, on both devices."""
    monkeypatch.setattr(interludes, "EVERY", 0.0)
    monkeypatch.setattr(submits, "LONGEST_SUBMIT", 1e-9)


def run_steps(device, mode, work=None, micro_batches=2):
    """Losses, and all that is trained with its moments, after some steps."""
    with open_model(device) as model:
        model.attach_adapters(2)
        step = model.training_step(mode, 1, 9, micro_batches=micro_batches)
        losses = []
        try:
            with device.interludes.during(work(model)) if work is not None else contextlib.nullcontext():
                for number in range(1, STEPS + 1):
                    ids = batch(micro_batches, 10, seed=number)
                    losses.append(step.run(ids, AdamW(), number, insight=number == 2)())
            moments = [device.read(slab.flat()) for slab in (*step.trained.first_slabs, *step.trained.second_slabs)]
            return losses, [*step.trained.read(model).values(), *moments]
        finally:
            step.close()


@pytest.mark.parametrize("mode", ["full", "lora", "wsla"])
def test_a_step_that_is_interrupted_has_the_same_bits(mode, device):
    """By a decoder of the model that is trained, one of another model, and a loss of the trained one."""
    expected = run_steps(device, mode)
    calls, read = [], []

    def work(model):
        def others() -> None:
            calls.append(1)
            if len(calls) % 10:
                return
            with open_model(device, seed=7) as other:
                for each in (model, other):
                    decoder = Decoder(each)
                    read.append(decoder.read(np.arange(1, 40)))
                    decoder.close()
            model.losses(batch(1, 6))

        return others

    losses, found = run_steps(device, mode, work)
    assert len(calls) > 20 * STEPS and len(read) > STEPS
    assert losses == expected[0]
    for one, other in zip(found, expected[1], strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_is_seen_in_between_is_one_model(device):
    """The weights before the step or after it, never some of each."""
    seen = set()

    def work(model):
        return lambda: seen.add(b"".join(model.parameters[name].tobytes() for name in model.parameters))

    run_steps(device, "full", work)
    assert len(seen) == STEPS


def test_work_in_between_is_not_interrupted_itself(device):
    depth, deepest = 0, 0

    def work(model):
        def others() -> None:
            nonlocal depth, deepest
            depth += 1
            deepest = max(deepest, depth)
            model.losses(batch(1, 6))
            depth -= 1

        return others

    run_steps(device, "full", work)
    assert deepest == 1


def test_the_ledger_is_as_without(device):
    with open_model(device) as model:
        step = model.training_step("full", 1, 9)
        step.run(batch(1, 10), AdamW(), 1)()
        before = device.ledger.total

        def others() -> None:
            decoder = Decoder(model)
            decoder.step(1)
            decoder.close()

        with device.interludes.during(others):
            step.run(batch(1, 10), AdamW(), 2)()
        assert device.ledger.total == before
        step.close()


def test_no_work_comes_after_the_first_write_to_a_weight(cpu):
    with open_model(cpu) as model:
        step = model.training_step("full", 1, 9, micro_batches=2)
        first, last = (each.plan.program.calls for each in step.executables)
        assert calls_before_weights(first) == len(first)
        kernels = [call.kernel for call in last]
        assert calls_before_weights(last) == kernels.index("adamw") < len(last)
        step.close()


def test_only_inside(cpu):
    taken = []
    interludes = Interludes()
    interludes.take()
    with interludes.during(lambda: taken.append(1)):
        assert interludes.wanted
        interludes.take()
    interludes.take()
    assert taken == [1] and not interludes.wanted


def test_an_error_of_the_work_leaves_it_wanted():
    interludes = Interludes()

    def fail() -> None:
        raise ValueError

    with interludes.during(fail):
        with pytest.raises(ValueError):
            interludes.take()
        assert interludes.wanted
