"""Programs that work in the memory of another one."""

import numpy as np
import pytest

from engine.graph.tape import Tape
from engine.graph.tensor import Kind


def filling(device, elements: int, value: float):
    """A program that writes so many floats."""
    tape = Tape("filling", device)
    x = tape.output("x", tape.new("x", (elements,), Kind.WORKSPACE))
    tape.emit("fill", x, value=value)
    return tape.program


@pytest.mark.parametrize("elements", [300, 1000])
def test_a_program_that_is_not_larger_works_in_the_same_memory(fresh_device, elements):
    first = fresh_device.compile(filling(fresh_device, 1000, 1.0))
    before = fresh_device.ledger.total
    second = fresh_device.compile_beside(first, filling(fresh_device, elements, 2.0))
    assert fresh_device.ledger.total == before and second.arena is first.arena
    first.run({})
    second.run({})
    assert np.array_equal(second.read("x"), np.full(elements, 2.0))
    first.close()
    second.run({})
    assert np.array_equal(second.read("x"), np.full(elements, 2.0))
    second.close()
    assert fresh_device.ledger.total == 0


def test_a_larger_one_has_memory_of_its_own(fresh_device):
    first = fresh_device.compile(filling(fresh_device, 300, 1.0))
    second = fresh_device.compile_beside(first, filling(fresh_device, 1000, 2.0))
    first.run({})
    second.run({})
    assert np.array_equal(first.read("x"), np.ones(300)) and np.array_equal(second.read("x"), np.full(1000, 2.0))
    first.close()
    second.close()
    assert fresh_device.ledger.total == 0
