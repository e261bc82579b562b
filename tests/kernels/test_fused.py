"""Kernels of one token that do the work of several, against float64 and against the calls that they stand for."""

import contextlib

import numpy as np
import pytest

from engine.devices.reference import reference
from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample, sample_program
from engine.devices.webgpu.launch import AdapterTraits
from engine.devices.webgpu.launches import fused as launches
from engine.devices.webgpu.launches import launches_of
from engine.graph.fused_kernels import FUSED, NORM_MATMUL, NORM_MATMUL_CONV
from engine.graph.tensor import KernelCall, Program, Tensor
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

ALL = sorted(FUSED)
ENDS = ("", "_float16", "_int8")


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", ALL)
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("kernel", ALL)
def test_a_gpu_does_it_in_one_dispatch_and_the_cpu_in_parts(cpu, webgpu, kernel):
    programs = {device: sample_program(device, make_sample(kernel))[0] for device in (cpu, webgpu)}
    assert [call.kernel for call in webgpu.lowered(programs[webgpu]).calls] == [kernel]
    assert FUSED.isdisjoint(call.kernel for call in cpu.lowered(programs[cpu]).calls)


@pytest.mark.parametrize("end", ENDS)
def test_without_terms_and_with_other_taps(device, end):
    plain = make_sample(NORM_MATMUL + end, Sizes(m=20, v=37))
    check(device, with_operands(plain, addend=None, bias=None))
    for k in (1, 2, 9):
        check(device, with_operands(make_sample(NORM_MATMUL_CONV + end, Sizes(d=33, k=k)), bias=None))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("lanes", ["software", "gpu"])
def test_workgroups_for_cpus_and_for_gpus(webgpu, monkeypatch, lanes, end):
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=lanes == "software"))
    for stem in (NORM_MATMUL, NORM_MATMUL_CONV, "norm_gated"):
        check(webgpu, make_sample(stem + end, Sizes(m=97, d=70, v=131)))


def for_all(lanes: int) -> AdapterTraits:
    """A GPU on which every class of matrices was measured to like so many lanes."""
    formats = ("float32", "float16", "int8")
    return AdapterTraits(row_lanes={f"{one}_{kind}": lanes for one in formats for kind in (*launches.CLASSES, "head")})


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("lanes", launches.LANES)
def test_any_number_of_lanes_shares_out_a_line(webgpu, monkeypatch, lanes, end):
    """Lines that are no whole number of turns, of one row with its norm and of several without."""
    monkeypatch.setattr(webgpu, "traits", for_all(lanes))
    sizes = Sizes(m=133, d=35, v=67)  # at least 133 chunks of 16 bytes
    samples = [make_sample(stem + end, sizes) for stem in (NORM_MATMUL, NORM_MATMUL_CONV, "norm_gated")]
    samples += [make_sample(f"matmul_nt{end}", Sizes(b=1, l=rows, d=16 * 133, v=67)) for rows in (1, 2, 3, 4)]
    for sample in samples:
        program, _ = sample_program(webgpu, sample)
        found = [launch for of_call in launches_of(webgpu.plan(program), webgpu.traits) for launch in of_call]
        assert {launch.constants["lanes"] for launch in found} == {lanes}
        check(webgpu, sample)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("lanes", launches.LANES)
def test_a_row_has_the_same_bits_alone_and_among_others(webgpu, monkeypatch, lanes, end):
    monkeypatch.setattr(webgpu, "traits", for_all(lanes))
    together = make_sample(f"matmul_nt{end}", Sizes(b=1, l=2, d=16 * 37, v=67))
    rows = run_sample(webgpu, together)["c"]
    for i in range(2):
        own = {name: together.operands[name][i : i + 1] for name in ("a", "c", "addend")}
        assert np.array_equal(run_sample(webgpu, with_operands(together, **own))["c"][0], rows[i])


def test_small_matrices_get_more_lanes_and_none_that_have_nothing_to_do():
    """Without tuning, on a GPU: step sizes, the way back, the way there and the head of mamba-130m."""
    rule, shapes = AdapterTraits(), [(80, 1536), (768, 1536), (3072, 768), (50_280, 768)]
    lanes = {end: [launches.row_lanes(end, n, k // launches.CHUNKS[end][0], rule) for n, k in shapes] for end in ENDS}
    assert lanes == {"": [256, 256, 64, 64], "_float16": [256, 256, 64, 64], "_int8": [128, 128, 64, 64]}
    assert launches.row_lanes("", 80, 9, rule) == launches.row_lanes("", 80, 9, for_all(256)) == launches.LANES[0]
    assert launches.row_lanes("", 80, 9, for_all(32)) == 32
    assert launches.row_lanes("", 80, 384, AdapterTraits(software=True)) == launches.CPU_LANES


def test_subnormal_weights_in_16_bits_are_exact_or_zero(webgpu):
    """WGSL lets an implementation flush them: no weight is then off by more than 2^-14."""
    sample = make_sample(NORM_MATMUL + "_float16", Sizes(m=1, v=9), alpha=1.0)
    tiny = np.full(sample.operands["b"].shape, 2.0**-15, np.float16)
    sample = with_operands(sample, b=tiny, addend=None, bias=None)
    found, expected = run_sample(webgpu, sample)["c"], reference(sample)["c"]
    assert np.all((found == 0) | np.isclose(found, expected, rtol=1e-5))


def test_a_program_that_becomes_shorter_finds_the_room_that_was_left_for_it(webgpu):
    x, scale, normed, inverse = (Tensor(f"{i}", shape) for i, shape in enumerate([(1, 16), (16,), (1, 16), (1,)]))
    b, c = Tensor("b", (8, 16)), Tensor("c", (1, 8))
    calls = [
        KernelCall("rmsnorm", (x.view(), scale.view(), normed.view(), inverse.view()), {"epsilon": 0.0}),
        KernelCall("matmul_nt", (normed.view(), b.view(), c.view(), None, None), {"alpha": 1.0, "accumulate": 0}),
    ]
    program = Program("later", calls, {"x": x, "scale": scale, "b": b}, {"c": c})
    first, _ = sample_program(webgpu, make_sample("fill"))
    (executable,) = webgpu.compile_together([first], later=[program])
    with contextlib.closing(executable), contextlib.closing(webgpu.compile_beside(executable, program)) as beside:
        assert len(beside.launches) == 1
        beside.run({"x": np.full((1, 16), 3.0), "scale": np.ones(16), "b": np.ones((8, 16))})
        assert np.allclose(beside.read("c"), 16.0)
