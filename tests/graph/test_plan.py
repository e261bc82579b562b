"""The plan: no two tensors that live at the same time overlap, and the arena is about as large as it must be."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import MemoryCeilingError
from engine.graph.plan import lifetimes, make_plan
from engine.graph.tensor import ALIGNMENT, KernelCall, Kind, Program, Slab, Tensor, aligned
from engine.model.blueprint import Blueprint
from engine.model.config import ModelConfig
from engine.model.modes import ADAPTER_MODES
from engine.model.step import step_program

BINDING = 2**20


@st.composite
def programs(draw):
    """Calls on random tensors, some of which are inputs, outputs, in a slab, or empty."""
    kinds = [Kind.ACTIVATIONS, Kind.WORKSPACE]
    sizes = draw(st.lists(st.sampled_from([0, 1, 63, 64, 65, 500, 5000]), min_size=1, max_size=12))
    tensors = [Tensor(f"t{i}", (size,), kind=draw(st.sampled_from(kinds))) for i, size in enumerate(sizes)]
    slab = Slab("weights", Kind.WEIGHTS)
    everything = [*tensors, slab.add("w", (77,))]
    program = Program("random")
    for _ in range(draw(st.integers(0, 15))):
        operands = draw(st.lists(st.sampled_from([*everything, None]), min_size=1, max_size=4))
        program.calls.append(KernelCall("fill", tuple(t.view() if t is not None else None for t in operands), {}))
    for holder in (program.inputs, program.outputs):
        chosen = draw(st.lists(st.sampled_from(everything), unique=True, max_size=3))
        holder.update({tensor.name: tensor for tensor in chosen})
    return program


def moments(program, tensor):
    """When `tensor` must hold its value, counted by hand: -1 is before the first call, len(calls) is after the last."""
    touched = [i for i, call in enumerate(program.calls) if any(v and v.tensor is tensor for v in call.operands)]
    if tensor in program.inputs.values():
        touched.append(-1)
    if tensor in program.outputs.values():
        touched.append(len(program.calls))
        if len(touched) == 1:  # an output that nothing writes
            touched.append(0)
    return set(range(min(touched), max(touched) + 1))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(program=programs(), page=st.sampled_from([20_224, 40_960, 2**62]))
def test_tensors_that_live_together_do_not_overlap(program, page):
    plan = make_plan(program, BINDING, page)
    unplaced = [tensor for tensor in program.tensors() if tensor.slab is None]
    assert set(plan.placements) == set(unplaced)
    places = [(p, moments(program, p.tensor)) for p in plan.placements.values()]
    for p, live in places:
        assert (p.first, p.last) == (min(live), max(live))
        assert p.offset % ALIGNMENT == 0
        # Even an empty tensor is bound: four bytes of it must lie in the page.
        assert p.offset + max(p.tensor.nbytes, 4) <= plan.page_bytes[p.page] <= page
    for i, (p, live) in enumerate(places):
        for q, other in places[:i]:
            if p.page == q.page and live & other:
                assert p.offset + p.tensor.nbytes <= q.offset or q.offset + q.tensor.nbytes <= p.offset
    assert sum(plan.arena_by_kind.values()) == plan.arena_bytes
    assert all(nbytes > 0 for nbytes in plan.arena_by_kind.values())


def test_the_property_test_would_see_an_overlap():
    """A plan that puts everything at 0 has to fail the test above: it is not true by itself."""
    program = Program("two")
    a, b = Tensor("a", (10,)), Tensor("b", (10,))
    program.calls.append(KernelCall("fill", (a.view(), b.view()), {}))
    plan = make_plan(program, BINDING, BINDING)
    assert moments(program, a) & moments(program, b)
    assert {plan.placements[a].offset, plan.placements[b].offset} == {0, ALIGNMENT}


def test_memory_is_used_again():
    program = Program("chain")
    chain = [Tensor(f"t{i}", (1000,)) for i in range(10)]
    for a, b in itertools.pairwise(chain):
        program.calls.append(KernelCall("gate", (a.view(), b.view()), {}))
    plan = make_plan(program, BINDING, BINDING)
    assert plan.arena_bytes == 2 * aligned(4000)


def test_inputs_and_outputs_are_kept():
    """An input is not overwritten before it is read, an output not after it is written."""
    program = Program("kept")
    first, middle, last = (Tensor(name, (100,)) for name in ("first", "middle", "last"))
    program.inputs["first"], program.outputs["last"] = first, last
    program.calls = [KernelCall("fill", (t.view(),), {}) for t in (last, middle, first)]
    assert lifetimes(program) == {first: (-1, 2), middle: (1, 1), last: (0, 3)}
    assert make_plan(program, BINDING, BINDING).arena_bytes == 3 * aligned(400)


def test_a_tensor_larger_than_a_binding_is_refused_by_name():
    program = Program("large")
    program.calls.append(KernelCall("fill", (Tensor("states of everything", (BINDING // 4 + 1,)).view(),), {}))
    with pytest.raises(MemoryCeilingError, match=r"states of everything needs 1 MiB.*binds at most 1 MiB") as caught:
        make_plan(program, BINDING, 4 * BINDING)
    assert "shorter sequence" in caught.value.remedy
    assert make_plan(program, BINDING + 4, 4 * BINDING).arena_bytes == aligned(BINDING + 4)


@pytest.mark.parametrize("recompute", [0, 3])
@pytest.mark.parametrize("mode", ["full", "wsla", "lora", "vocabulary"])
def test_a_real_step_is_packed_to_within_a_few_per_cent(mode, recompute, device):
    """Against the least that any plan could need: the most bytes that live at one moment."""
    blueprint = Blueprint(ModelConfig(hidden_size=128, num_hidden_layers=4, vocab_size=4096), device)
    if mode in ADAPTER_MODES:
        blueprint.add_adapters(8, 1.0)
    trained = blueprint.trained_set(mode, range(0, 4096, 3))
    program = step_program(blueprint.network, device, trained, 4, 256, update=True, insight=True, recompute=recompute)
    plan = device.plan(program)
    live = [0] * (len(program.calls) + 2)
    for tensor, (first, last) in lifetimes(program).items():
        for moment in range(first, last + 1):
            live[moment + 1] += aligned(tensor.nbytes)
    assert max(live) <= plan.arena_bytes <= 1.05 * max(live)
    assert sum(tensor.nbytes for tensor in plan.placements) > 1.5 * plan.arena_bytes  # so there was something to share


def test_pages_of_a_real_step_stay_within_the_limit(cpu):
    blueprint = Blueprint(ModelConfig(hidden_size=64, num_hidden_layers=2, vocab_size=500), cpu)
    program = step_program(blueprint.network, cpu, blueprint.trained_set("full"), 2, 200)
    whole = make_plan(program, 2**62, 2**62)
    largest = max(tensor.nbytes for tensor in whole.placements)
    assert len(whole.page_bytes) == 1
    limit = aligned(largest)
    pages = make_plan(program, limit, limit).page_bytes
    assert len(pages) > 1
    assert max(pages) <= limit
